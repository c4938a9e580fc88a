"""The cgroups of a node as one tree: kubepods, its classes, pods and containers, with what stands in their files.

What a pod wrote and what the kernel is told stand beside each other here. The files are those of version 2.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kubedev.api.names import MEMORY, is_huge_page_resource_name
from kubedev.api.objects import Node, Pod
from kubedev.api.qos import BEST_EFFORT, BURSTABLE, GUARANTEED, get_pod_qos
from kubedev.kubelet.pressure.cgroups import (
    HUGE_PAGE_SIZES,
    ResourceConfig,
    cgroup_config,
    cgroup_v2_files,
)
from kubedev.kubelet.pressure.node_allocatable import NodeAllocatableConfig, node_allocatable_absolute
from kubedev.kubelet.pressure.pod_cgroup import (
    CgroupSettings,
    container_resources,
    resource_config_for_pod,
)
from kubedev.kubelet.pressure.qos_cgroups import CgroupTree, update_cgroups

__all__ = ["Cgroup", "cgroups_of_node"]


@dataclass(frozen=True, slots=True)
class Cgroup:
    """One cgroup: what it is of (`node`, a class of service, `pod`, `container`), its path, files and children.

    A container's path is its pod's: what follows there is named by the runtime. `oom_score_adj` is no file of a cgroup;
    the kernel knows it of the container's processes. Huge pages are left out where a pod asks for none.
    """

    kind: str
    name: str
    path: str
    files: Mapping[str, str]
    oom_score_adj: int | None = None
    children: tuple["Cgroup", ...] = field(default=())

    def walk(self) -> Iterator["Cgroup"]:
        """This one and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


def cgroups_of_node(
    node: Node, pods: Sequence[Pod], config: NodeAllocatableConfig, tree: CgroupTree | None = None
) -> Cgroup:
    """The tree for the pods that run on a node; guaranteed ones stand right under kubepods."""
    tree = tree or CgroupTree()
    memory = node.capacity[MEMORY].value() if MEMORY in node.capacity else 0
    settings = CgroupSettings(memory_capacity=memory)
    classes = update_cgroups(pods)
    by_class = {
        qos: tuple(_of_pod(pod, settings, tree) for pod in pods if get_pod_qos(pod).qos_class == qos)
        for qos in (GUARANTEED, BURSTABLE, BEST_EFFORT)
    }
    below = tuple(
        Cgroup(qos, qos.lower(), tree.path(tree.of_class(qos)), _files(classes[qos]), children=by_class[qos])
        for qos in (BURSTABLE, BEST_EFFORT)
    )
    limits = cgroup_config(node_allocatable_absolute(node.capacity, config)) or ResourceConfig()
    children = by_class[GUARANTEED] + below
    return Cgroup("node", "kubepods", tree.path(tree.kubepods), _files(limits), children=children)


def _files(config: ResourceConfig) -> dict[str, str]:
    return cgroup_v2_files(config, {})


def _of_pod(pod: Pod, settings: CgroupSettings, tree: CgroupTree) -> Cgroup:
    # a uid of a lab is namespace/name, which no cgroup can be called
    path = tree.path(tree.of_pod(replace(pod, uid=re.sub("[/_#]", "-", pod.uid))))
    containers = (*pod.init_containers, *pod.containers)
    paged = any(is_huge_page_resource_name(name) for each in containers for name in each.limits)
    made = [(each.name, container_resources(pod, each, settings)) for each in containers]
    return Cgroup(
        "pod",
        pod.name,
        path,
        cgroup_v2_files(resource_config_for_pod(pod, settings), HUGE_PAGE_SIZES if paged else {}),
        children=tuple(
            Cgroup("container", name, path, _files(each.config()), each.oom_score_adj) for name, each in made
        ),
    )
