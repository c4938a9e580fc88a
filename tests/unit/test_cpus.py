"""The CPU manager: who gets CPUs of its own and which; reported problems by their ids."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from kubedev.api.objects import Container, Pod
from kubedev.api.quantity import Quantity
from kubedev.kubelet.cpu.cpu_assignment import take_by_topology_numa_packed
from kubedev.kubelet.cpu.cpu_distribution import take_by_topology_numa_distributed
from kubedev.kubelet.cpu.cpu_hints import get_pod_topology_hints, get_topology_hints
from kubedev.kubelet.cpu.cpu_manager import (
    CPUDecision,
    CPUManagerState,
    allocate,
    remove_container,
    remove_stale_state,
    start,
)
from kubedev.kubelet.cpu.cpu_policy import new_policy, new_static_policy
from kubedev.kubelet.cpu.cpu_state import CPUManagerError, read_state, write_state
from kubedev.kubelet.cpu.cpu_topology import CPUInfo, CPUTopology
from kubedev.kubelet.cpu.cpuset import CPUSetError, format_cpus, parse_cpus
from kubedev.kubelet.topology.hints import TopologyHint
from kubedev.kubelet.topology.topology import Refusal

REAL = os.environ.get("KUBEDEV_REAL_MANIFESTS", "")
needs_real = pytest.mark.skipif(not REAL, reason="KUBEDEV_REAL_MANIFESTS names no folder of real files")

SMALL = CPUTopology.regular(sockets=2, cores=4)  # 16 CPUs: cores 0-3 on node 0, 4-7 on node 1, siblings + 8


def quantities(**texts: str) -> Mapping[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in texts.items()}


def container(name: str, cpu: str = "", memory: str = "", sidecar: bool = False) -> Container:
    """A container whose requests are its limits."""
    both = quantities(**{k: v for k, v in (("cpu", cpu), ("memory", memory)) if v})
    return Container(name, requests=both, limits=both, restart_policy="Always" if sidecar else None)


def guaranteed(name: str, cpu: str, sidecar: bool = False) -> Container:
    return container(name, cpu, "1Gi", sidecar)


def pod_of(*containers: Container, uid: str = "p", init: tuple[Container, ...] = ()) -> Pod:
    return Pod(uid, uid=uid, containers=containers, init_containers=init)


ALPHA = {"CPUManagerPolicyAlphaOptions": True}


def static(topology: CPUTopology = SMALL, reserved: str = "0", **options: str) -> CPUManagerState:
    cpus = parse_cpus(reserved)
    named = {name.replace("_", "-"): value for name, value in options.items()}
    return start(new_static_policy(topology, len(cpus), cpus, named, gates=ALPHA))


def run(state: CPUManagerState, pod: Pod) -> tuple[CPUManagerState, dict[str, CPUDecision]]:
    decisions = {}
    for each in (*pod.init_containers, *pod.containers):
        state, decisions[each.name] = allocate(state, pod, each)
    return state, decisions


# Reported problems


@pytest.mark.parametrize(
    ("containers", "owned"),
    [
        ([container("main", "4")], {"main": ("not Guaranteed", 0)}),
        ([container("main", "4", "1Gi")], {"main": ("assigned", 4)}),
        ([container("main", "1500m", "1Gi")], {"main": ("no whole CPUs", 0)}),
        ([container("main", "4000m", "1Gi")], {"main": ("assigned", 4)}),
        (
            [container("main", "4", "1Gi"), container("side", "100m", "64Mi")],
            {"main": ("assigned", 4), "side": ("no whole CPUs", 0)},
        ),
        (
            [container("main", "4", "1Gi"), container("side")],
            {"main": ("not Guaranteed", 0), "side": ("not Guaranteed", 0)},
        ),
        (
            [Container("main", limits=quantities(**{"nvidia.com/gpu": "1"}))],
            {"main": ("not Guaranteed", 0)},
        ),
    ],
)
def test_b44_why_is_my_pod_not_pinned(containers: list[Container], owned: dict[str, tuple[str, int]]) -> None:
    _, decisions = run(static(), pod_of(*containers))
    assert {name: (d.reason, len(d.cpus or ())) for name, d in decisions.items()} == owned


FULL_CORES = CPUTopology.regular(cores=8)  # 16 CPUs, siblings are n and n + 8


def test_b45_a_running_pod_is_refused_after_a_restart_under_full_pcpus_only() -> None:
    pod = pod_of(guaranteed("c", "12"))
    state, decisions = run(static(FULL_CORES, "0,8", full_pcpus_only="true"), pod)
    assert decisions["c"].cpus == parse_cpus("1-6,9-14")
    restarted = start(state.policy, state.checkpoint)
    assert restarted.assignments == state.assignments
    _, again = run(restarted, pod)
    text = (
        "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 2, "
        "requested CPUs = 12, CPUs per core = 2"
    )
    assert again["c"].refusal == Refusal("SMTAlignmentError", text)


def test_b45_with_the_switch_it_keeps_its_cpus() -> None:
    pod = pod_of(guaranteed("c", "12"))
    state, _ = run(static(FULL_CORES, "0,8", full_pcpus_only="true"), pod)
    _, again = run(start(state.policy, state.checkpoint, switches=frozenset({"129078"})), pod)
    assert (again["c"].reason, again["c"].cpus) == ("kept", parse_cpus("1-6,9-14"))


def test_b45_half_a_core_is_refused_the_first_time() -> None:
    _, decisions = run(static(FULL_CORES, "0,8", full_pcpus_only="true"), pod_of(guaranteed("c", "3")))
    text = "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"
    assert decisions["c"].refusal == Refusal("SMTAlignmentError", text)


WHAT_TO_DO = (
    'please drain this node and delete the CPU manager checkpoint file "/state/cpu_manager_state" '
    "before restarting Kubelet"
)


@pytest.mark.parametrize(
    ("written_by", "read_by"), [("none", "static"), ("static", "none")], ids=["to static", "to none"]
)
def test_b47_another_policy_than_the_file_stops_the_kubelet(written_by: str, read_by: str) -> None:
    policies = {"none": None, "static": static().policy}
    written = start(policies[written_by]).checkpoint
    with pytest.raises(CPUManagerError) as caught:
        start(policies[read_by], written, "/state/cpu_manager_state")
    assert str(caught.value) == (
        f'could not restore state from checkpoint: configured policy "{read_by}" differs from state '
        f'checkpoint policy "{written_by}", {WHAT_TO_DO}'
    )


def test_b47_other_reserved_cpus_than_in_the_file_stop_the_kubelet() -> None:
    state, _ = run(static(FULL_CORES, "8"), pod_of(guaranteed("c", "2")))
    assert state.default == parse_cpus("0,2-8,10-15")
    with pytest.raises(CPUManagerError) as caught:
        start(static(FULL_CORES, "0-3").policy, state.checkpoint)
    assert str(caught.value) == ('not all reserved cpus: "0-3" are present in defaultCpuSet: "0,2-8,10-15"')


def test_b47_a_machine_with_fewer_cpus_stops_the_kubelet() -> None:
    fewer = CPUTopology.regular(cores=7)
    with pytest.raises(CPUManagerError) as caught:
        start(static(fewer).policy, static(FULL_CORES).checkpoint)
    assert str(caught.value) == (
        'current set of available CPUs "0-13" doesn\'t match with CPUs in state "0-15"'
    )


# The state file


def test_a_corrupt_file_stops_the_kubelet() -> None:
    state, _ = run(static(), pod_of(guaranteed("c", "2")))
    broken = state.checkpoint.replace('"c":"1,9"', '"c":"2,9"')
    assert broken != state.checkpoint
    with pytest.raises(CPUManagerError, match="checkpoint: checkpoint is corrupted, please drain this node"):
        start(state.policy, broken)
    with pytest.raises(
        CPUManagerError, match="could not restore state from checkpoint: unexpected end of JSON"
    ):
        start(state.policy, state.checkpoint[:40])


def test_overlapping_and_missing_cpus_in_the_file() -> None:
    policy = static().policy
    overlap = write_state("static", parse_cpus("0-15"), {"p": {"c": parse_cpus("3")}})
    with pytest.raises(CPUManagerError) as caught:
        start(policy, overlap)
    assert str(caught.value) == 'pod: p, container: c cpuset: "3" overlaps with default cpuset "0-15"'
    with pytest.raises(CPUManagerError, match=r"^default cpuset cannot be empty$"):
        start(policy, write_state("static", frozenset(), {"p": {"c": parse_cpus("3")}}))
    with pytest.raises(
        CPUManagerError, match=r'could not parse default cpu set "3-1": invalid range "3-1" \(3 > 1\)'
    ):
        start(policy, '{"policyName":"static","defaultCpuSet":"3-1"}')
    with pytest.raises(
        CPUManagerError, match=r'could not parse cpuset "x" for container "c" in pod "p": strconv.Atoi'
    ):
        start(policy, '{"policyName":"static","defaultCpuSet":"0","entries":{"p":{"c":"x"}}}')


def test_the_format_of_1_17_names_containers_that_nobody_knows() -> None:
    old = '{"policyName":"static","defaultCpuSet":"0-1","entries":{"4d1f":"2-3"},"checksum":0}'
    with pytest.raises(CPUManagerError, match="containerID '4d1f' not found in initial containers list"):
        read_state(old, "static")


def test_with_strict_reservation_reserved_cpus_are_in_no_set() -> None:
    strict = static(strict_cpu_reservation="true", reserved="0,8")
    assert strict.default == parse_cpus("1-7,9-15")
    with pytest.raises(CPUManagerError) as caught:
        start(strict.policy, static(reserved="0,8").checkpoint)
    assert str(caught.value) == ('some of strictly reserved cpus: "0,8" are present in defaultCpuSet: "0-15"')


@needs_real
def test_real_state_files_load_and_are_written_back_alike() -> None:
    loaded = {}
    for path in sorted(Path(REAL).glob("cpu_manager_state-*")):
        policy = "none" if "-none" in path.name else "static"
        text = path.read_text()
        loaded[policy] = read_state(text, policy)
        assert write_state(policy, *loaded[policy]) == text
    assert loaded["none"] == (frozenset(), {})
    default, assignments = loaded["static"]
    assert format_cpus(default) == "0,13"
    assert sorted(format_cpus(c["app"]) for c in assignments.values()) == ["1-12", "14-27"]


@needs_real
def test_real_state_files_are_refused_for_the_right_reason() -> None:
    text = next(Path(REAL).glob("cpu_manager_state-static*")).read_text()
    with pytest.raises(
        CPUManagerError, match='configured policy "none" differs from state checkpoint policy "static"'
    ):
        start(None, text)
    with pytest.raises(CPUManagerError, match="checkpoint is corrupted"):
        read_state(text.replace("14-27", "14-28"), "static")
    policy = new_static_policy(CPUTopology.regular(cores=14), 1, parse_cpus("0"))
    assert start(policy, text).default == parse_cpus("0,13")
    with pytest.raises(CPUManagerError, match="not all reserved cpus"):
        start(new_static_policy(CPUTopology.regular(cores=14), 1, parse_cpus("1")), text)


# Policies


UNSUPPORTED = "new none policy error: None policy: received unsupported options=map[full-pcpus-only:true]"
NONE_RESERVED = (
    "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero"
)
UNKNOWN_OPTION = 'new static policy error: unknown CPU Manager Policy option: "foo"'
TOO_MANY_RESERVED = (
    "new static policy error: [cpumanager] unable to reserve the required amount of CPUs "
    "(size of  did not equal 99)"
)


@pytest.mark.parametrize(
    ("name", "options", "reservation", "text"),
    [
        ("none", {"full-pcpus-only": "true"}, "1", UNSUPPORTED),
        ("static", {}, "0", NONE_RESERVED),
        ("static", {"foo": "1"}, "1", UNKNOWN_OPTION),
        ("static", {}, "99", TOO_MANY_RESERVED),
        ("dynamic", {}, "1", 'unknown policy: "dynamic"'),
    ],
)
def test_policies_that_do_not_start(name: str, options: dict[str, str], reservation: str, text: str) -> None:
    with pytest.raises(CPUManagerError) as caught:
        new_policy(name, SMALL, Quantity.parse(reservation), options=options)
    assert str(caught.value) == text


def test_a_reservation_is_rounded_up_to_whole_cpus() -> None:
    policy = new_policy("static", SMALL, Quantity.parse("1100m"))
    assert policy is not None
    assert policy.reserved == parse_cpus("0,8"), "two threads of one core"
    assert policy.assignable == parse_cpus("1-7,9-15")
    assert new_policy("none", SMALL, Quantity.parse("1")) is None


def test_with_policy_none_nothing_is_assigned_and_nothing_hinted() -> None:
    pod = pod_of(guaranteed("c", "2"))
    state, decisions = run(start(None), pod)
    assert (decisions["c"].reason, state) == ("policy none", CPUManagerState())
    assert get_topology_hints(state, pod, pod.containers[0]) == {}
    assert get_pod_topology_hints(state, pod) == {}


# Allocation


def test_the_affinity_is_served_first_and_the_rest_comes_from_anywhere() -> None:
    pod = pod_of(guaranteed("c", "10"))
    state, decision = allocate(static(), pod, pod.containers[0], mask=0b10)
    assert decision.aligned.cpus == parse_cpus("4-7,12-15")
    assert decision.remaining.cpus == parse_cpus("1,9")
    assert [(step.what, step.id) for step in decision.aligned.steps] == [("numa_node", 1)]
    assert state.cpus_of("p", "c") == decision.cpus
    assert state.cpus_of("p", "other") == state.default == parse_cpus("0,2-3,8,10-11")


def test_init_containers_hand_on_their_cpus_and_sidecars_keep_them() -> None:
    inits = (guaranteed("init", "4"), guaranteed("sidecar", "2", sidecar=True))
    pod = pod_of(guaranteed("app", "2"), init=inits)
    state, decisions = run(static(), pod)
    first, sidecar, app = (decisions[name].cpus or frozenset() for name in ("init", "sidecar", "app"))
    assert sidecar < first
    assert app < first
    assert not sidecar & app
    assert state.default == SMALL.details.cpus - first
    state = remove_container(state, "p", "init")
    assert state.default == SMALL.details.cpus - first, "its CPUs are still in use"
    state = remove_container(state, "p", "app")
    assert state.default == SMALL.details.cpus - sidecar


def test_containers_of_pods_that_are_gone_give_their_cpus_back() -> None:
    one, other = pod_of(guaranteed("c", "2"), uid="one"), pod_of(guaranteed("c", "2"), uid="other")
    state, _ = run(static(), one)
    state, _ = run(state, other)
    kept = remove_stale_state(state, [other])
    assert kept.assigned("one", "c") is None
    assert kept.assigned("other", "c") == state.assigned("other", "c")
    assert remove_stale_state(kept, []).default == SMALL.details.cpus


def test_cpus_held_already_lead_to_the_same_hint_again() -> None:
    pod = pod_of(guaranteed("c", "2"))
    state, _ = allocate(static(), pod, pod.containers[0], mask=0b10)
    for hints in (get_topology_hints(state, pod, pod.containers[0]), get_pod_topology_hints(state, pod)):
        assert hints["cpu"].reason == "already allocated"
        assert hints["cpu"].hints == (TopologyHint(0b10, True), TopologyHint(0b11, False))
    more = pod_of(guaranteed("c", "3"))
    for hints in (get_topology_hints(state, more, more.containers[0]), get_pod_topology_hints(state, more)):
        assert (hints["cpu"].reason, hints["cpu"].hints) == ("allocated in another number", ())


# By topology


def test_whole_things_first_and_where_the_least_is_free() -> None:
    taken = take_by_topology_numa_packed(SMALL, parse_cpus("1-15"), 11)
    assert [(step.what, step.id) for step in taken.steps] == [
        ("numa_node", 1),
        ("core", 1),
        ("cpu", 8),
    ]
    assert take_by_topology_numa_packed(SMALL, parse_cpus("1-3"), 4).error == (
        "not enough cpus available to satisfy request: requested=4, available=3"
    )


def test_equal_shares_from_each_numa_node() -> None:
    packed = take_by_topology_numa_packed(SMALL, SMALL.details.cpus, 10)
    shared = take_by_topology_numa_distributed(SMALL, SMALL.details.cpus, 10, 1)
    nodes = [len(each.cpus & SMALL.details.cpus_in("numa_node", 0)) for each in (packed, shared)]
    assert nodes == [8, 5]


def test_a_remainder_that_go_would_take_for_ever_is_passed_over() -> None:
    """Four nodes with 7 free CPUs: 4 from each leave 3, so that 3 more groups of 2 do not fit on two nodes."""
    topology = CPUTopology.regular(sockets=4, cores=4)
    free = frozenset(
        cpu for node in range(4) for cpu in sorted(topology.details.cpus_in("numa_node", node))[:7]
    )
    taken = take_by_topology_numa_distributed(topology, free, 22, 2)
    assert len(taken.cpus) == 22


def test_a_regular_machine() -> None:
    machine = CPUTopology.regular(sockets=2, numa_nodes=2, cores=4, threads=2, caches=2)
    assert (machine.num_cpus, machine.num_cores, machine.num_numa_nodes, machine.num_uncore_caches) == (
        32,
        16,
        4,
        8,
    )
    assert machine.details.infos[18] == CPUInfo(core=2, socket=0, numa_node=0, uncore_cache=1)
    assert machine.details.cpus_in("core", 2) == {2, 18}


# Sets of CPUs


@pytest.mark.parametrize("text", ["", "0", "0-3,8", "1,3,5", "0-1023"])
def test_cpu_lists_are_read_and_written(text: str) -> None:
    assert format_cpus(parse_cpus(text)) == text


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a", 'strconv.Atoi: parsing "a": invalid syntax'),
        ("1,,2", 'strconv.Atoi: parsing "": invalid syntax'),
        ("1-", 'strconv.Atoi: parsing "": invalid syntax'),
        ("5-2", 'invalid range "5-2" (5 > 2)'),
    ],
)
def test_bad_cpu_lists_are_refused_in_kubernetes_words(text: str, error: str) -> None:
    with pytest.raises(CPUSetError) as caught:
        parse_cpus(text)
    assert str(caught.value) == error
