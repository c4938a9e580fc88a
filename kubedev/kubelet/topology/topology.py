"""The topology manager: can a pod's CPUs and devices be had close together, and where?

At admission each hint provider (CPU manager, device manager) says where it could serve the pod. The hints are
merged, the policy admits or refuses the outcome, and the merged hint is kept as the *affinity* of each
container. Only then do the providers allocate, within that affinity as far as they can. With scope
`container` all this happens container after container, so the first ones keep what they got when a later
one is refused; with scope `pod` there is one merge for the whole pod.

Source: `pkg/kubelet/cm/topologymanager/{topology_manager,policy_*,scope_*}.go`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self, TypeVar

from kubedev.api.messages import Conversation
from kubedev.api.objects import Container, Pod
from kubedev.kubelet.topology.bitmask import MAX_NUMA_NODES
from kubedev.kubelet.topology.hints import ResourceHints, TopologyHint
from kubedev.kubelet.topology.merge import (
    FilteredHints,
    Merge,
    Merger,
    NUMAInfo,
    ProviderHints,
    filter_providers_hints,
    merge_at_once,
)
from kubedev.kubelet.topology.policy_options import Gates, TopologyPolicyOptions
from kubedev.kubelet.topology.wide import WideHints

__all__ = [
    "ANYWHERE",
    "BEST_EFFORT",
    "NONE",
    "RESTRICTED",
    "SINGLE_NUMA_NODE",
    "AffinityStore",
    "Alignment",
    "Allocated",
    "HintProvider",
    "KeepsAffinities",
    "PolicyDecision",
    "Refusal",
    "TopologyAdmission",
    "TopologyManager",
    "TopologyManagerError",
    "admit",
    "align",
    "decide",
]

NONE = "none"
BEST_EFFORT = "best-effort"
RESTRICTED = "restricted"
SINGLE_NUMA_NODE = "single-numa-node"

# The affinity of a container that nobody has decided on: Go's zero value.
ANYWHERE = TopologyHint(None, False)


class TopologyManagerError(ValueError):
    """The kubelet does not start with this configuration on this machine; the text is Kubernetes' own."""


@dataclass(frozen=True, slots=True)
class TopologyManager:
    """The configuration, fixed while the kubelet runs. With policy none the scope is none too."""

    policy: str = NONE
    scope: str = NONE
    options: TopologyPolicyOptions = field(default_factory=TopologyPolicyOptions)
    numa: NUMAInfo = field(default_factory=lambda: NUMAInfo((0,)))

    @classmethod
    def new(
        cls,
        policy: str,
        scope: str,
        numa: NUMAInfo,
        options: Mapping[str, str] | None = None,
        gates: Gates | None = None,
    ) -> Self:
        """Check settings against the machine; TopologyManagerError or PolicyOptionError if they clash.

        Kubernetes would start with more than 16 NUMA nodes if told so, and never end its first admission; here it
        ends (`remark`). Source: `topology_manager.go: NewManager`.
        """
        if policy == NONE:
            return cls(NONE, NONE, numa=numa)
        parsed = TopologyPolicyOptions.parse(options or {}, gates or {})
        if parsed.prefer_closest_numa_nodes and not set(numa.nodes) <= numa.distances.keys():
            raise TopologyManagerError(
                "cannot discover NUMA topology: error getting NUMA distances from cadvisor"
            )
        most = parsed.max_allowable_numa_nodes
        if len(numa.nodes) > most:
            raise TopologyManagerError(f"unsupported on machines with more than {most} NUMA Nodes")
        if policy not in (BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE):
            raise TopologyManagerError(f'unknown policy: "{policy}"')
        if scope not in ("container", "pod"):
            raise TopologyManagerError(f'unknown scope: "{scope}"')
        return cls(policy, scope, parsed, numa)

    @property
    def remark(self) -> str:
        """What Kubernetes would make of so many nodes; empty where it would answer in time."""
        count = len(self.numa.nodes)
        if self.policy == NONE or count <= MAX_NUMA_NODES:
            return ""
        return (
            f"{count} NUMA nodes make 2^{count} - 1 masks for each resource. Kubernetes would try them all, and would "
            "not answer: its first admission would never end. Here the outcome is searched for."
        )


# Policies


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """The merged hint, whether the policy admits it, and the merge behind it (policy none does not merge)."""

    policy: str
    hint: TopologyHint
    admit: bool
    merge: Merge | None = None


def decide(
    manager: TopologyManager, providers: Sequence[ProviderHints], merger: Merger = merge_at_once
) -> PolicyDecision:
    """Merge the providers' hints, and let the policy admit or refuse.

    Policy none admits unseen, best-effort whatever comes of the merge, restricted a preferred hint only.
    single-numa-node drops all hints but the preferred ones of one node before the merge. A merge of its
    that comes to all nodes (a machine with one node, or no hint left at all) becomes "anywhere".

    Source: `policy_*.go: Merge, canAdmitPodResult`.
    """
    if manager.policy == NONE:
        return PolicyDecision(NONE, ANYWHERE, True)
    filtered = filter_providers_hints(providers)
    closest = manager.options.prefer_closest_numa_nodes
    if manager.policy == SINGLE_NUMA_NODE:
        filtered, closest = tuple(map(_single_numa_hints, filtered)), False
    merge = merger(filtered, manager.numa, closest)
    hint = merge.hint
    if manager.policy == SINGLE_NUMA_NODE and hint.numa_node_affinity == manager.numa.default_affinity_mask:
        hint = TopologyHint(None, hint.preferred)
    return PolicyDecision(manager.policy, hint, manager.policy == BEST_EFFORT or hint.preferred, merge)


def _single_numa_hints(resource: FilteredHints) -> FilteredHints:
    def fits(hint: TopologyHint) -> bool:
        mask = hint.numa_node_affinity
        return hint.preferred and (mask is None or mask.bit_count() == 1)

    listed = resource.hints
    if isinstance(listed, WideHints):
        # All masks of one node are among the first ones: there are at most 64.
        listed = listed.first
    hints = tuple(filter(fits, listed))
    return FilteredHints(resource.provider, resource.resource, hints, resource.reason)


# Affinities


@dataclass(frozen=True, slots=True)
class AffinityStore:
    """The merged hint of each container, by pod uid and container name.

    Source: `scope.go: podTopologyHints`.
    """

    hints: Mapping[tuple[str, str], TopologyHint] = field(default_factory=dict)

    def get_affinity(self, pod_uid: str, container: str) -> TopologyHint:
        """The container's affinity; ANYWHERE where nothing is stored."""
        return self.hints.get((pod_uid, container), ANYWHERE)

    def set_affinity(self, pod_uid: str, container: str, hint: TopologyHint) -> "AffinityStore":
        """The store with this affinity."""
        return AffinityStore({**self.hints, (pod_uid, container): hint})

    def remove_container(self, pod_uid: str, container: str) -> "AffinityStore":
        """The store without a container that is gone for good."""
        return AffinityStore({key: h for key, h in self.hints.items() if key != (pod_uid, container)})


# Admission


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a pod is refused: reason and message of its status."""

    reason: str
    message: str

    @classmethod
    def unexpected(cls, error: str) -> Self:
        """An allocation that failed. Source: `pkg/kubelet/cm/admission/errors.go: GetPodAdmitResult`."""
        return cls("UnexpectedAdmissionError", f"Allocate failed due to {error}, which is unexpected")


# Source: `topology_manager.go: TopologyAffinityError`.
NO_LOCALITY = Refusal("TopologyAffinityError", "Resources cannot be allocated with Topology locality")


@dataclass(frozen=True, slots=True)
class Allocated:
    """A provider's decision on one container, whatever it is made of, and whether it refuses the pod."""

    decision: object
    refusal: Refusal | None = None


class KeepsAffinities(Protocol):
    """A state with an AffinityStore in it."""

    def with_affinity(self, pod_uid: str, container: str, hint: TopologyHint) -> Self:
        """The state with this affinity in its store."""
        ...


S = TypeVar("S", bound=KeepsAffinities)


class HintProvider(Protocol[S]):
    """A manager of some resource, as the topology manager sees it.

    Source: `topology_manager.go: HintProvider`.
    """

    @property
    def name(self) -> str:
        """What the views call it."""
        ...

    def get_topology_hints(
        self, state: S, pod: Pod, container: Container
    ) -> tuple[S, Mapping[str, ResourceHints]]:
        """Where could this container be served? Empty: no resource of it is this provider's business."""
        ...

    def get_pod_topology_hints(self, state: S, pod: Pod) -> tuple[S, Mapping[str, ResourceHints]]:
        """Where could the whole pod be served?"""
        ...

    def allocate(
        self, state: S, pod: Pod, container: Container, affinity: TopologyHint
    ) -> Conversation[S, Allocated]:
        """Allocate what the container asks for."""
        ...


@dataclass(frozen=True, slots=True)
class Alignment:
    """One merge of an admission: of a container, or of the whole pod (None), with each provider's answer."""

    container: str | None
    answers: tuple[tuple[str, Mapping[str, ResourceHints]], ...]
    decision: PolicyDecision


@dataclass(frozen=True, slots=True)
class TopologyAdmission:
    """The outcome and everything done for it, in order; `refusal` is None if the pod is admitted."""

    refusal: Refusal | None = None
    alignments: tuple[Alignment, ...] = ()
    allocations: tuple[Allocated, ...] = ()


def admit(
    manager: TopologyManager, state: S, pod: Pod, providers: Sequence[HintProvider[S]]
) -> Conversation[S, TopologyAdmission]:
    """Admit a pod: find its affinity and have all providers allocate, init containers first.

    What was allocated before a refusal stays, until the pod is no longer active.

    Source: `scope_container.go, scope_pod.go, scope_none.go: Admit`.
    """
    alignments: tuple[Alignment, ...] = ()
    allocations: tuple[Allocated, ...] = ()
    if manager.scope == "pod":
        state, alignment = align(manager, state, pod, None, providers)
        alignments = (alignment,)
        if not alignment.decision.admit:
            return state, TopologyAdmission(NO_LOCALITY, alignments)
    for container in (*pod.init_containers, *pod.containers):
        if manager.scope == "container":
            state, alignment = align(manager, state, pod, container, providers)
            alignments += (alignment,)
            if not alignment.decision.admit:
                return state, TopologyAdmission(NO_LOCALITY, alignments, allocations)
        affinity = alignments[-1].decision.hint if alignments else ANYWHERE
        if alignments:
            state = state.with_affinity(pod.uid, container.name, affinity)
        for provider in providers:
            state, allocated = yield from provider.allocate(state, pod, container, affinity)
            allocations += (allocated,)
            if allocated.refusal:
                return state, TopologyAdmission(allocated.refusal, alignments, allocations)
    return state, TopologyAdmission(None, alignments, allocations)


def align(
    manager: TopologyManager,
    state: S,
    pod: Pod,
    container: Container | None,
    providers: Sequence[HintProvider[S]],
) -> tuple[S, Alignment]:
    """Ask all providers about a container, or about the whole pod (None), and decide.

    Source: `scope_container.go, scope_pod.go: accumulateProvidersHints, calculateAffinity`.
    """
    answers: tuple[tuple[str, Mapping[str, ResourceHints]], ...] = ()
    for provider in providers:
        if container is None:
            state, answer = provider.get_pod_topology_hints(state, pod)
        else:
            state, answer = provider.get_topology_hints(state, pod, container)
        answers += ((provider.name, answer),)
    hints = [{resource: story.hints for resource, story in answer.items()} for _, answer in answers]
    name = None if container is None else container.name
    return state, Alignment(name, answers, decide(manager, hints))
