"""A pod's way through the kubelet: which container starts and ends when, and what a restart leaves of it."""

from dataclasses import replace

import pytest

from kubedev.api.objects import Container, Pod
from kubedev.kubelet import events as k
from kubedev.kubelet.pods import PodRecord, found_again, outcome, restarting, to_start, to_stop
from tests.unit.node_world import World, container, pod

INIT, SIDE, OTHER = container("init"), container("side", "Always"), container("other", "Always")
MAIN, MORE = container("main"), container("more")


def a_pod(*apps: Container, init: tuple[Container, ...] = (), policy: str = "Always") -> Pod:
    return replace(pod("p", *apps, init=init), restart_policy=policy)


def bound(new: Pod) -> World:
    world = World()
    world.admit(new)
    return world


def exits(world: World, name: str, code: int = 0) -> list[k.Effect]:
    return world.feed(k.ContainerExited("p", name, code))


def started(effects: list[k.Effect]) -> list[str]:
    return [effect.container for effect in effects if isinstance(effect, k.StartContainer)]


def stopped(effects: list[k.Effect]) -> list[str]:
    return [effect.container for effect in effects if isinstance(effect, k.StopContainer)]


def statuses(effects: list[k.Effect]) -> list[str]:
    return [effect.phase for effect in effects if isinstance(effect, k.PodStatus)]


# Which one is next


def test_init_containers_first_and_sidecars_need_only_run() -> None:
    world = World()
    new = a_pod(MAIN, MORE, init=(SIDE, INIT))
    world.admit(new)
    assert started(world.log) == ["side", "init"]
    assert world.status("p")[0] == "Starting"
    assert sorted(started(exits(world, "init"))) == ["main", "more"]
    assert world.status("p")[0] == "Running"


def test_a_failed_init_container_starts_again_unless_never() -> None:
    world = bound(a_pod(MAIN, init=(INIT,), policy="OnFailure"))
    assert started(exits(world, "init", 1)) == ["init"]
    world = bound(a_pod(MAIN, init=(INIT,), policy="Never"))
    assert statuses(exits(world, "init", 1)) == ["Failed"]


def test_a_pod_is_running_though_its_first_container_has_ended_before_the_last_began() -> None:
    record = PodRecord(a_pod(MAIN, MORE, policy="Never"), "Starting", running=frozenset({"more"}))
    assert outcome(replace(record, exits=(("main", 0),))) is None


def test_a_container_that_is_about_to_start_again_is_no_failure() -> None:
    new = a_pod(MAIN, MORE, policy="OnFailure")
    record = PodRecord(new, "Running", exits=(("main", 1), ("more", 0)), starting=frozenset({"main"}))
    assert outcome(record) is None
    assert outcome(replace(record, exits=(("main", 0), ("more", 0)), starting=frozenset())) is not None


@pytest.mark.parametrize(
    ("policy", "code", "phase"),
    [
        ("Never", 0, "Succeeded"),
        ("Never", 3, "Failed"),
        ("OnFailure", 0, "Succeeded"),
        ("OnFailure", 3, "Running"),
        ("Always", 0, "Running"),
    ],
)
def test_how_a_pod_ends(policy: str, code: int, phase: str) -> None:
    world = bound(a_pod(MAIN, policy=policy))
    again = started(exits(world, "main", code))
    assert world.status("p")[0] == phase
    assert again == (["main"] if phase == "Running" else [])


# Sidecars


def test_sidecars_end_last_and_in_reverse() -> None:
    record = PodRecord(
        a_pod(MAIN, init=(SIDE, OTHER)), "Terminating", running=frozenset({"main", "side", "other"})
    )
    order = []
    while names := to_stop(record):
        order.append(names)
        record = replace(record, running=record.running - set(names))
    assert order == [("main",), ("other",), ("side",)]


def test_a_pod_has_succeeded_when_its_sidecar_has_ended_too() -> None:
    world = bound(a_pod(MAIN, init=(SIDE,), policy="Never"))
    effects = exits(world, "main")  # the world ends what is to stop, the sidecar here
    assert stopped(effects) == ["side"]
    assert statuses(effects) == ["Running", "Succeeded"]
    order = [type(effect).__name__ for effect in effects]
    assert order.index("StopContainer") < len(order) - 1 - order[::-1].index("PodStatus")


def test_a_sidecar_starts_again_whatever_the_policy() -> None:
    world = bound(a_pod(MAIN, init=(SIDE,), policy="Never"))
    assert started(exits(world, "side", 1)) == ["side"]


# Back-off


def test_the_back_off_doubles_up_to_five_minutes() -> None:
    world = bound(a_pod(MAIN))
    waits = []
    for _ in range(8):
        exits(world, "main", 1)
        waited = 0
        while "main" not in world.kubelet.pods["p"].running:
            world.now += 1
            waited += 1
            world.feed(k.NodeStatusDue())
        waits.append(waited)
    assert waits == [0, 10, 20, 40, 80, 160, 300, 300]


def test_a_container_that_ran_for_long_is_not_held_back_any_more() -> None:
    world = bound(a_pod(MAIN))
    for _ in range(2):
        exits(world, "main", 1)
        world.now += 601
        world.feed(k.NodeStatusDue())
    exits(world, "main", 1)
    assert "main" in world.kubelet.pods["p"].running


def test_the_message_of_a_long_back_off() -> None:
    world = bound(a_pod(MAIN))
    for _ in range(5):
        exits(world, "main", 1)
        world.now += 80
        world.feed(k.NodeStatusDue())
    exits(world, "main", 1)
    assert world.status("p")[1] == "back-off 2m40s restarting failed container=main pod=p_default(p)"


def test_a_start_is_counted_for_the_one_that_starts() -> None:
    record = PodRecord(a_pod(MAIN, MORE), "Running")
    assert restarting(record, "main", 0).back_offs == ()
    assert {c.name for c in to_start(record, 0)} == {"main", "more"}


# Restarts


def test_a_kubelet_finds_what_runs_and_what_has_ended() -> None:
    world = bound(a_pod(MAIN, MORE, init=(INIT,), policy="Never"))
    exits(world, "init")
    exits(world, "main")
    before = len(world.log)
    world.restart()
    assert started(world.log[before:]) == []
    assert statuses(world.log[before:]) == ["Running"]
    assert statuses(exits(world, "more")) == ["Succeeded"]


@pytest.mark.parametrize(
    ("policy", "left"),
    [
        ("Always", {}),
        ("OnFailure", {"main": 0}),
        ("Never", {"init": 0, "main": 0, "more": 255}),
    ],
)
def test_what_a_reboot_leaves(policy: str, left: dict[str, int]) -> None:
    new = a_pod(MAIN, MORE, init=(INIT,), policy=policy)
    record = PodRecord(new, "Running", running=frozenset({"more"}), exits=(("init", 0), ("main", 0)))
    found = found_again(record, reboot=True)
    assert (found.running, dict(found.exits)) == (frozenset(), left)


@pytest.mark.parametrize(("policy", "phase"), [("Always", "Running"), ("Never", "Failed")])
def test_a_pod_after_a_reboot(policy: str, phase: str) -> None:
    world = bound(a_pod(MAIN, policy=policy))
    world.restart(reboot=True)
    assert world.status("p")[0] == phase


def test_a_pod_that_is_to_go_goes_on_going() -> None:
    world = bound(a_pod(MAIN, init=(SIDE,)))
    world.pods["p"] = replace(world.pods["p"], deletion_timestamp=1.0)
    before = len(world.log)
    world.restart()
    effects = world.log[before:]
    assert (started(effects), stopped(effects)) == ([], ["main", "side"])
    assert effects[-1] == k.PodTerminated("p")


def test_a_pod_that_had_ended_before_a_restart_can_be_deleted() -> None:
    world = bound(a_pod(MAIN, policy="Never"))
    exits(world, "main")
    world.pods["p"] = replace(world.pods["p"], phase="Succeeded")
    world.restart()
    assert world.feed(k.PodDeleted("p")) == [k.PodTerminated("p")]


def test_a_refused_pod_goes_on_ending_after_a_restart() -> None:
    """Refused by a kubelet that found it running; main has ended, side has not, and the kubelet starts again."""
    world = bound(a_pod(MAIN, init=(SIDE,)))
    refused = replace(world.kubelet.pods["p"], phase="Failed", running=frozenset({"side"}))
    world.kubelet = replace(world.kubelet, pods={"p": refused})
    world.pods["p"] = replace(world.pods["p"], phase="Failed", reason="UnexpectedAdmissionError")
    before = len(world.log)
    world.restart()
    effects = world.log[before:]
    assert (started(effects), stopped(effects), statuses(effects)) == ([], ["side"], [])
    assert world.kubelet.pods["p"].running == frozenset()


def test_a_failed_pod_that_is_to_go_goes_after_a_restart() -> None:
    world = bound(a_pod(MAIN, policy="Never"))
    exits(world, "main", 1)
    world.pods["p"] = replace(world.pods["p"], phase="Failed", deletion_timestamp=1.0)
    before = len(world.log)
    world.restart()
    assert world.log[before:] == [k.PodTerminated("p")]
