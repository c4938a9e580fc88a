"""The picture of the path: everything there, nothing overlapping, whatever the state."""

from dataclasses import replace
from typing import get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from kubedev.views.document import document
from kubedev.views.path import path_picture
from kubedev.views.path_state import (
    ContainerView,
    DeviceView,
    MessageView,
    NodeView,
    PartyName,
    PathControls,
    PathMode,
    PathState,
    PluginView,
    PodView,
    ResourceView,
)
from kubedev.views.picture import Box, Cell, Control, Panel, Picture, Pill, Text
from kubedev.views.samples import sample_path
from kubedev.views.style import DeviceState
from tests.unit.picture_checks import problems

CONTROLS = PathControls(("one-gpu", "two-resources"), "one-gpu")
LONG = "a-training-job-with-a-name-of-sixty-characters-abcdefghijklm"
PENDING = (
    "0/2 nodes are available: 2 Insufficient nvidia.com/gpu. preemption: 0/2 nodes are available: "
    "2 No preemption victims found for incoming pod."
)


def texts(picture: Picture) -> list[str]:
    return [mark.text for mark in picture.marks if isinstance(mark, Text)]


def cells(picture: Picture) -> list[Cell]:
    return [mark for mark in picture.marks if isinstance(mark, Cell) and mark.key.startswith("device/")]


def test_the_sample_is_in_order() -> None:
    picture = path_picture(sample_path())
    assert problems(picture) == []
    assert picture.sentence == (
        "Step 15 of 18: the kubelet asks the plugin to prepare device 2 for pod trainer"
    )
    assert "gpu-node-1" in picture.alt


def test_the_devices_are_drawn_as_they_are() -> None:
    states = {mark.label: mark.state for mark in cells(path_picture(sample_path()))}
    assert states["0"] is DeviceState.ALLOCATED
    assert states["3"] is DeviceState.FREE
    assert states["4"] is DeviceState.UNHEALTHY
    assert len(states) == 8


def test_the_message_under_way_is_lit() -> None:
    picture = path_picture(sample_path())
    pills = [mark for mark in picture.marks if isinstance(mark, Pill)]
    assert [pill.text for pill in pills] == ["Allocate [2]"]
    assert pills[0].start is not None
    lit = {mark.key for mark in picture.marks if isinstance(mark, Box) and mark.look == "lit"}
    assert lit == {"plugin/example.com/gpu/example-gpu.sock", "box/kubelet"}


def test_a_quiet_moment_lights_nothing() -> None:
    picture = path_picture(replace(sample_path(), quiet=True))
    assert not [m for m in picture.marks if isinstance(m, Pill) or (isinstance(m, Box) and m.look == "lit")]


def test_every_message_between_parties_that_are_drawn_has_a_way() -> None:
    drawn = [
        ("you", "store"), ("store", "scheduler"), ("scheduler", "store"), ("store", "kubelet"),
        ("kubelet", "store"), ("plugin", "kubelet"), ("kubelet", "plugin"), ("kubelet", "container"),
        ("container", "kubelet"), ("kubelet", "kubelet"), ("scheduler", "scheduler"), ("you", "plugin"),
        ("you", "kubelet"), ("plugin", "plugin"), ("container", "container"), ("you", "you"),
    ]  # fmt: skip
    state = sample_path()
    for source, target in drawn:
        about = "example.com/gpu" if "plugin" in (source, target) else "web"
        message = MessageView(16, source, target, "a text", "label", about=about)  # type: ignore[arg-type]
        picture = path_picture(replace(state, messages=(*state.messages, message)))
        said = [m.text for m in picture.marks if isinstance(m, Pill)]
        assert said in (["a text"], ["label"]) or "container" in (source, target), (source, target)
        assert said, (source, target)
        assert problems(picture) == []


def test_a_pending_pod_says_why_in_full() -> None:
    pods = (*sample_path().pods, PodView("greedy", "Pending", message=PENDING))
    picture = path_picture(replace(sample_path(), pods=pods, focus="greedy"))
    assert problems(picture) == []
    said = " ".join(m.text for m in picture.marks if isinstance(m, Text) and m.key.startswith("pods/detail"))
    assert said == PENDING


def test_s20_no_reason_is_cut_at_any_width() -> None:
    pods = (*sample_path().pods, PodView(LONG, "Pending", reason="Unschedulable", message=PENDING))
    for width in (1080.0, 700.0):
        picture = path_picture(replace(sample_path(), pods=pods, focus=LONG), width)
        assert problems(picture) == []
        assert not [text for text in texts(picture) if "…" in text]


def test_a_narrow_column_has_the_pods_below() -> None:
    def place(width: float) -> tuple[float, float]:
        panels = {m.key: (m.x, m.y) for m in path_picture(sample_path(), width).marks if isinstance(m, Panel)}
        return next(where for key, where in panels.items() if where[0] > 700 or where[1] > 300)

    assert place(1080.0)[0] > 700
    assert place(700.0)[1] > 300


def test_the_stage_has_room_for_eight_devices_and_a_pod() -> None:
    state = replace(sample_path(), pods=sample_path().pods[:1], focus="", controls=CONTROLS)
    title_and_sentence, transport_and_folds = 62, 12 + 78 + 28
    assert title_and_sentence + path_picture(state).height + transport_and_folds <= 560


def test_controls_stand_in_what_they_act_on() -> None:
    picture = path_picture(replace(sample_path(), controls=CONTROLS, focus=""))
    boxes = {m.key: m for m in picture.marks if isinstance(m, Box)}
    controls = {m.key: m for m in picture.marks if isinstance(m, Control)}
    places = dict.fromkeys(("apply", "paste", "sample"), "box/you")
    places |= {
        "kill/example.com/gpu": "plugin/example.com/gpu/example-gpu.sock",
        "restart_kubelet": "box/kubelet",
    }
    for name, key in places.items():
        box, control = boxes[key], controls[f"control/{name}"]
        assert box.x < control.x
        assert control.x + control.width < box.x + box.width
        assert box.y < control.y
        assert control.y + control.height < box.y + box.height
    assert {f"control/delete/{pod}" for pod in ("web", "trainer")} <= controls.keys()
    device = next(m for m in cells(picture) if m.label == "4")
    assert dict(device.action) == {  # type: ignore[arg-type]
        "do": "set_health", "node": "gpu-node-1", "resource": "example.com/gpu", "device": "4", "healthy": True,
    }  # fmt: skip


def test_s10_pod_container_and_node_are_told_apart() -> None:
    first, other = sample_path().nodes
    three = tuple(ContainerView("web", name, 4242) for name in ("main", "log", "proxy"))
    devices = tuple(DeviceView(f"d{i}", (0,), owner="web", container=c.name) for i, c in enumerate(three))
    here = replace(first, containers=three, resources=(ResourceView("example.com/gpu", 3, 3, devices),))
    pods = tuple(
        PodView(name, "Running", node)
        for name, node in (("web", first.name), ("a", other.name), ("b", other.name))
    )
    there = MessageView(16, "kubelet", "store", "capacity 4", "status", node=other.name)
    state = replace(
        sample_path(),
        nodes=(here, other),
        pods=pods,
        messages=(*sample_path().messages, there),
        node=first.name,
    )
    picture = path_picture(state)
    assert problems(picture) == []
    said = texts(picture)
    assert said.count("pod web") == 3
    assert {"main", "log", "proxy"} <= set(said)
    assert said.count(other.name) >= 2  # where a and b are
    assert any(text.startswith("cpu-node-2:") for text in said)
    assert picture.sentence.endswith("(cpu-node-2)")
    tips = {m.tooltip for m in cells(picture)}
    assert "d1: allocated to web/log, NUMA 0" in tips
    rows = picture.tables[0].rows
    assert ("gpu-node-1", "example.com/gpu", "d2", "0", "Healthy", "web/proxy") in rows


def test_s10_what_a_deleted_pod_still_holds_is_explained() -> None:
    first = sample_path().nodes[0]
    device = DeviceView("d0", (0,), owner="deleted pod", gone=True)
    node = replace(first, resources=(ResourceView("example.com/gpu", 1, 1, (device,)),))
    picture = path_picture(replace(sample_path(), nodes=(node,)))
    assert "until the kubelet admits the next pod" in " ".join(texts(picture))
    assert problems(picture) == []


def test_a_fork_says_so() -> None:
    picture = path_picture(replace(sample_path(), mode="fork", forked_at=6))
    assert "fork in memory: no real process" in [m.text for m in picture.marks if isinstance(m, Pill)]


def test_tables_hold_the_same_facts() -> None:
    devices, pods, messages = path_picture(sample_path()).tables
    assert ("gpu-node-1", "example.com/gpu", "4", "1", "Unhealthy", "") in devices.rows
    assert ("trainer", "Pending", "gpu-node-1", "2", "") in pods.rows
    assert messages.rows[-1] == ("15", "kubelet", "plugin", "gpu-node-1", "Allocate [2]")


def test_the_same_state_gives_the_same_bytes() -> None:
    assert document(path_picture(sample_path())) == document(path_picture(sample_path()))


names = st.sampled_from(["web", "trainer", LONG, "p"])
resources = st.lists(
    st.sampled_from(["nvidia.com/gpu", "intel.com/dlb", "example.com/" + LONG]),
    min_size=1,
    max_size=3,
    unique=True,
)


@st.composite
def path_states(draw: st.DrawFn) -> PathState:
    chosen = draw(resources)
    pods = draw(st.lists(names, max_size=10))
    pods = [f"{name}-{index}"[-63:] for index, name in enumerate(pods)]

    def devices(resource: str) -> tuple[DeviceView, ...]:
        numa = draw(st.sampled_from([1, 2, 8]))
        count = draw(st.sampled_from([0, 1, 4, 8, 16, 64]))
        owner = st.sampled_from([*pods, "", ""])
        return tuple(
            DeviceView(f"dev-{i}", (i % numa,), draw(st.booleans()), draw(owner)) for i in range(count)
        )

    node = NodeView(
        draw(names),
        tuple(
            PluginView(r, f"{i}.sock", draw(st.sampled_from([None, 4121])), draw(st.booleans()), True)
            for i, r in enumerate(chosen)
        ),
        tuple(f"{i}.sock" for i in range(draw(st.integers(0, 6)))),
        tuple(ResourceView(r, draw(st.sampled_from([None, 0, 64])), 8, devices(r)) for r in chosen),
        tuple(ContainerView(pod, "main", 4242, draw(st.booleans()), ("X=1", LONG)) for pod in pods),
        draw(st.sampled_from(["", f"admits {LONG}"])),
    )
    phase = st.sampled_from(["Pending", "Running", "Failed"])
    parties = st.sampled_from(get_args(PartyName))
    messages = tuple(
        MessageView(i + 1, draw(parties), draw(parties), draw(st.sampled_from(["Allocate [2]", PENDING])), "bind",
                    about=draw(st.sampled_from([*chosen, *pods])))
        for i in range(draw(st.integers(0, 30)))
    )  # fmt: skip
    return PathState(
        title="A title",
        step=len(messages),
        total=len(messages) + draw(st.integers(0, 80)),
        now=1.5,
        mode=draw(st.sampled_from(get_args(PathMode))),
        nodes=(node, *(NodeView(f"node-{i}-{draw(names)}") for i in range(draw(st.integers(0, 4))))),
        pods=tuple(
            PodView(pod, draw(phase), message=draw(st.sampled_from(["", PENDING])), devices="0, 1")
            for pod in pods
        ),
        messages=messages,
        quiet=draw(st.booleans()),
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(path_states())
def test_nothing_overlaps_or_is_cut_whatever_the_state(state: PathState) -> None:
    picture = path_picture(state)
    assert problems(picture) == []
    document(picture)  # each key once


def test_a_node_in_trouble_says_so() -> None:
    calm = sample_path()
    taint = "node.kubernetes.io/memory-pressure:NoSchedule"
    first, *rest = calm.nodes
    short = replace(first, conditions=("MemoryPressure",), taints=(taint,))
    evicted = PodView("d", "Failed", first.name, "Evicted", "The node was low on resource: memory. ")
    state = replace(calm, nodes=(short, *rest), pods=(*calm.pods, evicted), focus="d")
    picture = path_picture(state)
    assert problems(picture) == []
    said = " ".join(texts(picture))
    assert "condition: MemoryPressure" in said
    assert taint in said
    assert "Evicted: The node was low on resource: memory." in said
    assert "MemoryPressure" not in " ".join(texts(path_picture(calm)))
