"""What an administrator can do to one node without asking the scheduler: edit its status, bind a pod to it."""

from collections.abc import Mapping
from dataclasses import replace

from kubedev.api.objects import ResourceList
from kubedev.api.quantity import Quantity
from kubedev.cluster.events import ObjectApplied
from kubedev.lab.session import Lab

__all__ = ["bind", "patch_node", "pod_yaml"]


def patch_node(lab: Lab, resource: str, count: int | None, node: str = "") -> None:
    """Set a resource in a node's capacity by hand, or with None remove its key.

    It is what `kubectl patch node NODE --subresource=status` does; the kubelet copies capacity to allocatable.
    """
    old = lab.node(node)
    changed = replace(
        old,
        capacity=_with(old.capacity, resource, count),
        allocatable=_with(old.allocatable, resource, count),
    )
    lab.do(ObjectApplied(changed))


def _with(resources: ResourceList, resource: str, count: int | None) -> ResourceList:
    others = {name: quantity for name, quantity in resources.items() if name != resource}
    return others if count is None else {**others, resource: Quantity.of(count)}


def pod_yaml(
    name: str, *limits: Mapping[str, int], node: str = "", env: Mapping[str, str] | None = None
) -> str:
    """A pod's manifest: a container for each mapping of limits, bound to `node` if one is named.

    `env` are variables that the pod sets in all its containers.
    """
    variables = ", ".join(f"{{name: {key}, value: '{value}'}}" for key, value in (env or {}).items())
    containers = "\n".join(
        f"  - {{name: c{number}, image: example.com/app:1, env: [{variables}], resources: {{limits: {{"
        + ", ".join(f"{resource}: {count}" for resource, count in limit.items())
        + "}}}"
        for number, limit in enumerate(limits, 1)
    )
    where = f"  nodeName: {node}\n" if node else ""
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}\nspec:\n{where}  containers:\n{containers}\n"
    )


def bind(lab: Lab, name: str, resource: str, count: int = 1, node: str = "") -> str:
    """Create a pod that names its node, so that no scheduler is asked; what became of it, in a sentence."""
    text = pod_yaml(name, {resource: count}, node=lab.node(node).name)
    pod = lab.pod(lab.apply(text, rename=True).pods[0].name)
    return " | ".join(part for part in (pod.phase, pod.reason, pod.message) if part)
