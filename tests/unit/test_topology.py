"""Hints, their merge and the admission that stands on them; reported problems by their ids."""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import pytest

from kubedev.api.messages import ContainerAllocateResponse, Device
from kubedev.api.objects import Container, Pod
from kubedev.api.quantity import Quantity
from kubedev.kubelet.cpu import cpu_hints, cpu_manager
from kubedev.kubelet.cpu.cpu_manager import CPUManagerState
from kubedev.kubelet.cpu.cpu_policy import new_static_policy
from kubedev.kubelet.cpu.cpu_topology import CPUTopology
from kubedev.kubelet.devices import device_hints
from kubedev.kubelet.devices.allocation import filter_by_affinity
from kubedev.kubelet.devices.devices import DeviceAllocateInfo, DeviceManagerState, by_numa_node
from kubedev.kubelet.topology.bitmask import (
    MAX_NUMA_NODES,
    TooManyNUMANodesError,
    iterate_bit_masks,
    mask_of,
    mask_text,
)
from kubedev.kubelet.topology.hints import ResourceHints, TopologyHint
from kubedev.kubelet.topology.hints import device_hints as hints_of
from kubedev.kubelet.topology.merge import (
    Candidate,
    NUMAInfo,
    filter_providers_hints,
    merge_at_once,
    merge_by_permutation,
    permutation_count,
    permutations,
)
from kubedev.kubelet.topology.policy_options import PolicyOptionError, TopologyPolicyOptions
from kubedev.kubelet.topology.topology import (
    BEST_EFFORT,
    NONE,
    RESTRICTED,
    SINGLE_NUMA_NODE,
    Allocated,
    PolicyDecision,
    Refusal,
    TopologyAdmission,
    TopologyManager,
    TopologyManagerError,
    admit,
    decide,
)
from kubedev.kubelet.topology.wide import WideHints

GPU = "example.com/gpu"
POLICIES = (NONE, BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE)
TWO_NODES = NUMAInfo((0, 1))


def on(**nodes: Iterable[str]) -> dict[str, Device]:
    """Devices by node: `on(n0=("a",), n1=("b",))`."""
    return {id_: Device(id_, numa_nodes=(int(n[1:]),)) for n, ids in nodes.items() for id_ in ids}


def shown(hints: ResourceHints) -> list[tuple[str, bool]] | None:
    return (
        None if hints.hints is None else [(mask_text(h.numa_node_affinity), h.preferred) for h in hints.hints]
    )


def decided(
    policy: str, devices: Mapping[str, Device], used: Iterable[str], request: int
) -> tuple[PolicyDecision, frozenset[str]]:
    """What a policy makes of one resource's hints, and the available devices within the merged hint."""
    available = frozenset(devices) - frozenset(used)
    hints = hints_of(GPU, request, devices, available, (0, 1))
    decision = decide(TopologyManager(policy, "container", numa=TWO_NODES), [{GPU: hints.hints}])
    return decision, filter_by_affinity(devices, available, decision.hint.numa_node_affinity).aligned


def outcome(decision: PolicyDecision) -> tuple[str, bool, bool]:
    return mask_text(decision.hint.numa_node_affinity), decision.hint.preferred, decision.admit


# Reported problems


def test_b36_restricted_refuses_though_enough_devices_are_free_over_both_nodes() -> None:
    devices, used = on(n0=("a0", "a1"), n1=("b0", "b1")), ("a0", "b0")
    outcomes = {policy: outcome(decided(policy, devices, used, 2)[0]) for policy in POLICIES}
    assert outcomes == {
        NONE: ("any", False, True),
        BEST_EFFORT: ("11", False, True),
        RESTRICTED: ("11", False, False),
        SINGLE_NUMA_NODE: ("any", False, False),
    }
    assert decided(BEST_EFFORT, devices, used, 2)[1] == {"a1", "b1"}
    hints = hints_of(GPU, 2, devices, {"a1", "b1"}, (0, 1))
    assert hints.min_affinity_size == 1, "an empty node could serve 2 from one NUMA node"
    assert [(mask_text(m.counts.mask), m.verdict) for m in hints.masks] == [
        ("01", "too few"),
        ("10", "too few"),
        ("11", "not preferred"),
    ]


def test_b36_a_request_that_never_fits_one_node_prefers_both() -> None:
    devices = on(n0=("a0", "a1"), n1=("b0", "b1"))
    assert outcome(decided(RESTRICTED, devices, ["a0"], 3)[0]) == ("11", True, True)
    assert not decided(SINGLE_NUMA_NODE, devices, ["a0"], 3)[0].admit


@pytest.mark.parametrize(
    ("request_", "hints", "chosen"),
    [
        (1, [("01", True), ("10", True), ("11", False)], "01"),
        (2, [("10", True), ("11", False)], "10"),
        (3, [("11", True)], "11"),
    ],
)
def test_b38_hints_do_not_weigh_counts(request_: int, hints: list[tuple[str, bool]], chosen: str) -> None:
    devices = on(n0=("g0",), n1=("g1", "g2"))
    assert shown(hints_of(GPU, request_, devices, set(devices), (0, 1))) == hints
    assert outcome(decided(BEST_EFFORT, devices, [], request_)[0])[0] == chosen


MIXED = {
    "x0": Device("x0"),
    "x1": Device("x1", numa_nodes=()),
    "x2": Device("x2", numa_nodes=(0,)),
}


def test_b39_without_any_numa_node_a_resource_does_not_care() -> None:
    careless = {id_: MIXED[id_] for id_ in ("x0", "x1")}
    hints = hints_of(GPU, 2, careless, set(careless), (0, 1))
    assert (hints.hints, hints.reason) == (None, "no topology")
    assert all(decided(policy, careless, [], 2)[0].admit for policy in POLICIES)


@pytest.mark.parametrize(
    ("request_", "used", "hints"),
    [(1, [], [("01", True), ("11", False)]), (2, [], []), (1, ["x2"], [])],
)
def test_b39_in_a_mixed_list_only_devices_with_nodes_fill_a_mask(
    request_: int, used: list[str], hints: list[tuple[str, bool]]
) -> None:
    assert shown(hints_of(GPU, request_, MIXED, set(MIXED) - set(used), (0, 1))) == hints
    admitted = {policy for policy in POLICIES if decided(policy, MIXED, used, request_)[0].admit}
    assert admitted == (set(POLICIES) if hints else {NONE, BEST_EFFORT})


def test_b39_a_device_on_two_nodes_counts_in_both() -> None:
    both = {"x3": Device("x3", numa_nodes=(0, 1))}
    assert shown(hints_of(GPU, 1, both, {"x3"}, (0, 1))) == [("01", True), ("10", True), ("11", False)]
    assert by_numa_node(both, ["x3"]) == {0: ("x3",), 1: ("x3",)}


def test_b41_a_pod_that_asks_for_nothing_passes_single_numa_node() -> None:
    manager = TopologyManager(SINGLE_NUMA_NODE, "container", numa=TWO_NODES)
    decision = decide(manager, [{}, None])
    assert outcome(decision) == ("any", True, True)


def test_b41_a_best_effort_pod_with_a_device_still_gets_hints_for_it() -> None:
    state = machine(on(n0=("a",), n1=("b",)))
    pod = pod_of(Container("c", limits={GPU: Quantity.of(1)}))
    assert cpu_hints.get_topology_hints(state.cpus, pod, pod.containers[0]) == {}
    _, hints = device_hints.get_topology_hints(state.devices, pod, pod.containers[0], [pod], (0, 1))
    assert shown(hints[GPU]) == [("01", True), ("10", True), ("11", False)]


def test_b42_each_new_pod_is_refused_until_the_blocker_is_gone() -> None:
    state = machine(on(n0=("a0", "a1"), n1=("b0", "b1")))
    blocked = holding(state, "blocker", "a0", "b0")
    manager = TopologyManager(SINGLE_NUMA_NODE, "container", numa=TWO_NODES)
    replicas = [pod_of(Container("c", limits={GPU: Quantity.of(2)}), uid=f"replica-{i}") for i in range(3)]
    for pod in replicas:
        blocked, admission = admitted(manager, blocked, pod)
        assert admission.refusal == Refusal(
            "TopologyAffinityError", "Resources cannot be allocated with Topology locality"
        )
        assert admission.allocations == (), "a refused pod holds nothing that could run later"
    free = replace(blocked, active=())
    free, admission = admitted(
        manager, free, pod_of(Container("c", limits={GPU: Quantity.of(2)}), uid="next")
    )
    assert admission.refusal is None
    assert free.affinities == {("next", "c"): TopologyHint(0b01, True)}


@pytest.mark.parametrize("policy", [BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE])
def test_b43_more_than_eight_numa_nodes_are_refused_at_start(policy: str) -> None:
    nine = NUMAInfo(tuple(range(9)))
    with pytest.raises(TopologyManagerError, match=r"^unsupported on machines with more than 8 NUMA Nodes$"):
        TopologyManager.new(policy, "container", nine)
    allowed = TopologyManager.new(policy, "container", nine, {"max-allowable-numa-nodes": "9"})
    assert allowed.options.max_allowable_numa_nodes == 9
    assert TopologyManager.new(policy, "container", NUMAInfo(tuple(range(8)))).policy == policy


def test_b43_policy_none_takes_any_machine() -> None:
    assert TopologyManager.new(NONE, "container", NUMAInfo(tuple(range(34)))).policy == NONE


def test_b43_a_tray_of_34_nodes_is_answered_and_kubernetes_would_not() -> None:
    tray = NUMAInfo(tuple(range(34)))
    manager = TopologyManager.new(BEST_EFFORT, "pod", tray, {"max-allowable-numa-nodes": "64"})
    assert "Kubernetes would try them all, and would not answer" in manager.remark
    assert TopologyManager.new(BEST_EFFORT, "pod", NUMAInfo((0, 1))).remark == ""
    devices = on(n0=("a",), n1=("b",))
    one, two = (hints_of(GPU, request, devices, set(devices), range(34)) for request in (1, 2))
    assert isinstance(one.hints, WideHints)
    assert one.hints.count == 2**34 - 2**32, "every mask that has node 0 or node 1"
    assert one.hints.first[:3] == (
        TopologyHint(0b01, True),
        TopologyHint(0b10, True),
        TopologyHint(0b11, False),
    )
    assert len(one.hints.first) == 64
    decision = decide(manager, [{GPU: one.hints}, {"example.com/nic": two.hints}])
    assert (decision.hint, decision.admit) == (TopologyHint(0b11, False), True)
    assert decision.merge is not None
    assert decision.merge.searched
    assert decision.merge.permutations == (2**34 - 2**32) * 2**32
    with pytest.raises(TooManyNUMANodesError, match=r"at most 16 NUMA nodes to list their masks, got 34"):
        merge_by_permutation(decision.merge.filtered, tray)
    with pytest.raises(TooManyNUMANodesError):
        iterate_bit_masks(range(MAX_NUMA_NODES + 1))


@pytest.mark.parametrize("nodes", [2, 34])
def test_b43_strict_policies_refuse_on_34_nodes_what_they_refuse_on_two(nodes: int) -> None:
    devices = on(n0=("a",), n1=("b",))
    hints = hints_of(GPU, 2, devices, set(devices), range(nodes)).hints
    providers = [{GPU: hints}, {"example.com/nic": (TopologyHint(0b01, True),)}]
    numa, options = NUMAInfo(tuple(range(nodes))), {"max-allowable-numa-nodes": "64"}
    restricted, single = (
        decide(TopologyManager.new(policy, "pod", numa, options), providers)
        for policy in (RESTRICTED, SINGLE_NUMA_NODE)
    )
    assert (restricted.hint, restricted.admit) == (TopologyHint(0b01, False), False)
    assert not single.admit


@pytest.mark.parametrize("nodes", [17, 34])
def test_on_wide_machines_searching_finds_what_permutations_find(nodes: int) -> None:
    """One device a node and nearly all asked for: so few masks suffice that all can be listed."""
    devices = {f"d{i}": Device(f"d{i}", numa_nodes=(i,)) for i in range(nodes)}
    numa = NUMAInfo(tuple(range(nodes)), {a: [10 + abs(a - b) for b in range(nodes)] for a in range(nodes)})
    answers = [
        {f"r{i}": hints_of(f"r{i}", nodes - 1, devices, set(devices) - gone, range(nodes)).hints}
        for i, gone in enumerate([set[str](), {"d3"}, set[str]()])
    ]
    filtered = filter_providers_hints(answers)
    for closest in (False, True):
        searched, tried = (merge(filtered, numa, closest) for merge in (merge_at_once, merge_by_permutation))
        assert (searched.hint, searched.permutations) == (tried.hint, tried.permutations)
        assert searched.proven


def test_both_ways_count_the_same_permutations_to_each_mask() -> None:
    """Resources that may be anywhere (no mask), too: a preferred one counts with every mask and with none."""
    anywhere, left, right = TopologyHint(None, True), TopologyHint(0b01, True), TopologyHint(0b10, True)
    spread, unwanted = TopologyHint(0b11, False), TopologyHint(None, False)
    lists = [(anywhere, left), (anywhere, anywhere, right), (left, right, spread), (anywhere, unwanted)]
    for chosen in product(lists, repeat=3):
        filtered = filter_providers_hints([{f"example.com/{i}": hints} for i, hints in enumerate(chosen)])
        at_once, tried = merge_at_once(filtered, TWO_NODES), merge_by_permutation(filtered, TWO_NODES)
        assert set(at_once.candidates) == set(tried.candidates)
        assert at_once.hint == tried.hint


# Settings


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"foo": "true"}, 'unknown Topology Manager Policy option: "foo"'),
        (
            {"prefer-closest-numa-nodes": "yes"},
            'bad value for option "prefer-closest-numa-nodes": strconv.ParseBool: parsing "yes": invalid syntax',
        ),
        (
            {"max-allowable-numa-nodes": "7"},
            'the minimum value of "max-allowable-numa-nodes" should not be less than 8',
        ),
        (
            {"max-allowable-numa-nodes": "x"},
            'unable to convert policy option to integer "max-allowable-numa-nodes": '
            'strconv.Atoi: parsing "x": invalid syntax',
        ),
    ],
)
def test_bad_options_are_refused_in_kubernetes_words(options: dict[str, str], text: str) -> None:
    with pytest.raises(PolicyOptionError) as caught:
        TopologyPolicyOptions.parse(options)
    assert str(caught.value) == text


def test_settings_that_do_not_fit() -> None:
    with pytest.raises(TopologyManagerError, match=r'^unknown policy: "strict"$'):
        TopologyManager.new("strict", "container", TWO_NODES)
    with pytest.raises(TopologyManagerError, match=r'^unknown scope: "node"$'):
        TopologyManager.new(RESTRICTED, "node", TWO_NODES)
    with pytest.raises(TopologyManagerError, match="error getting NUMA distances from cadvisor"):
        TopologyManager.new(RESTRICTED, "pod", TWO_NODES, {"prefer-closest-numa-nodes": "true"})


# The merge, as the labs show it


def two_resources() -> list[Any]:
    gpu = (TopologyHint(0b01, True), TopologyHint(0b10, True), TopologyHint(0b11, False))
    nic = (TopologyHint(0b10, True), TopologyHint(0b11, False))
    return [{"gpu": gpu, "nic": nic}]


def test_permutations_come_in_kubernetes_order_and_number() -> None:
    filtered = filter_providers_hints(two_resources())
    assert permutation_count(filtered) == 6
    merged = [
        (mask_text(p.merged.numa_node_affinity), p.merged.preferred)
        for p in permutations(filtered, TWO_NODES)
    ]
    assert merged == [("00", False), ("01", False), ("10", True), ("10", False), ("10", False), ("11", False)]


def test_each_candidate_says_by_what_it_loses() -> None:
    merge = merge_at_once(filter_providers_hints(two_resources()), TWO_NODES)
    winner, *others = merge.candidates
    assert winner == Candidate(TopologyHint(0b10, True), 1, merge.rank(0b10, True))
    assert merge.hint == winner.hint
    assert winner.loses_by(winner) is None
    assert [(c.hint.numa_node_affinity, c.permutations, c.loses_by(winner)) for c in others] == [
        (0b01, 1, "not_preferred"),
        (0b10, 2, "not_preferred"),
        (0b11, 1, "not_preferred"),
    ]
    assert others[1].loses_by(others[0]) == "mask"
    assert others[2].loses_by(others[0]) == "too_wide"
    assert merge.permutations == 6, "and one of them comes to no node"


def test_the_closest_nodes_win_if_wanted() -> None:
    distances = {0: (10, 40, 20), 1: (40, 10, 20), 2: (20, 20, 10)}
    pairs = tuple(TopologyHint(mask, True) for mask in (0b011, 0b110))
    numa = NUMAInfo((0, 1, 2), distances)
    wanted = TopologyManager.new(RESTRICTED, "pod", numa, {"prefer-closest-numa-nodes": "true"})
    assert decide(wanted, [{"gpu": pairs}]).hint.numa_node_affinity == 0b110
    assert decide(replace(wanted, options=TopologyPolicyOptions()), [{"gpu": pairs}]).hint == pairs[0]


# Admission, with CPUs and devices together


@dataclass(frozen=True, slots=True)
class Machine:
    """A state with two managers, as the kubelet has it; `active` are pods that may hold devices."""

    devices: DeviceManagerState
    cpus: CPUManagerState
    active: tuple[Pod, ...] = ()
    affinities: Mapping[tuple[str, str], TopologyHint] = field(default_factory=dict)
    calls: tuple[str, ...] = ()

    def with_affinity(self, pod_uid: str, container: str, hint: TopologyHint) -> "Machine":
        return replace(self, affinities={**self.affinities, (pod_uid, container): hint})

    def called(self, call: str) -> "Machine":
        return replace(self, calls=(*self.calls, call))


class Devices:
    """A provider over the device manager's hints; it takes the aligned devices without asking a plugin."""

    name = "devices"

    def get_topology_hints(
        self, state: Machine, pod: Pod, container: Container
    ) -> tuple[Machine, Mapping[str, ResourceHints]]:
        state = state.called(f"hints {container.name}")
        devices, hints = device_hints.get_topology_hints(
            state.devices, pod, container, (*state.active, pod), (0, 1)
        )
        return replace(state, devices=devices), hints

    def get_pod_topology_hints(self, state: Machine, pod: Pod) -> tuple[Machine, Mapping[str, ResourceHints]]:
        state = state.called("pod hints")
        devices, hints = device_hints.get_pod_topology_hints(state.devices, pod, (*state.active, pod), (0, 1))
        return replace(state, devices=devices), hints

    def allocate(
        self, state: Machine, pod: Pod, container: Container, affinity: TopologyHint
    ) -> Generator[Any, Any, tuple[Machine, Allocated]]:
        state = state.called(f"allocate {container.name} {mask_text(affinity.numa_node_affinity)}")
        if GPU not in container.limits:
            return state, Allocated(frozenset())
        free = state.devices.healthy_devices[GPU] - state.devices.allocated_devices.get(GPU, frozenset())
        sets = filter_by_affinity(state.devices.all_devices[GPU], free, affinity.numa_node_affinity)
        ids = (sorted(sets.aligned) + sorted(sets.no_affinity) + sorted(sets.unaligned))[
            : container.limits[GPU].value()
        ]
        yield from ()
        return holding(state, pod.uid, *ids, container=container.name), Allocated(frozenset(ids))


class CPUs:
    """The CPU manager as a provider."""

    name = "cpus"

    def get_topology_hints(
        self, state: Machine, pod: Pod, container: Container
    ) -> tuple[Machine, Mapping[str, ResourceHints]]:
        return state, cpu_hints.get_topology_hints(state.cpus, pod, container)

    def get_pod_topology_hints(self, state: Machine, pod: Pod) -> tuple[Machine, Mapping[str, ResourceHints]]:
        return state, cpu_hints.get_pod_topology_hints(state.cpus, pod)

    def allocate(
        self, state: Machine, pod: Pod, container: Container, affinity: TopologyHint
    ) -> Generator[Any, Any, tuple[Machine, Allocated]]:
        yield from ()
        cpus, decision = cpu_manager.allocate(state.cpus, pod, container, affinity.numa_node_affinity)
        return replace(state, cpus=cpus), Allocated(decision, decision.refusal)


def machine(devices: Mapping[str, Device], cores: int = 4) -> Machine:
    """Two NUMA nodes with `cores` single-threaded cores each; CPU 0 is reserved."""
    topology = CPUTopology.regular(sockets=2, cores=cores, threads=1)
    manager = DeviceManagerState(all_devices={GPU: devices}, healthy_devices={GPU: frozenset(devices)})
    return Machine(manager, cpu_manager.start(new_static_policy(topology, 1)))


def holding(state: Machine, uid: str, *ids: str, container: str = "c") -> Machine:
    """The state in which a container of an active pod holds these devices."""
    record = DeviceAllocateInfo({0: ids}, ContainerAllocateResponse())
    records = {**state.devices.pod_devices}
    records[uid] = {**records.get(uid, {}), container: {GPU: record}}
    allocated = state.devices.allocated_devices.get(GPU, frozenset()) | set(ids)
    devices = replace(state.devices, pod_devices=records, allocated_devices={GPU: allocated})
    return replace(state, devices=devices, active=(*state.active, Pod(uid, uid=uid)))


def pod_of(*containers: Container, uid: str = "p", init: tuple[Container, ...] = ()) -> Pod:
    return Pod(uid, uid=uid, containers=containers, init_containers=init)


def guaranteed(name: str, cpus: int, gpus: int = 0) -> Container:
    wants = {"cpu": Quantity.of(cpus), "memory": Quantity.parse("1Gi")}
    return Container(name, requests=wants, limits={**wants, GPU: Quantity.of(gpus)} if gpus else wants)


def admitted(manager: TopologyManager, state: Machine, pod: Pod) -> tuple[Machine, TopologyAdmission]:
    conversation = admit(manager, state, pod, [Devices(), CPUs()])
    with pytest.raises(StopIteration) as end:
        next(conversation)
    result: tuple[Machine, TopologyAdmission] = end.value.value
    return result


def test_cpus_and_devices_come_from_the_same_node() -> None:
    state = machine(on(n0=("a",), n1=("b",)))
    manager = TopologyManager.new(SINGLE_NUMA_NODE, "container", TWO_NODES)
    state, admission = admitted(manager, state, pod_of(guaranteed("c", cpus=4, gpus=1)))
    assert admission.refusal is None
    assert state.devices.allocated_devices[GPU] == {"b"}, "node 0 has 3 CPUs left beside the reserved one"
    assert state.cpus.assigned("p", "c") == {4, 5, 6, 7}
    answers = dict(admission.alignments[0].answers)
    assert shown(answers["devices"][GPU]) == [("01", True), ("10", True), ("11", False)]
    assert shown(answers["cpus"]["cpu"]) == [("10", True), ("11", False)]


@pytest.mark.parametrize(
    ("policy", "refused"), [(NONE, False), (BEST_EFFORT, False), (RESTRICTED, True), (SINGLE_NUMA_NODE, True)]
)
@pytest.mark.parametrize("scope", ["container", "pod"])
def test_cpus_and_devices_on_different_nodes(policy: str, scope: str, refused: bool) -> None:
    state = machine(on(n0=("a",), n1=()))
    manager = TopologyManager.new(policy, scope, TWO_NODES)
    state, admission = admitted(manager, state, pod_of(guaranteed("c", cpus=4, gpus=1)))
    assert (admission.refusal is not None) is refused
    assert (state.cpus.assigned("p", "c") is None) is refused
    if refused:
        assert admission.refusal == Refusal(
            "TopologyAffinityError", "Resources cannot be allocated with Topology locality"
        )


def test_with_scope_container_the_first_containers_keep_what_they_got() -> None:
    state = machine(on(n0=("a",), n1=("b",)))
    pod = pod_of(guaranteed("one", 1, gpus=1), guaranteed("two", 1, gpus=2))
    manager = TopologyManager.new(SINGLE_NUMA_NODE, "container", TWO_NODES)
    state, admission = admitted(manager, state, pod)
    assert admission.refusal is not None
    assert state.calls == ("hints one", "allocate one 01", "hints two")
    assert state.affinities == {("p", "one"): TopologyHint(0b01, True)}
    assert state.devices.allocated_devices[GPU] == {"a"}
    assert [a.container for a in admission.alignments] == ["one", "two"]


def test_with_scope_pod_there_is_one_merge_for_all_containers_init_ones_first() -> None:
    state = machine(on(n0=("a",), n1=("b", "c")))
    pod = pod_of(guaranteed("one", 1, gpus=1), guaranteed("two", 1, gpus=1), init=(guaranteed("init", 1),))
    state, admission = admitted(TopologyManager.new(RESTRICTED, "pod", TWO_NODES), state, pod)
    assert admission.refusal is None
    assert state.calls == ("pod hints", "allocate init 10", "allocate one 10", "allocate two 10")
    assert state.devices.allocated_devices[GPU] == {"b", "c"}
    assert [a.container for a in admission.alignments] == [None]
    assert len(admission.allocations) == 6


def test_with_policy_none_nobody_is_asked_for_hints() -> None:
    state = machine(on(n0=("a",), n1=("b",)))
    state, admission = admitted(TopologyManager(), state, pod_of(guaranteed("c", 1, gpus=2)))
    assert admission.refusal is None
    assert state.calls == ("allocate c any",)
    assert state.affinities == {}


def test_a_provider_that_fails_refuses_the_pod() -> None:
    state = machine({}, cores=2)
    state, admission = admitted(TopologyManager(), state, pod_of(guaranteed("c", 4)))
    assert admission.refusal == Refusal(
        "UnexpectedAdmissionError",
        "Allocate failed due to not enough cpus available to satisfy request: requested=4, available=3, "
        "which is unexpected",
    )


# Devices as a provider


def test_devices_held_already_lead_to_the_same_hint_again() -> None:
    state = holding(machine(on(n0=("a", "b"), n1=("c", "d"))), "p", "d")
    container = Container("c", limits={GPU: Quantity.of(1)})
    _, hints = device_hints.get_topology_hints(
        state.devices, pod_of(container), container, state.active, (0, 1)
    )
    assert hints[GPU].reason == "already allocated"
    assert shown(hints[GPU]) == [("10", True), ("11", False)]
    more = replace(container, limits={GPU: Quantity.of(2)})
    _, hints = device_hints.get_topology_hints(state.devices, pod_of(more), more, state.active, (0, 1))
    assert (hints[GPU].reason, hints[GPU].hints) == ("allocated in another number", ())


def test_asking_for_hints_frees_the_devices_of_pods_that_are_gone() -> None:
    state = holding(machine(on(n0=("a",), n1=("b",))), "gone", "a")
    container = Container("c", limits={GPU: Quantity.of(2), "cpu": Quantity.of(1)})
    pod = pod_of(container)
    devices, hints = device_hints.get_topology_hints(state.devices, pod, container, [pod], (0, 1))
    assert not devices.allocated_devices.get(GPU)
    assert list(hints) == [GPU], "no plugin offers cpu"
    assert shown(hints[GPU]) == [("11", True)]


def test_reusable_devices_must_be_within_the_mask() -> None:
    devices = on(n0=("a",), n1=("b", "c"))
    hints = hints_of(GPU, 2, devices, {"b", "c"}, (0, 1), reusable={"a"})
    assert [(mask_text(m.counts.mask), m.verdict) for m in hints.masks] == [
        ("01", "too few"),
        ("10", "reusable left out"),
        ("11", "not preferred"),
    ]


def test_a_pod_needs_what_its_hungriest_moment_needs() -> None:
    def container(name: str, restart_policy: str | None = None) -> Container:
        return Container(name, restart_policy=restart_policy)

    wants = {"init1": 1, "sidecar": 2, "init2": 4, "app": 3}
    inits = (container("init1"), container("sidecar", "Always"), container("init2"))
    pod = pod_of(container("app"), init=inits)
    assert device_hints.pod_request(pod, lambda c: wants[c.name]) == 6, "init2 beside the sidecar"
    assert device_hints.pod_request(pod, lambda c: {**wants, "init2": 1}[c.name]) == 5, (
        "app beside the sidecar"
    )


@pytest.mark.parametrize("node", [-1, 64])
def test_a_mask_has_room_for_the_nodes_that_kubernetes_has_room_for(node: int) -> None:
    assert mask_of([0, 63]) == 1 << 63 | 1
    with pytest.raises(ValueError, match=rf"^bit number must be in range 0-63, got {node}$"):
        mask_of([0, node])


@pytest.mark.parametrize("closest", [False, True])
def test_on_wide_machines_the_best_of_several_preferred_masks_is_found(closest: bool) -> None:
    nodes = range(20)
    numa = NUMAInfo(tuple(nodes), {a: [10 + abs(a - b) for b in nodes] for a in nodes})
    singles = tuple(TopologyHint(1 << node, True) for node in (9, 3, 14))
    pairs = tuple(TopologyHint(mask_of(pair), True) for pair in ((2, 17), (6, 7), (4, 11)))
    spread = (TopologyHint(mask_of((1, 2, 3)), False), TopologyHint(mask_of((3, 5)), False))
    for hints in product((singles, pairs, singles[1:] + spread, pairs[1:] + spread, spread), repeat=2):
        filtered = filter_providers_hints([{f"example.com/{i}": each} for i, each in enumerate(hints)])
        searched, tried = (merge(filtered, numa, closest) for merge in (merge_at_once, merge_by_permutation))
        assert searched.hint == tried.hint
