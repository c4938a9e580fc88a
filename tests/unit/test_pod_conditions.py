"""The conditions that a kubelet writes of its pods, with their times; and pods that it knows alone."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from kubedev.api.objects import Pod
from kubedev.api.podresources import ListPodResourcesRequest, ListPodResourcesResponse
from kubedev.kubelet import events as k
from kubedev.lab.session import Lab
from tests.unit.node_world import GPU, World, container, pod

SANDBOX = "PodReadyToStartContainers"
OWN = (SANDBOX, "Initialized", "Ready", "ContainersReady", "PodScheduled")


def told(effects: list[k.Effect]) -> dict[str, tuple[str, str, str]]:
    """The conditions of the last status."""
    last = [effect for effect in effects if isinstance(effect, k.PodStatus)][-1]
    assert [c.type for c in last.conditions] in ([], list(OWN))
    return {c.type: (c.status, c.reason, c.message) for c in last.conditions}


def all_true() -> dict[str, tuple[str, str, str]]:
    return dict.fromkeys(OWN, ("True", "", ""))


def unready(*names: str) -> tuple[str, str, str]:
    return "False", "ContainersNotReady", f"containers with unready status: [{' '.join(names)}]"


def test_n06_a_pod_becomes_ready_container_by_container() -> None:
    world = World()
    init, side = container("init"), container("side", "Always")
    wanted = replace(pod("p", container("a"), container("b"), init=(init, side)), restart_policy="OnFailure")
    waits = told(world.feed(k.PodBound(wanted)))
    incomplete = "containers with incomplete status: [init side]"
    assert waits == {
        SANDBOX: ("True", "", ""),
        "Initialized": ("False", "ContainersNotInitialized", incomplete),
        "Ready": unready("side", "a", "b"),
        "ContainersReady": unready("side", "a", "b"),
        "PodScheduled": ("True", "", ""),
    }
    assert told(world.feed(k.ContainerExited("p", "init", 0))) == all_true()
    half = all_true() | {"Ready": unready("a"), "ContainersReady": unready("a")}
    assert told(world.feed(k.ContainerExited("p", "a", 0))) == half
    over = told(world.feed(k.ContainerExited("p", "b", 0)))
    assert over == {
        SANDBOX: ("False", "", ""),
        "Initialized": ("True", "PodCompleted", ""),
        "Ready": ("False", "PodCompleted", ""),
        "ContainersReady": ("False", "PodCompleted", ""),
        "PodScheduled": ("True", "", ""),
    }


def test_n06_a_pod_that_fails_was_initialized_and_is_not_ready() -> None:
    world = World()
    world.feed(k.PodBound(replace(pod("p", container("a")), restart_policy="Never")))
    failed = told(world.feed(k.ContainerExited("p", "a", 3)))
    assert failed["Initialized"] == ("True", "", "")
    assert failed["Ready"] == failed["ContainersReady"] == ("False", "PodFailed", "")


def test_n06_a_container_that_is_held_back_is_not_ready() -> None:
    world = World()
    world.feed(k.PodBound(pod("p", container("a"), container("b"))))
    world.feed(k.ContainerExited("p", "a", 1))
    again = told(world.feed(k.ContainerExited("p", "a", 1)))
    assert (again["Ready"], again["Initialized"]) == (unready("a"), ("True", "", ""))


def test_n06_a_pod_that_the_kubelet_refuses_has_no_condition_of_the_kubelets() -> None:
    world = World()
    world.plugin(1)
    assert told(world.feed(k.PodBound(pod("p", gpu=2)))) == {}


def test_n06_nobody_sets_the_condition_of_a_readiness_gate() -> None:
    world = World()
    gate = {"spec": {"readinessGates": [{"conditionType": "example.com/ready"}]}}
    gated = told(world.feed(k.PodBound(replace(pod("p", container("a")), manifest=gate))))
    text = 'corresponding condition of pod readiness gate "example.com/ready" does not exist.'
    assert gated == all_true() | {"Ready": ("False", "ReadinessGatesNotReady", text)}


# As the API server has them


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab("conditions", nodes=1, transport="memory") as lab:
        yield lab


def manifest(count: int) -> str:
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: web}}
spec:
  containers: [{{name: main, image: i, resources: {{limits: {{{GPU}: {count}}}}}}}]
"""


def times(found: Pod) -> dict[str, tuple[str, float | None]]:
    return {c.type: (c.status, c.last_transition_time) for c in found.conditions}


def test_n06_times_of_conditions_change_with_their_status_only(lab: Lab) -> None:
    lab.advance(5)
    lab.apply(manifest(1))
    assert times(lab.pod("web")) == {"PodScheduled": ("False", 5)}
    lab.advance(5)
    lab.plugin(GPU, 1)
    at = lab.state.now
    assert times(lab.pod("web")) == dict.fromkeys(OWN, ("True", at))
    assert lab.pod("web").start_time == at
    lab.advance(5)
    lab.restart_kubelet()
    assert times(lab.pod("web")) == dict.fromkeys(OWN, ("True", at))
    assert lab.pod("web").start_time == at


def test_n06_what_others_wrote_stays(lab: Lab) -> None:
    lab.apply(manifest(0))
    lab.taint("out:NoExecute")
    steps = (lab.history[step].state.store.pods.values() for step in range(len(lab.history)))
    found = [p for pods in steps for p in pods if "DisruptionTarget" in times(p)]
    assert found, "the pod was evicted"
    assert set(times(found[-1])) == {*OWN, "DisruptionTarget"}


# Deleted by force


class Slow(World):
    """A runtime whose containers end only when the test says so."""

    def _carry_out(self, effect: k.Effect) -> list[k.KubeletEvent]:
        return [] if isinstance(effect, k.StopContainer) else super()._carry_out(effect)


def listed(world: World) -> list[str]:
    (reply,) = world.feed(k.PodResourcesAsked(1, ListPodResourcesRequest()))
    assert isinstance(reply, k.PodResourcesReply)
    assert isinstance(reply.answer, ListPodResourcesResponse)
    return [found.name for found in reply.answer.pod_resources]


@pytest.mark.parametrize("grace", [True, False])
def test_n05_a_pod_that_was_removed_holds_no_device_while_its_containers_end(grace: bool) -> None:
    world = Slow()
    world.plugin(1)
    world.admit(pod("old", gpu=1))
    if grace:
        world.feed(k.PodDeleted("old"))
        assert listed(world) == ["old"]
        assert world.admit(pod("early", gpu=1))[0] == "Failed", "a pod that ends in peace holds its devices"
        world.feed(k.PodDeleted("early"))
    world.feed(k.PodRemoved("old"))
    assert listed(world) == []
    assert world.admit(pod("new", gpu=1)) == ("Running", "")
    assert (world.held_by("old"), world.held_by("new")) == (None, {"d0"})
    assert world.kubelet.pods["old"].running == {"c"}
    world.feed(k.ContainerExited("old", "c", 137))
    assert list(world.kubelet.pods) == ["new"]


def test_n05_a_pod_is_removed_once() -> None:
    world = Slow()
    world.admit(pod("old"))
    assert world.feed(k.PodRemoved("old")) == [k.StopContainer("old", "c")]
    assert world.feed(k.PodRemoved("old")) == [], "it is going already"
    assert world.feed(k.PodRemoved("unknown")) == []
