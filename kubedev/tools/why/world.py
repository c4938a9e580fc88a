"""A dump as the scheduler knows a cluster, and the questions that one asks it."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from kubedev.api.objects import Pod
from kubedev.api.switches import CLAIMS_GATE
from kubedev.api.values import replace
from kubedev.scheduler.cache.cache import Cache
from kubedev.scheduler.claims.tracker import Claims
from kubedev.scheduler.cycle import Decision, schedule_one
from kubedev.scheduler.framework import Framework
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.default_plugins import default_framework
from kubedev.scheduler.preemption.nominator import Nominator
from kubedev.scheduler.preemption.preemption import DefaultPreemption
from kubedev.scheduler.queue.queue import SchedulingQueue
from kubedev.scheduler.scheduler_state import Listers, SchedulerState, snapshot_of
from kubedev.scheduler.snapshot import Snapshot
from kubedev.scheduler.storage import STORAGE_KINDS, Storage, key_of
from kubedev.scheduler.watch_loop import FINISHED
from kubedev.tools.why.dump import Dump

__all__ = ["World", "world_of"]

OWNERS = ("ReplicationController", "ReplicaSet", "StatefulSet")
EMPTY_CONFIGURATION = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


@dataclass(frozen=True)
class World:
    """The scheduler at the moment of the dump."""

    state: SchedulerState

    def framework(self, pod: Pod) -> Framework:
        """The profile that decides on a pod."""
        return self.state.profile_of(pod)

    @cached_property
    def nodes(self) -> tuple[NodeInfo, ...]:
        """The nodes, in the order in which they are looked at."""
        return tuple(self.state.cache.snapshot())

    @cached_property
    def snapshot(self) -> Snapshot:
        """The cluster as a cycle sees it."""
        return snapshot_of(self.state)

    def node(self, name: str) -> NodeInfo | None:
        """A node with its pods; None where it is not in the dump."""
        info: NodeInfo | None = self.state.cache.nodes.get(name)
        return info if info is not None and info.name else None

    def decide(self, pod: Pod, preempting: bool = True, start: int = 0) -> Decision:
        """What the scheduler would decide if the pod were the next; `start` is the first node that it looks at."""
        framework = self.framework(pod)
        if not preempting:
            for plugin in framework.plugins:
                if isinstance(plugin, DefaultPreemption):
                    framework = framework.without_plugin(plugin.name)
        return schedule_one(framework, pod, self.snapshot, start)

    def with_cache(self, cache: Cache) -> "World":
        """The same with other nodes or pods on them."""
        return World(replace(self.state, cache=cache))

    def with_pod(self, pod: Pod) -> "World":
        """The same with one more pod on its node."""
        return self.with_cache(self.state.cache.add_pod(pod))


def world_of(dump: Dump, asked: Iterable[Pod] = ()) -> World:
    """The scheduler of a dump, for whoever asks about these pods."""
    asked = tuple(asked)
    with_images(dump, asked)
    bound = [pod for pod in dump.pods.values() if pod.node_name and pod.phase not in FINISHED]
    nominator = Nominator()
    for pod in dump.pods.values():
        if not pod.node_name and pod.nominated_node_name and pod.phase not in FINISHED:
            nominator = nominator.add(pod)
    profiles = profiles_of(dump, asked)
    queue = SchedulingQueue(profiles[0], nominator=nominator, more_profiles=profiles[1:])
    listers = Listers(
        tuple(dump.of("Namespace")),
        tuple(dump.of("Service")),
        tuple(workload for kind in OWNERS for workload in dump.of(kind)),
        tuple(dump.of("PodDisruptionBudget")),
        Storage(**{
            field: {key_of(one): one for one in dump.of(kind.__name__)} for kind, field in STORAGE_KINDS.items()
        }),
    )  # fmt: skip
    state = SchedulerState(queue, Cache.of(dump.nodes, bound), listers)
    claims = Claims(
        {claim.key: claim for claim in dump.of("ResourceClaim")},
        {one.name: one for one in dump.of("DeviceClass")},
        {one.name: one for one in dump.of("ResourceSlice")},
    )
    return World(state.with_claims(claims))


def profiles_of(dump: Dump, asked: Iterable[Pod]) -> tuple[Framework, ...]:
    """The scheduler's profiles. A pod that kept its resourceClaims is of a cluster where their feature gate is on."""
    if dump.scheduler is not None:
        profiles: tuple[Framework, ...] = dump.scheduler.profiles
        return profiles
    if any(pod.resource_claims for pod in asked):
        from kubedev.scheduler.configuration.loading import load_configuration  # seldom needed, and large

        return load_configuration(EMPTY_CONFIGURATION, gates=(CLAIMS_GATE,)).profiles
    return (default_framework(),)


def with_images(dump: Dump, asked: Iterable[Pod]) -> None:
    """Read those images of the nodes that some pod has: they count when a node is chosen."""
    if dump.maker is None:
        return
    images = {one.image.partition("@")[0] for pod in asked for one in (*pod.init_containers, *pod.containers)}
    wanted = tuple(image.rpartition(":")[0].encode() or image.encode() for image in images if image)
    nodes = dump.objects.get("Node", {})
    for key, node in nodes.items():
        nodes[key] = dump.maker.with_images(node, wanted)
