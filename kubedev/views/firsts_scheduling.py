"""What labs 09 and 10 show first, and their pictures: nodes that are asked for room, and a pod's way to its node."""

from collections.abc import Sequence

from kubedev.api.objects import Node, Pod
from kubedev.scheduler.context import Context
from kubedev.scheduler.cycle import Decision, schedule_one
from kubedev.scheduler.framework import Framework
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.default_plugins import default_framework
from kubedev.scheduler.snapshot import Snapshot
from kubedev.views.catalogue import say
from kubedev.views.cycle import Cycle
from kubedev.views.firsts import WIDTH, First
from kubedev.views.fits import fits_picture
from kubedev.views.picture import Picture

__all__ = ["cycle", "fits", "fitting", "scheduled"]

_TAKEN = (7, 8, 6, 8, 3, 8)  # of 8 GPUs


def fitting() -> First:
    """Lab 09: one node after the other, and the sentence so far; the last two nodes are kept for others."""
    nodes, decision = _refused(_TAKEN, 2)
    frames = tuple(fits_picture(decision, nodes, looked, WIDTH) for looked in range(len(nodes) + 1))
    return First(frames, len(nodes), say("first.09.alt"))


def fits() -> Picture:
    """Lab 09: 24 nodes, and the sentence that is made of their answers."""
    nodes, decision = _refused([6 + n % 3 for n in range(20)] + [3, 0, 5, 1], 4)
    return fits_picture(decision, nodes)


def _refused(taken: Sequence[int], kept: int) -> tuple[list[NodeInfo], Decision]:
    """Nodes whose pods request so many GPUs, the last ones tainted, and the decision about a pod that asks for 3."""
    nodes = []
    for number, gpus in enumerate(taken, 1):
        taints = [{"key": "dedicated", "value": "infra", "effect": "NoSchedule"}] * (
            number > len(taken) - kept
        )
        allocatable = {"cpu": "16", "pods": "110", "nvidia.com/gpu": "8"}
        manifest = {"metadata": {"name": f"n{number}"}, "spec": {"taints": taints}}
        node = Node.parse({**manifest, "status": {"allocatable": allocatable}})
        nodes.append(NodeInfo.of(node, [_pod("web", 3 * number % 11, gpus)]))
    return nodes, schedule_one(default_framework(), _pod("trainer", 4, 3), Snapshot.of(Context(tuple(nodes))))


def _pod(name: str, cpu: int, gpus: int) -> Pod:
    requests = {"cpu": str(cpu), "nvidia.com/gpu": str(gpus)}
    containers = [{"name": "main", "resources": {"requests": requests}}]
    return Pod.parse({"metadata": {"name": name}, "spec": {"containers": containers}})


_SOME = ("NodeUnschedulable", "TaintToleration", "NodeResourcesFit", "NodeResourcesBalancedAllocation")


def scheduled() -> First:
    """Lab 10: filters take nodes out, scores rank the rest, the pod is bound; with some of the plugins."""
    default = default_framework()
    some = Framework(tuple(plugin for plugin in default.plugins if plugin.name in _SOME))
    seen = [moment for moment in _cycle(some, 5) if moment.point in (0, 3, 6, 7)]
    frames = tuple(moment.picture(WIDTH, brief=True) for moment in seen)
    return First(frames, len(frames) - 1, say("first.10.alt"))


def cycle() -> Picture:
    """Lab 10: a pod that has come to its node."""
    return _cycle(default_framework(), 6)[-1].picture()


def _cycle(framework: Framework, count: int) -> list[Cycle]:
    """So many nodes: a cordoned one, one with a taint, one that fits, a full one, and some that fit."""
    taken = ((2, 1), (3, 2), (5, 3), (4, 8), (1, 5), (8, 2))
    nodes = []
    for n, (cpu, gpus) in enumerate(taken[:count], 1):
        taints = [{"key": "dedicated", "value": "infra", "effect": "NoSchedule"}] * (n == 2)
        manifest = {"metadata": {"name": f"n{n}"}, "spec": {"unschedulable": n == 1, "taints": taints}}
        amounts = {"cpu": "16", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "8"}
        node = Node.parse({**manifest, "status": {"allocatable": amounts}})
        nodes.append(NodeInfo.of(node, [_pod("web", cpu, gpus)]))
    decision = schedule_one(framework, _pod("trainer", 4, 3), Snapshot.of(Context(tuple(nodes))))
    return Cycle.of(decision, framework)
