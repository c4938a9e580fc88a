"""Which devices a container gets: the pod's own used ones, then those of the right NUMA nodes, then others.

The plugin may be asked what it prefers (GetPreferredAllocation); its answer is a wish among what is allowed,
and wrong ids in it do no harm. While it thinks, other things go on: after its answer the state is read anew.

Source: `pkg/kubelet/cm/devicemanager/manager.go: devicesToAllocate, filterByAffinity,
callGetPreferredAllocationIfAvailable`. Where Go takes from a set at random, the smallest id is taken first.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Literal

from kubedev.api.gotext import quote
from kubedev.api.int64 import wrap
from kubedev.api.messages import (
    Answer,
    Call,
    ContainerPreferredAllocationRequest,
    Conversation,
    Device,
    PreferredAllocationRequest,
    PreferredAllocationResponse,
)
from kubedev.api.values import replace
from kubedev.kubelet.devices.devices import (
    NODE_WITHOUT_TOPOLOGY,
    DeviceManagerState,
    Ids,
    allocated_by,
    container_devices,
)
from kubedev.kubelet.devices.endpoint import ask
from kubedev.kubelet.topology.hints import has_topology_alignment

__all__ = [
    "Affinity",
    "DeviceRequest",
    "DeviceSets",
    "DevicesToAllocate",
    "Rule",
    "Step",
    "devices_to_allocate",
    "filter_by_affinity",
]

NONE: Ids = frozenset()


@dataclass(frozen=True, slots=True)
class Affinity:
    """Available devices in three disjoint sets, by where they are with respect to the affinity mask."""

    aligned: Ids
    unaligned: Ids
    no_affinity: Ids


def filter_by_affinity(devices: Mapping[str, Device], available: Ids, affinity: int | None) -> Affinity:
    """Split the available devices of a resource by the NUMA nodes in `affinity` (bit n is node n).

    A device with any of its nodes in the mask is aligned, with other nodes only unaligned, with none
    `no_affinity`. Without a mask, or where no device of the resource has a node, all are `no_affinity`.
    """
    if affinity is None or not has_topology_alignment(devices):
        return Affinity(NONE, NONE, available)
    on_nodes: dict[tuple[int, ...] | None, list[str]] = {}
    for id_ in available:
        nodes = devices[id_].numa_nodes if id_ in devices else None
        on_nodes.setdefault(nodes, []).append(id_)
    aligned: set[str] = set()
    unaligned: set[str] = set()
    for nodes, ids in on_nodes.items():
        real = [node for node in nodes or () if node != NODE_WITHOUT_TOPOLOGY]
        if any(node >= 0 and affinity >> node & 1 for node in real):
            aligned.update(ids)
        elif real:
            unaligned.update(ids)
    return Affinity(frozenset(aligned), frozenset(unaligned), available - aligned - unaligned)


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """A container's request for one resource: `required` devices, in all."""

    pod_uid: str
    container: str
    resource: str
    required: int


# What can settle a request before any device is taken, then where devices are taken from, in this order.
Rule = Literal[
    "same request",
    "running",
    "registered",
    "healthy",
    "held healthy",
    "needed",
    "reusable",
    "available",
    "preferred",
    "aligned",
    "unaligned",
    "no affinity",
    "rest",
]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was decided: by which rule, among which devices, which were taken, and why."""

    rule: Rule
    why: str
    offered: Ids = NONE
    taken: Ids = NONE


@dataclass(frozen=True, slots=True)
class DeviceSets:
    """Every set that the decision looked at, so that one device can be followed through them.

    `in_use` are allocated devices, the reused ones among them, `available` the healthy ones that are not;
    `preferred` is what the plugin answered, sense or nonsense. Sets that were not reached are empty.
    """

    all: Ids = NONE
    healthy: Ids = NONE
    reusable: Ids = NONE
    in_use: Ids = NONE
    available: Ids = NONE
    aligned: Ids = NONE
    unaligned: Ids = NONE
    no_affinity: Ids = NONE
    preferred: Ids = NONE
    taken: Ids = NONE


@dataclass(frozen=True, slots=True)
class DevicesToAllocate:
    """The decision. `devices` is None where there is nothing to do, or an error (its text is Kubernetes').

    `asked` is the GetPreferredAllocation request, if the plugin was asked.
    """

    request: DeviceRequest
    devices: Ids | None
    error: str | None
    steps: tuple[Step, ...]
    sets: DeviceSets
    asked: ContainerPreferredAllocationRequest | None = None


Decided = tuple[DeviceManagerState, DevicesToAllocate]


@dataclass(frozen=True, slots=True)
class _Taking:
    """A decision on its way: what is taken so far is marked in the state's `allocated_devices` at once."""

    state: DeviceManagerState
    request: DeviceRequest
    needed: int
    sets: DeviceSets
    steps: tuple[Step, ...] = ()
    asked: ContainerPreferredAllocationRequest | None = None

    def take(self, rule: Rule, offered: Ids, why: str, among: Ids | None = None) -> "_Taking":
        """Take what is still needed, as far as these devices go. (Go: the closure allocateRemainingFrom)

        `among` is what somebody chose these devices from, if somebody did.
        """
        if self.needed == 0:
            return self
        resource, allocated = self.request.resource, self.state.allocated_devices
        chosen = frozenset(sorted(offered - self.sets.taken)[: self.needed])
        marked = {**allocated, resource: allocated.get(resource, NONE) | chosen}
        return replace(
            self,
            state=replace(self.state, allocated_devices=marked),
            needed=self.needed - len(chosen),
            sets=replace(self.sets, taken=self.sets.taken | chosen),
            steps=(*self.steps, Step(rule, why, among or offered, chosen)) if offered else self.steps,
        )

    def done(self) -> Decided:
        """All is taken, or as much as could be."""
        required = self.request.required
        if self.needed != 0:
            return self.fail(
                "rest",
                "unexpectedly allocated less resources than required. "
                f"Requested: {required}, Got: {required - self.needed}",
            )
        return self.state, self._decision(self.sets.taken, None)

    def fail(self, rule: Rule, error: str) -> Decided:
        """No devices. v1.32 leaves the marks of those taken so far; the switch 130145 removes them."""
        state = self.state
        if "130145" in state.switches:
            state = replace(state, allocated_devices=allocated_by(state.pod_devices))
        failed = replace(self, steps=(*self.steps, Step(rule, error)))
        return state, failed._decision(None, error)

    def nothing_to_do(self, rule: Rule, why: str) -> Decided:
        """No devices, and no error either."""
        return self.state, replace(self, steps=(*self.steps, Step(rule, why)))._decision(None, None)

    def _decision(self, devices: Ids | None, error: str | None) -> DevicesToAllocate:
        return DevicesToAllocate(self.request, devices, error, self.steps, self.sets, self.asked)


def devices_to_allocate(
    state: DeviceManagerState, request: DeviceRequest, reusable: Ids = NONE, affinity: int | None = None
) -> Conversation[DeviceManagerState, DevicesToAllocate]:
    """Decide which devices a container gets of one resource. What is taken is marked, but not yet recorded.

    `reusable` are devices of the pod's finished init containers, `affinity` the topology manager's mask.
    """
    resource, required = request.resource, request.required
    held = container_devices(state.pod_devices, request.pod_uid, request.container, resource)
    healthy = state.healthy_devices.get(resource, NONE)
    sets = DeviceSets(frozenset(state.all_devices.get(resource, ())), healthy, reusable)
    taking = _Taking(state, request, required - len(held or ()), sets)
    settled = _settled_before(taking, held)
    if settled is not None:
        return settled

    taking = taking.take(
        "reusable", reusable, "of the pod's finished init containers; the plugin is not asked"
    )
    if taking.needed == 0:
        return taking.done()

    in_use = taking.state.allocated_devices[resource]
    available = healthy - in_use
    split = filter_by_affinity(state.all_devices.get(resource, {}), available, affinity)
    sets = replace(
        taking.sets,
        in_use=in_use,
        available=available,
        aligned=split.aligned,
        unaligned=split.unaligned,
        no_affinity=split.no_affinity,
    )
    taking = replace(taking, sets=sets)
    if len(available) < taking.needed:
        return taking.fail(
            "available",
            f"requested number of devices unavailable for {resource}. "
            f"Requested: {taking.needed}, Available: {len(available)}",
        )

    if taking.needed < len(split.aligned):
        why = "more devices are aligned than needed: the plugin may choose among them"
        taking, error = yield from _take_preferred(taking, split.aligned, why)
        if error is not None:
            return taking.fail("preferred", error)
        return taking.take("aligned", split.aligned, "on NUMA nodes of the mask").done()

    taking = taking.take("aligned", split.aligned, "on NUMA nodes of the mask, no more than needed")
    if taking.needed == 0:
        return taking.done()
    short = "there is no mask" if affinity is None else "aligned devices are not enough"
    why = f"{short}: the plugin may choose among all that are available"
    taking, error = yield from _take_preferred(taking, available, why)
    if error is not None:
        return taking.fail("preferred", error)
    taking = taking.take("unaligned", split.unaligned, "on NUMA nodes outside the mask")
    return taking.take("no affinity", split.no_affinity, "on no NUMA node, or there is no mask").done()


def _settled_before(taking: _Taking, held: Ids | None) -> Decided | None:
    """The questions before any device is taken, in Kubernetes' order; None if devices are to be taken."""
    state, request, healthy = taking.state, taking.request, taking.sets.healthy
    resource = request.resource
    if held is not None and taking.needed != 0:
        return taking.fail(
            "same request",
            f"pod {quote(request.pod_uid)} container {quote(request.container)} changed request for resource "
            f"{quote(resource)} from {len(held)} to {request.required}",
        )
    if not state.sources_ready and request.container in state.running.get(request.pod_uid, ()):
        return taking.nothing_to_do("running", "the container runs already: only the kubelet restarted")
    if resource not in state.healthy_devices:
        return taking.fail("registered", f"cannot allocate unregistered device {resource}")
    if not healthy:
        return taking.fail(
            "healthy", f"no healthy devices present; cannot allocate unhealthy devices {resource}"
        )
    if not (held or NONE) <= healthy:
        return taking.fail(
            "held healthy",
            "previously allocated devices are no longer healthy; "
            f"cannot allocate unhealthy devices {resource}",
        )
    if taking.needed == 0:
        return taking.nothing_to_do("needed", "the container has all the devices it asks for")
    return None


def _take_preferred(
    taking: _Taking, allowed: Ids, why: str
) -> Generator[
    tuple[DeviceManagerState, Call], tuple[DeviceManagerState, Answer], tuple[_Taking, str | None]
]:
    """Ask the plugin what it prefers, where it offers that, and take what is allowed of its answer."""
    resource = taking.request.resource
    endpoint = taking.state.endpoint(resource)
    if endpoint is None:
        return taking, f"endpoint not found in cache for a registered resource: {resource}"
    if endpoint.options is None or not endpoint.options.get_preferred_allocation_available:
        return taking, None
    asked = ContainerPreferredAllocationRequest(
        tuple(sorted(allowed | taking.sets.taken)),
        tuple(sorted(taking.sets.taken)),
        wrap(taking.request.required, 32),
    )
    state, answer = yield from ask(
        taking.state,
        endpoint,
        "GetPreferredAllocation",
        PreferredAllocationRequest((asked,)),
        PreferredAllocationResponse,
    )
    taking = replace(taking, state=state, asked=asked)
    if isinstance(answer, str):
        return taking, f"device plugin GetPreferredAllocation rpc failed with err: {answer}"
    preferred = frozenset(answer.container_responses[0]) if answer.container_responses else NONE
    taking = replace(taking, sets=replace(taking.sets, preferred=preferred))
    return taking.take("preferred", preferred & allowed, why, among=allowed), None
