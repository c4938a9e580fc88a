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
from kubedev.views.limits import limits_picture
from kubedev.views.picture import Text
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
    for drawn in (30, 16, 1):
        run = against_limits(Hunger(periods=drawn), limit, "none")
        assert sum(run.ran) == min(1200, 1200 / periods * drawn)
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


@pytest.mark.parametrize(
    ("limit", "done", "cut"),
    [("500m", 2400, True), ("1", 1200, False), ("100m", 12000, True), ("1m", 120000, True), ("15m", 80000, True),
     ("250m", 4800, True), ("0", 300, False)],
)  # fmt: skip
def test_s2_work_done_under_a_cpu_limit(limit: str, done: int, cut: bool) -> None:
    assert against_limits(Hunger(), limit, "none").done == done
    picture = draw_against_limits(limit, "none")
    assert f"the work takes {done} ms" in picture.sentence
    drawn = "Only the first 1600 ms are drawn"
    assert (drawn in picture.sentence) is cut
    assert any(isinstance(mark, Text) and drawn in mark.text for mark in picture.marks) is cut


@pytest.mark.parametrize(
    ("hunger", "wall", "said", "cut"),
    [
        (Hunger(peak=4096, periods=16), "2Gi", "at 2112 MiB, after 3300 ms, the container is killed", True),
        (Hunger(peak=4096, periods=16), "none", "4096 MiB are used at the peak", True),
        (Hunger(peak=512, periods=4), "none", "512 MiB are used at the peak", True),
        (Hunger(peak=512), "256Mi", "at 320 MiB, after 500 ms, the container is killed", False),
        (Hunger(peak=512), "512Mi", "512 MiB are used at the peak", False),
        (Hunger(peak=512), "0", "512 MiB are used at the peak", False),
    ],
)
def test_s2_the_sentence_about_memory_is_not_about_what_is_drawn(
    hunger: Hunger, wall: str, said: str, cut: bool
) -> None:
    run = against_limits(hunger, "none", wall)
    assert said in limits_picture(run).sentence
    assert run.cut is cut


@pytest.mark.parametrize(
    ("requests", "limits", "refusal"),
    [
        ("cpu 1", "cpu 0", 'requests: Invalid value: "1": must be less than or equal to cpu limit of 0'),
        ("1 GPU", "nothing", "Limit must be set for non overcommitable resources"),
        ("cpu 0", "cpu 1", ""),
        ("nothing", "1 GPU", ""),
    ],
)
def test_s4_a_pod_that_the_api_server_refuses_is_not_drawn(requests: str, limits: str, refusal: str) -> None:
    picture = draw_qos(requests, limits, "none", api_server=True)
    check_picture(picture)
    assert picture.title == ("The API server refuses this pod" if refusal else "What the pod asks for: cpu")
    assert refusal in picture.sentence
    assert ("QoS class" in picture.sentence) is True
    shown = " ".join(mark.text for mark in picture.marks if isinstance(mark, Text))
    assert refusal in shown
    assert not any(name in shown for name in ("Burstable", "BestEffort")) or not refusal
    assert draw_qos(requests, limits, "none", api_server=False).title == "What the pod asks for: cpu"


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
