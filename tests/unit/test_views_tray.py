"""The picture of a pod's admission, at any size and at every turn; and the container's role in the graph."""

import pytest

from kubedev.api.objects import Container, Pod
from kubedev.lab import Lab, Machine, holdings, pods
from kubedev.views.picture import Picture, Text
from kubedev.views.tray import tray_multiples
from tests.unit.picture_checks import problems

GPU = "example.com/gpu"


def web(count: int) -> tuple[Machine, Pod]:
    def asks(name: str, number: int, sidecar: bool = False) -> Container:
        return pods.container(name, {GPU: number}, {GPU: number}, sidecar)

    inits = [asks("load", count // 2), asks("proxy", count // 4, True), asks("check", count // 2)]
    return Machine.of(1, gpu=count), pods.pod(asks("app", count // 4), init=inits, name="web")


def texts(picture: Picture) -> list[str]:
    return [mark.text for mark in picture.marks if isinstance(mark, Text)]


@pytest.mark.parametrize("count", [4, 8, 64])
@pytest.mark.parametrize("step", range(5))
def test_nothing_overlaps_or_is_cut(count: int, step: int) -> None:
    picture = holdings.draw(*web(count), step)
    assert problems(picture) == []
    assert not any("…" in text for text in texts(picture))
    assert picture.height <= 450 or count == 64


@pytest.mark.parametrize("count", [8, 64])
def test_multiples_are_whole(count: int) -> None:
    case = holdings.told(*web(count))
    picture = tray_multiples({"one": case, "two": case, "three": case})
    assert problems(picture) == []
    assert len(picture.tables[0].rows) == 12


def test_a_refused_container_says_why_and_nobody_runs() -> None:
    machine, pod = web(8)
    picture = holdings.draw(machine.taken("d0 d1 d2"), pod)
    said = " ".join(texts(picture))
    assert "requested number of devices unavailable" in said
    assert "never runs; its record is left" in said
    assert "goes on running" not in said
    assert "The records hold" not in said


def test_without_the_tray_nothing_tells_of_it() -> None:
    picture = holdings.draw(*web(8), 2, tray=False)
    assert "tray" not in " ".join([picture.sentence, *texts(picture)])
    assert picture.tables == ()


def test_what_a_pod_asks_for_in_the_log_is_what_the_scheduler_counts() -> None:
    with Lab("asks", nodes=1, transport="memory") as lab:
        lab.plugin(GPU, devices=2, numa=1)
        one = pods.container("app", {}, {GPU: 2})
        lab.apply(pods.manifest(one, init=[pods.container("load", {}, {GPU: 1})], name="web"))
        assert "pod web example.com/gpu: 2" in repr(lab.log())


def test_the_graph_knows_what_a_container_is_in_its_pod() -> None:
    with Lab("roles", nodes=1, transport="memory") as lab:
        lab.plugin(GPU, devices=8, numa=1)
        _, pod = web(8)
        lab.apply(pods.manifest(*pod.containers, init=pod.init_containers, name="web"))
        roles = {
            name: lab.graph().nodes[f"container web {name}"]["role"]
            for name in ("load", "proxy", "check", "app")
        }
        assert roles == {"load": "init", "proxy": "sidecar", "check": "init", "app": "app"}
