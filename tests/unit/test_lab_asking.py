"""What lab 01 shows: pods as they are written, limits as the kernel keeps them, quantities as rows."""

import pytest

from kubedev.api.manifests import load
from kubedev.api.requests import pod_requests
from kubedev.kubelet.pressure.two_limits import Wants, against_limits
from kubedev.lab import pods
from kubedev.lab.pods import as_in_2021, container, life, manifest, quantities
from kubedev.views.limits import limits_picture
from kubedev.views.picture import Band, Line, Picture, Text
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
        run = against_limits(Wants(periods=drawn), limit, "none")
        assert sum(run.ran) == min(1200, 1200 / periods * drawn)
        assert run.done == periods * 100
        assert run.free == 300
        assert run.killed is None


@pytest.mark.parametrize(("limit", "killed"), [("64Mi", 1), ("256Mi", 4), ("511Mi", 7), ("512Mi", None)])
def test_e6_a_memory_limit_kills(limit: str, killed: int | None) -> None:
    run = against_limits(Wants(), "none", limit)
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
    assert against_limits(Wants(), limit, "none").done == done
    picture = pods.draw_limits(limit, "none")
    assert f"the work takes {done} ms" in picture.sentence
    drawn = "Only the first 1600 ms are drawn"
    assert (drawn in picture.sentence) is cut
    assert any(isinstance(mark, Text) and drawn in mark.text for mark in picture.marks) is cut


@pytest.mark.parametrize(
    ("wants", "wall", "said", "cut"),
    [
        (Wants(peak=4096, periods=16), "2Gi", "at 2112 MiB, after 3300 ms, the container is killed", True),
        (Wants(peak=4096, periods=16), "none", "4096 MiB are used at the peak", True),
        (Wants(peak=512, periods=4), "none", "512 MiB are used at the peak", True),
        (Wants(peak=512), "256Mi", "at 320 MiB, after 500 ms, the container is killed", False),
        (Wants(peak=512), "512Mi", "512 MiB are used at the peak", False),
        (Wants(peak=512), "0", "512 MiB are used at the peak", False),
    ],
)
def test_s2_the_sentence_about_memory_is_not_about_what_is_drawn(
    wants: Wants, wall: str, said: str, cut: bool
) -> None:
    run = against_limits(wants, "none", wall)
    assert said in limits_picture(run).sentence
    assert run.cut is cut


Amounts = dict[str, str | int]


def shown(requests: Amounts, limits: Amounts, *, api_server: bool, init: bool = False) -> Picture:
    inits = [container("init", requests, limits)] if init else []
    return pods.draw(pods.pod(container("app", requests, limits), init=inits), api_server=api_server)


@pytest.mark.parametrize(
    ("requests", "limits", "refusal"),
    [
        (
            {"cpu": 1},
            {"cpu": 0},
            'requests: Invalid value: "1": must be less than or equal to cpu limit of 0',
        ),
        ({"nvidia.com/gpu": 1}, {}, "Limit must be set for non overcommitable resources"),
        ({"cpu": 0}, {"cpu": 1}, ""),
        ({}, {"nvidia.com/gpu": 1}, ""),
    ],
)
def test_s4_a_pod_that_the_api_server_refuses_is_not_drawn(
    requests: Amounts, limits: Amounts, refusal: str
) -> None:
    picture = shown(requests, limits, api_server=True)
    check_picture(picture)
    assert picture.title == ("The API server refuses this pod" if refusal else "What the pod asks for: cpu")
    assert refusal in picture.sentence
    assert ("QoS class" in picture.sentence) is True
    told = " ".join(mark.text for mark in picture.marks if isinstance(mark, Text))
    assert refusal in told.replace("\n", " ")
    assert not any(name in told for name in ("Burstable", "BestEffort")) or not refusal
    assert shown(requests, limits, api_server=False).title == "What the pod asks for: cpu"


def test_a_pod_as_text_is_the_pod() -> None:
    written = container("app", {"cpu": "500m"}, {"nvidia.com/gpu": 1, "cpu": 1})
    init = [container("load", cpu=2), container("log", sidecar=True, cpu="100m")]
    (read,) = load(manifest(written, init=init, name="web")).pods
    assert (read.name, read.containers[0].requests["cpu"]) == ("web", written.requests["cpu"])
    assert [c.restartable for c in read.init_containers] == [False, True]
    assert pod_requests(read)["cpu"].milli_value() == 2000


def test_quantities_that_are_none_say_so_in_their_row() -> None:
    rows = quantities("100m", "a lot").rows
    assert rows[0][:3] == ("100m", "0.100", "100")
    assert rows[1][1].startswith("quantities must match the regular expression")


def test_the_pictures_of_lab_01() -> None:
    check_picture(pods.draw_life(6, 1, 2, 3))
    check_picture(pods.draw_life(0, 0, 0, 0))
    compared = pods.side_by_side({f"pod {n}": life(n, 8, 1, n, n % 3) for n in range(4)})
    check_picture(compared.picture)
    for cpu in ("none", "250m", "16"):
        check_picture(pods.draw_limits(cpu, "64Mi", threads=8))
    for parts in ({}, {"cpu": 0}, {"cpu": "1000m", "memory": "1024Mi"}, {"nvidia.com/gpu": 1}):
        check_picture(shown(parts, parts, api_server=False, init=True))


def test_s3_the_scale_stays_and_the_line_moves() -> None:
    """The bar of the app is as high as before, whatever the init container asks for."""
    heights = set()
    for first in (0, 4, 6):
        bars = [m for m in pods.draw_life(first, 1, 2, 3).marks if isinstance(m, Band)]
        heights.add(next(m.height for m in bars if m.tooltip == "app 3"))
    assert len(heights) == 1
    lines = {
        m.points
        for first in (4, 5, 6)
        for m in pods.draw_life(first, 1, 2, 3).marks
        if m.key.endswith("/limit")
        if isinstance(m, Line)
    }
    assert len(lines) == 3
    ran = {
        m.height
        for threads in (2, 8)
        for m in pods.draw_limits("1", "none", threads).marks
        if isinstance(m, Band) and "ran 100 of" in m.tooltip and not m.outlined
    }
    assert len(ran) == 1
