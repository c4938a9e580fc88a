"""The scheduler's state: its queue, its cache, and what else it has seen."""

from dataclasses import dataclass, field

from kubedev.api.objects import Pod
from kubedev.api.pod_groups import Namespace, PodDisruptionBudget, Service, Workload
from kubedev.api.values import replace
from kubedev.scheduler.cache.cache import Cache
from kubedev.scheduler.claim_steps import ClaimBinding, seeing
from kubedev.scheduler.claims.tracker import Claims
from kubedev.scheduler.context import Context
from kubedev.scheduler.framework import Framework
from kubedev.scheduler.plugins.default_plugins import default_framework
from kubedev.scheduler.queue.queue import SchedulingQueue
from kubedev.scheduler.queue.queue_state import Durations
from kubedev.scheduler.snapshot import Snapshot
from kubedev.scheduler.storage import Storage
from kubedev.scheduler.volume_steps import PodBinding

__all__ = ["Listers", "SchedulerState", "snapshot_of"]


@dataclass(frozen=True, slots=True)
class Listers:
    """What plugins look up besides nodes and pods."""

    namespaces: tuple[Namespace, ...] = ()
    services: tuple[Service, ...] = ()
    workloads: tuple[Workload, ...] = ()
    budgets: tuple[PodDisruptionBudget, ...] = ()
    storage: Storage = field(default_factory=Storage)
    claims: Claims = Claims()


@dataclass(frozen=True, slots=True)
class SchedulerState:
    """The scheduler at one moment.

    `next_start_node_index` is where the next cycle begins to look at nodes. `permit_waiting` are pods (with
    their node) that a Permit plugin asked to wait, `bindings` pods whose volumes are not bound yet,
    `claim_bindings` pods that are not bound yet, whose claims for devices are allocated or reserved with them. The last
    two fields say when the queue is to be flushed next, in seconds.
    """

    queue: SchedulingQueue = field(default_factory=lambda: SchedulingQueue(default_framework()))
    cache: Cache = field(default_factory=Cache)
    listers: Listers = field(default_factory=Listers)
    next_start_node_index: int = 0
    permit_waiting: tuple[Pod, ...] = ()
    bindings: tuple[PodBinding, ...] = ()
    claim_bindings: tuple[ClaimBinding, ...] = ()
    backoff_flush_due: float = 0
    unschedulable_flush_due: float = 0

    def with_claims(self, claims: Claims) -> "SchedulerState":
        """The same knowing of other claims for devices, as all its profiles do."""
        if claims == self.listers.claims:
            return self
        first, *more = (seeing(profile, claims) for profile in self.queue.profiles)
        queue = replace(self.queue, framework=first, more_profiles=tuple(more))
        return replace(self, queue=queue, listers=replace(self.listers, claims=claims))

    @property
    def framework(self) -> Framework:
        """The first profile: its plugins and what belongs to them."""
        return self.queue.framework

    def profile_of(self, pod: Pod) -> Framework:
        """The profile that decides on a pod: the one that its schedulerName names. Go: `frameworkForPod`."""
        return self.queue.profile_of(pod)

    def with_profiles(
        self, first: Framework, *more: Framework, durations: Durations | None = None
    ) -> "SchedulerState":
        """The same with other profiles, and other waits in the queue if those are given, from the next event on."""
        waits = durations or self.queue.durations
        first, *others = (seeing(profile, self.listers.claims) for profile in (first, *more))
        queue = replace(self.queue, framework=first, more_profiles=tuple(others), durations=waits)
        return replace(self, queue=queue)

    def with_framework(self, framework: Framework) -> "SchedulerState":
        """The same with another single profile, from the next event on."""
        return self.with_profiles(framework)


def snapshot_of(state: SchedulerState) -> Snapshot:
    """The cluster as the next cycle will see it."""
    listers, cache = state.listers, state.cache
    context = Context(
        cache.snapshot(),
        {namespace.name: namespace.labels for namespace in listers.namespaces},
        listers.services,
        listers.workloads,
        listers.storage,
    )
    return Snapshot(context, cache.nodes, state.queue.nominator, listers.budgets)
