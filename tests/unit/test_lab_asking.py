"""What lab 01 shows: pods as they are written, limits as the kernel keeps them, quantities as rows."""

import pytest

from kubedev.api.manifests import load
from kubedev.api.requests import pod_requests
from kubedev.lab.limits_scene import Hunger, against_limits, draw_against_limits
from kubedev.lab.requests_scene import (
    QOS_PARTS,
    as_in_2021,
    container,
    draw_life,
    draw_lives,
    draw_qos,
    life,
    pod_text,
    quantities,
)
from tests.unit.test_views_decisions import check as check_picture


@pytest.mark.parametrize(("sidecar_at", "request_", "then"), [(2, 4, 4), (1, 4, 4), (0, 5, 4)])
def test_c7_a_sidecar_counts_from_its_start(sidecar_at: int, request_: int, then: int) -> None:
    """Init containers of 4 and 1, a sidecar of 1, an app of 2: by hand max(4, 1+s, 3), s where it stands."""
    asked = life(4, 1, 1, 2, sidecar_at)
    assert pod_requests(asked)["cpu"].value() == request_
    assert pod_requests(as_in_2021(asked))["cpu"].value() == then


def test_c7_without_sidecars_what_goes_on_running_is_not_counted() -> None:
    asked = life(1, 1, 3, 2)
    assert pod_requests(asked)["cpu"].value() == 5
    assert pod_requests(as_in_2021(asked))["cpu"].value() == 3


@pytest.mark.parametrize(("limit", "periods"), [("500m", 24), ("1", 12), ("4", 3), ("none", 3), ("8", 3)])
def test_e6_a_cpu_limit_makes_slow(limit: str, periods: int) -> None:
    """1,200 ms of work on four threads: 50, 100 or 400 ms of it in each 100 ms."""
    run = against_limits(Hunger(periods=30), limit, "none")
    assert sum(run.ran) == 1200
    assert run.done == periods * 100
    assert run.free == 300
    assert run.killed is None


@pytest.mark.parametrize(("limit", "killed"), [("64Mi", 1), ("256Mi", 4), ("511Mi", 7), ("512Mi", None)])
def test_e6_a_memory_limit_kills(limit: str, killed: int | None) -> None:
    run = against_limits(Hunger(), "none", limit)
    assert run.killed == killed
    if killed is not None:
        assert run.memory[killed] > (run.memory_limit or 0) >= run.memory[killed - 1]
        assert not any(run.memory[killed + 1 :])


def test_a_pod_as_text_is_the_pod() -> None:
    written = container("app", {"cpu": "500m"}, {"nvidia.com/gpu": 1, "cpu": 1})
    init = [container("load", cpu=2), container("log", sidecar=True, cpu="100m")]
    (read,) = load(pod_text(written, init=init, name="web")).pods
    assert (read.name, read.containers[0].requests["cpu"]) == ("web", written.requests["cpu"])
    assert [c.restartable for c in read.init_containers] == [False, True]
    assert pod_requests(read)["cpu"].milli_value() == 2000


def test_quantities_that_are_none_say_so_in_their_row() -> None:
    rows = quantities("100m", "a lot").rows
    assert rows[0][:3] == ("100m", "0.100", "100")
    assert rows[1][1].startswith("quantities must match the regular expression")


def test_the_pictures_of_lab_01() -> None:
    check_picture(draw_life(6, 1, 2, 3))
    check_picture(draw_life(0, 0, 0, 0))
    check_picture(draw_lives({f"pod {n}": life(n, 8, 1, n, n % 3) for n in range(4)}))
    for cpu in ("none", "250m", "16"):
        check_picture(draw_against_limits(cpu, "64Mi", threads=8))
    for parts in QOS_PARTS:
        check_picture(draw_qos(parts, parts, "like the app", api_server=False))
