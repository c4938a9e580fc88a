"""The pictures of labs 01 to 06: each shows what was decided, whatever the size."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubedev.api.messages import UNHEALTHY, Device, DevicePluginOptions, PreferredAllocationResponse, converse
from kubedev.api.objects import Pod
from kubedev.api.qos import compute_pod_qos
from kubedev.api.requests import pod_arithmetic
from kubedev.kubelet.devices.allocation import DeviceRequest, DevicesToAllocate, devices_to_allocate
from kubedev.kubelet.devices.devices import DeviceManagerState
from kubedev.kubelet.devices.endpoint import PLUGIN_PHASES, Endpoint
from kubedev.kubelet.topology.hints import ResourceHints, device_hints
from kubedev.kubelet.topology.merge import NUMAInfo, permutation_count
from kubedev.kubelet.topology.topology import (
    BEST_EFFORT,
    NONE,
    RESTRICTED,
    SINGLE_NUMA_NODE,
    PolicyDecision,
    TopologyManager,
    decide,
)
from kubedev.views import samples
from kubedev.views.allocation_sets import COLUMNS, allocation_picture
from kubedev.views.arithmetic import arithmetic_picture, moments
from kubedev.views.charts import hints_figure, timeline_figure
from kubedev.views.document import document
from kubedev.views.hints import hints_picture
from kubedev.views.merge import MOST_PERMUTATIONS, merge_picture, try_permutations
from kubedev.views.numa import CpuView, NumaBoard, NumaNodeView, numa_picture
from kubedev.views.path_state import DeviceView, ResourceView
from kubedev.views.picture import Box, Cell, Line, Picture, Pill, Text
from kubedev.views.registration import RegistrationState, SequenceCall, registration_picture
from kubedev.views.style import DeviceState
from kubedev.views.timeline import Sample, Timeline, timeline_picture
from tests.unit.picture_checks import problems

GPU = "example.com/gpu"
LONG = "example.com/a-resource-with-a-name-of-sixty-characters-abcdefghijk"


def check(picture: Picture) -> None:
    assert problems(picture) == []
    document(picture)  # each key once
    assert picture.alt
    assert picture.tables


def texts(picture: Picture) -> str:
    return " ".join(mark.text for mark in picture.marks if isinstance(mark, Text))


# Allocation sets


def allocate(
    count: int,
    numas: int,
    required: int,
    mask: int | None,
    used: set[int],
    sick: set[int],
    preferred: list[int],
) -> tuple[DevicesToAllocate, dict[str, Device]]:
    ids = [str(i) for i in range(count)]
    devices = {
        i: Device(i, UNHEALTHY if int(i) in sick else "Healthy", (int(i) * numas // count,)) for i in ids
    }
    state = DeviceManagerState(
        all_devices={GPU: devices},
        healthy_devices={GPU: frozenset(ids) - {str(i) for i in sick}},
        unhealthy_devices={GPU: frozenset(str(i) for i in sick)},
        allocated_devices={GPU: frozenset(str(i) for i in used)},
        connections={1: Endpoint(GPU, "s", "connected", DevicePluginOptions(False, True))},
        endpoints={GPU: 1},
    )
    conversation = devices_to_allocate(state, DeviceRequest("u", "trainer", GPU, required), affinity=mask)
    answer = PreferredAllocationResponse((tuple(map(str, preferred)),))
    return converse(conversation, lambda _: answer)[1], devices


@pytest.mark.parametrize("required", [2, 3, 4])
def test_sets_on_both_sides_of_the_edge(required: int) -> None:
    """Three are aligned: with 2 needed the plugin chooses among them, with 3 it is not asked, with 4 for the rest."""
    decision, devices = allocate(8, 2, required, 0b01, {0}, set(), [1, 2, 3, 5])
    picture = allocation_picture(decision, devices, 0b01)
    check(picture)
    taken = [m for m in picture.marks if isinstance(m, Cell) and m.key.endswith("/taken")]
    assert len(taken) == required
    starred = [m for m in picture.marks if isinstance(m, Cell) and m.starred and m.key.startswith("row/")]
    assert bool(starred) is (required != 3)


def test_a_followed_device_is_told_through_all_its_sets() -> None:
    decision, devices = allocate(8, 2, 2, 0b01, {0}, set(), [1, 2])
    picture = allocation_picture(decision, devices, 0b01, follow="2")
    assert "Followed: 2, all → healthy → available → aligned → preferred → taken." in picture.sentence


def test_an_error_is_shown_in_full() -> None:
    decision, devices = allocate(4, 1, 9, None, set(), set(), [])
    picture = allocation_picture(decision, devices)
    assert "Requested: 9, Available: 4" in texts(picture)
    check(picture)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([1, 4, 8, 16, 17, 64, 512]),
    st.sampled_from([1, 2, 8]),
    st.integers(1, 70),
    st.sampled_from([None, 1, 2, 255]),
    st.sets(st.integers(0, 63)),
    st.sets(st.integers(0, 63)),
    st.lists(st.integers(0, 63), max_size=20),
)
def test_sets_of_any_size(
    count: int,
    numas: int,
    required: int,
    mask: int | None,
    used: set[int],
    sick: set[int],
    preferred: list[int],
) -> None:
    decision, devices = allocate(
        count,
        numas,
        required,
        mask,
        {i for i in used if i < count},
        {i for i in sick if i < count},
        preferred,
    )
    picture = allocation_picture(decision, devices, mask, follow="0")
    check(picture)
    for column in COLUMNS:
        assert {row[0]: row[1] for row in picture.tables[0].rows}[column.replace("_", " ")] == str(
            len(getattr(decision.sets, column))
        )


# Hints and merge


def hints_of(resource: str, count: int, numas: int, request: int, used: set[int]) -> ResourceHints:
    devices = {str(i): Device(str(i), numa_nodes=(i * numas // count,)) for i in range(count)}
    free = frozenset(devices) - {str(i) for i in used}
    return device_hints(resource, request, devices, free, tuple(range(numas)))


def policies(resources: list[ResourceHints], numas: int) -> list[PolicyDecision]:
    numa = NUMAInfo(tuple(range(numas)))
    answers = [{resource.resource: resource.hints} for resource in resources]
    names = (NONE, BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE)
    return [decide(TopologyManager.new(name, "container", numa), answers) for name in names]


@pytest.mark.parametrize("numas", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("count", [8, 64])
def test_hints_and_merge_of_any_size(numas: int, count: int) -> None:
    resources = [
        hints_of("cpu", count, numas, 3, {0, 1}),
        hints_of(GPU, count, numas, 2, {0}),
        hints_of(LONG, count, numas, 1, set()),
    ]
    check(hints_picture(resources, range(numas)))
    decisions = policies(resources, numas)
    for decision in decisions:
        check(merge_picture(decision, decisions))


def test_hints_say_why() -> None:
    picture = samples.hints()
    verdicts = ("too few", "★ preferred", "not preferred")
    said = [m.text for m in picture.marks if isinstance(m, Text) and m.text in verdicts]
    assert said == [*verdicts, *verdicts]


def test_hints_that_are_none_say_which_kind_of_none() -> None:
    null = device_hints("a.com/null", 1, {"x": Device("x")}, frozenset("x"), (0, 1))
    empty = hints_of("a.com/empty", 2, 2, 3, set())
    said = texts(hints_picture([null, empty], (0, 1)))
    assert "no hint (null)" in said
    assert "no hint ([])" in said


def test_the_best_permutation_of_the_trial_is_the_merge() -> None:
    resources = [hints_of("cpu", 16, 2, 6, {0, 1, 2, 3, 4, 8, 9}), hints_of(GPU, 8, 2, 2, {0, 2, 3, 6})]
    for decision in policies(resources, 2)[1:]:
        assert decision.merge is not None
        best = [tried for tried in try_permutations(decision.merge) if tried.best]
        assert best[-1].permutation.merged == decision.merge.hint


def test_steps_show_no_more_than_was_tried() -> None:
    resources = [hints_of("cpu", 16, 2, 6, {0, 1, 2, 3, 4, 8, 9}), hints_of(GPU, 8, 2, 2, {0, 2, 3, 6})]
    decision = policies(resources, 2)[2]
    for step in range(5):
        picture = merge_picture(decision, step=step)
        check(picture)
        told = [
            m
            for m in picture.marks
            if isinstance(m, Text) and m.key.startswith("permutation/") and m.key.endswith("/last/0")
        ]
        assert len(told) == step


def test_too_many_permutations_are_counted_not_tried() -> None:
    resources = [hints_of(f"a.com/{i}", 8, 8, 1, set()) for i in range(4)]
    decision = policies(resources, 8)[1]
    assert decision.merge is not None
    assert permutation_count(decision.merge.filtered) == 4_228_250_625 > MOST_PERMUTATIONS
    picture = merge_picture(decision)
    assert "4,228,250,625 permutations" in texts(picture)
    assert "Kubernetes would need minutes; we do not." in texts(picture)


# NUMA board


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([1, 2, 3, 4, 8]),
    st.sampled_from([0, 1, 8, 64]),
    st.sampled_from([0, 1, 8]),
    st.booleans(),
    st.integers(0, 255),
    st.lists(st.sampled_from([(), (0,), (0, 1)]), max_size=8),
)
def test_boards_of_any_size(
    numas: int, cpus: int, devices: int, memory: bool, mask: int, loose: list[tuple[int, ...]]
) -> None:
    nodes = tuple(
        NumaNodeView(
            node,
            node // 2,
            tuple(CpuView(node * cpus + i, "web" if i % 3 else "") for i in range(cpus)),
            (5 << 30, 64 << 30) if memory else None,
        )
        for node in range(numas)
    )
    listed = (
        [DeviceView(f"d{i}", (i // devices,), i % 5 > 0) for i in range(devices * numas)] if devices else []
    )
    listed += [DeviceView(f"x{i}", tuple(n for n in numa if n < numas)) for i, numa in enumerate(loose)]
    resources = (ResourceView(GPU, 1, 1, tuple(listed)), ResourceView(LONG, 1, 1))
    check(numa_picture(NumaBoard(nodes, resources, mask)))


def test_the_mask_is_laid_over_its_nodes() -> None:
    picture = samples.numa_board()
    assert [m.key for m in picture.marks if isinstance(m, Box) and m.look == "mask"] == ["numa/1"]
    assert "Affinity mask {1}: NUMA 1 has 6 CPUs, 3 example.com/gpu free." in picture.sentence


# Registration


@pytest.mark.parametrize(("before", "event"), list(PLUGIN_PHASES))
def test_every_transition_of_the_table_can_be_drawn(before: str, event: str) -> None:
    after = PLUGIN_PHASES[before, event]  # type: ignore[index]
    picture = registration_picture(RegistrationState(after, before, event))  # type: ignore[arg-type]
    check(picture)
    assert [m.text for m in picture.marks if isinstance(m, Pill)] == [event]
    lit = [m.key for m in picture.marks if isinstance(m, Box) and m.look == "lit"]
    assert [key.rpartition("/")[2] for key in lit if key.rpartition("/")[2] == after]
    assert any(m.key == "moved/way" for m in picture.marks) is (before != after)


def test_the_diagram_has_the_ways_of_the_table_and_no_other() -> None:
    picture = registration_picture(RegistrationState("absent"))
    drawn = {m.key.partition("/way/")[2] for m in picture.marks if isinstance(m, Line) and "/way/" in m.key}
    assert drawn == {f"{a}/{b}" for (a, _), b in PLUGIN_PHASES.items() if a != b}


@given(st.integers(0, 30), st.sampled_from([("plugin", "kubelet"), ("new plugin", "plugin", "kubelet")]))
@settings(max_examples=20, deadline=None)
def test_sequences_of_any_length(count: int, parties: tuple[str, ...]) -> None:
    calls = tuple(
        SequenceCall(parties[i % 2], parties[1 - i % 2], "Register" * (i % 9), LONG * (i % 3), error=i % 4 == 0)
        for i in range(count)
    )  # fmt: skip
    check(registration_picture(RegistrationState("connected", calls=calls, parties=parties)))


# ListAndWatch


def test_absent_is_not_zero() -> None:
    absent = timeline_picture(Timeline(GPU, 10, samples=(Sample(0, None, None),)))
    zero = timeline_picture(Timeline(GPU, 10, samples=(Sample(0, 0, 0),)))
    assert "capacity absent" in absent.sentence
    assert "capacity 0" in zero.sentence
    check(absent)
    check(zero)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([0, 1, 8, 64, 512]),
    st.sampled_from([1, 2, 8]),
    st.lists(st.tuples(st.floats(0, 500), st.integers(0, 64), st.integers(0, 64)), max_size=6),
    st.floats(0, 100_000),
    st.booleans(),
)
def test_timelines_of_any_size(
    count: int, numas: int, numbers: list[tuple[float, int, int]], more: float, stopped: bool
) -> None:
    devices = tuple(DeviceView(str(i), (i * numas // max(count, 1),), i % 3 > 0) for i in range(count))
    chosen = tuple(Sample(*number) for number in sorted(numbers))
    now = max([s.at for s in chosen], default=0) + more
    messages = tuple((s.at, f"{s.capacity} devices") for s in chosen)
    timeline = Timeline(GPU, now, devices, chosen, messages, (now / 2,) if stopped else ())
    check(timeline_picture(timeline))


# Pod arithmetic


def pod(init: list[tuple[str, str, bool]], containers: list[tuple[str, str]], overhead: str = "0") -> Pod:
    def one(name: str, cpu: str, sidecar: bool = False) -> dict[str, object]:
        more = {"restartPolicy": "Always"} if sidecar else {}
        return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "initContainers": [one(*each) for each in init],
        "containers": [one(*each) for each in containers],
        "overhead": {"cpu": overhead},
    }
    return Pod.parse({"metadata": {"name": "p"}, "spec": spec})


def test_the_syllabus_pod_needs_four() -> None:
    """Init 4, init 1, sidecar 1, app 2."""
    arithmetic = pod_arithmetic(pod([("a", "4", False), ("b", "1", False), ("s", "1", True)], [("app", "2")]))
    assert [str(moment.total) for moment in moments(arithmetic, "cpu")] == ["4", "1", "3"]


amounts = st.sampled_from(["0", "10m", "1", "2500m", "64"])
pod_names = st.sampled_from(["app", "a-container-with-a-rather-long-name"])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(pod_names, amounts, st.booleans()), max_size=8),
    st.lists(st.tuples(pod_names, amounts), min_size=1, max_size=6),
    amounts,
)
def test_no_moment_exceeds_the_request(
    init: list[tuple[str, str, bool]], containers: list[tuple[str, str]], overhead: str
) -> None:
    made = pod(init, containers, overhead)
    arithmetic = pod_arithmetic(made)
    picture = arithmetic_picture(arithmetic, "cpu", compute_pod_qos(made))
    check(picture)
    zero = arithmetic.total["cpu"] - arithmetic.total["cpu"]
    highest = max(
        (moment.total for moment in moments(arithmetic, "cpu")), key=lambda total: total.milli_value()
    )
    assert highest + arithmetic.overhead.get("cpu", zero) == arithmetic.total["cpu"]


# All of them


@pytest.mark.parametrize(
    "name", ["hints", "merge", "numa_board", "allocation_sets", "list_and_watch", "registration"]
)
def test_the_same_decision_gives_the_same_bytes(name: str) -> None:
    assert document(getattr(samples, name)()) == document(getattr(samples, name)())


def test_device_states_are_drawn_with_their_marks() -> None:
    marks = samples.allocation_sets().marks
    states = {m.state for m in marks if isinstance(m, Cell) and m.key.startswith("row/")}
    assert states == {DeviceState.FREE, DeviceState.ALLOCATED, DeviceState.UNHEALTHY}


def test_figures_have_a_size_and_their_colours() -> None:
    timeline = Timeline(GPU, 10, samples=(Sample(0, 8, 8),), messages=((1.0, "8 devices"),), stops=(5.0,))
    for figure in (
        timeline_figure(timeline),
        hints_figure([hints_of(GPU, 64, 8, 9, set(range(30)))]),
    ):
        layout = figure.to_dict()["layout"]
        assert layout["width"] >= 600
        assert layout["height"] >= 200
        assert layout["paper_bgcolor"].startswith("#")
        assert layout["font"]["size"] >= 14
        assert len(figure.to_json()) < 60_000


def test_a_timeline_figure_ends_now() -> None:
    timeline = Timeline(GPU, 10, samples=(Sample(0, 8, 8), Sample(4, 8, 7)))
    lines = timeline_figure(timeline).to_dict()["data"]
    assert list(lines[1]["x"]) == [0, 4, 10]
    assert list(lines[1]["y"]) == [8, 7, 7]
    assert list(timeline_figure(replace(timeline, now=20)).to_dict()["data"][1]["x"])[-1] == 20


def test_b43_a_tray_of_34_nodes_is_drawn_with_counts_and_says_that_kubernetes_would_not_answer() -> None:
    devices = {f"d{i}": Device(f"d{i}", numa_nodes=(i % 34,)) for i in range(40)}
    hints = [
        device_hints(f"example.com/r{i}", request, devices, frozenset(devices), range(34))
        for i, request in enumerate((1, 3))
    ]
    assert (
        "17,179,869,183 hints on 34 NUMA nodes, preferred: {0} {1}"
        in hints_picture(hints, range(34)).sentence
    )
    numa, options = NUMAInfo(tuple(range(34))), {"max-allowable-numa-nodes": "34"}
    decision = decide(
        TopologyManager.new(BEST_EFFORT, "container", numa, options), [{h.resource: h.hints} for h in hints]
    )
    picture = merge_picture(decision)
    assert any("Kubernetes would not answer" in getattr(mark, "text", "") for mark in picture.marks)
