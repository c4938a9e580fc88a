"""Lab 10: what its predictions are compared with, what it states, and its exercises, answered rightly and wrongly."""

from collections.abc import Iterator
from typing import Any

import pytest

from kubedev.lab import pods, scheduling
from kubedev.scheduler.extension_points import EXTENSION_POINTS
from kubedev.scheduler.framework import num_feasible_nodes_to_find
from tests.notebooks.exercises import Notebook, answers, read_before

GPU = "nvidia.com/gpu"
RIGHT = answers("10-cycle")


@pytest.fixture
def lab() -> Iterator[Notebook]:
    notebook = Notebook("10-cycle")
    yield notebook
    if "lab" in notebook.names:
        notebook.say("lab.close()")


def facts(gap: Any) -> dict[str, object]:
    return {name: right[0] for name, _, right, _ in gap.rows}


def see(lab: Notebook) -> Any:
    lab.run("see-pod", "see-claim", "see-nodes", "see-more", "see-show")
    return lab.say("scheduling.decide(pod, nodes, storage=data)")


def test_five_of_eight_nodes_are_stopped_each_by_another_filter(lab: Notebook) -> None:
    decision = see(lab)
    stopped = {n: c.status.plugin for n, c in decision.found.checks.items() if not c.status.is_success}
    assert stopped == {
        "n1": "NodeUnschedulable",
        "n2": "TaintToleration",
        "n4": "NodeAffinity",
        "n6": "NodeResourcesFit",
        "n8": "VolumeBinding",
    }


def test_n7_has_the_most_room_and_n5_more_of_what_the_pod_prefers(lab: Notebook) -> None:
    decision = see(lab)
    raw = {
        one.plugin: {name: score.value for name, score in one.raw.items()} for one in decision.scores.plugins
    }
    assert max(raw["NodeResourcesFit"], key=raw["NodeResourcesFit"].__getitem__) == "n7"
    assert raw["NodeAffinity"] == {"n3": 20, "n5": 80, "n7": 20}
    assert raw["TaintToleration"] == {"n3": 1, "n5": 0, "n7": 0}
    assert decision.node_name == "n5"
    for one in decision.scores.plugins:  # what the table shows: weight times what was normalized, added up
        assert all(0 <= value <= 100 for value in one.normalized.values())
    assert decision.scores.totals == {
        name: sum(one.weight * one.normalized[name] for one in decision.scores.plugins)
        for name in ("n3", "n5", "n7")
    }


def test_c5_the_points_of_the_framework_in_their_order(
    lab: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.run("see-points")
    told = [line.split()[0] for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert told == [point.name for point in EXTENSION_POINTS]
    assert told == [
        "PreEnqueue",
        "PreFilter",
        "Filter",
        "PostFilter",
        "PreScore",
        "Score",
        "NormalizeScore",
        "Reserve",
        "Permit",
        "PreBind",
        "Bind",
        "PostBind",
    ]


def test_filters_are_asked_in_kubernetes_order() -> None:
    assert [plugin.name for plugin in scheduling.profile().at("filter")] == [
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
    ]


def test_one_node_that_is_left_is_not_scored() -> None:
    nodes = [scheduling.node("a", {"cpu": 1}), scheduling.node("b", {"cpu": 8})]
    decision = scheduling.decide(pods.pod(pods.container("c", cpu=2)), nodes)
    assert (decision.node_name, decision.scores) == ("b", None)


def test_b58_three_nodes_tie_and_luck_decides_unless_gpus_are_scored(lab: Notebook) -> None:
    lab.run("predict-scene", "predict-most", "predict-pack", "predict-run")
    assert facts(lab.run("predict-gap")) == {
        "the_first_goes_by_default_to": "any of the three",
        "pods_that_wait_by_default": "none or one",
        "pods_that_wait_with_MostAllocated": "none",
    }
    scores = lab.say("scheduling.decide(jobs[0], three, most).scores.plugins")
    fit = next(one for one in scores if one.plugin == "NodeResourcesFit")
    assert fit.normalized == {"a": 50, "b": 50, "c": 100}


def test_pr_103169_a_pod_without_gpus_is_not_scored_by_them(lab: Notebook) -> None:
    lab.run("predict-scene", "predict-most")
    full = scheduling.node("full", {"cpu": 32, GPU: 4}, {GPU: 3})
    other = scheduling.node("other", {"cpu": 32, GPU: 4})
    pod = pods.pod(pods.container("c", cpu=1))
    scores = scheduling.decide(pod, [full, other], lab.names["most"]).scores
    assert scores
    (fit,) = (one for one in scores.plugins if one.plugin == "NodeResourcesFit")
    assert set(fit.normalized.values()) == {0}


def test_a_weight_decides_and_a_widget_of_ones_own_turns_it(lab: Notebook) -> None:
    lab.run("weights-scene", "weights-picture", "weights-link")

    def best() -> list[str]:
        return [
            lab.say(f"scheduling.decide(service, two, scheduling.profile(weighing % {n})).node_name")
            for n in (1, 2, 3)
        ]

    assert best() == ["cold", "warm", "warm"]
    lab.say("mine.value = 2")
    assert lab.say("picture.values") == {"weight": 2}
    lab.say("picture.turn(weight=3)")
    assert lab.say("mine.value") == 3


def test_a_picture_with_knobs_stays_what_it_is_when_later_cells_have_run(lab: Notebook) -> None:
    lab.run(*(cell for cell in lab.cells if not cell.startswith(("imports", "curve-figure"))))
    for weight, node in ((1, "cold"), (3, "warm")):
        lab.say(f"picture.turn(weight={weight})")
        assert f"{node} has the highest sum" in lab.say("picture.picture.picture.sentence")


def test_an_image_counts_by_its_size_and_by_how_many_nodes_have_it(lab: Notebook) -> None:
    lab.run("weights-scene")
    scores = lab.say("scheduling.decide(service, two).scores.plugins")
    (image,) = (one for one in scores if one.plugin == "ImageLocality")
    (share,) = image.raw["warm"].why
    assert (share.size, share.spread, share.points) == (1400 << 20, 0.5, 700 << 20)
    assert image.raw["warm"].value == 100 * (700 - 23) // (1000 - 23)


def test_c5_then_nine_of_ten_and_now_75_of_100(lab: Notebook, capsys: pytest.CaptureFixture[str]) -> None:
    lab.run("then-predict", "then-scene", "then-run")
    assert capsys.readouterr().out.splitlines() == [
        "least, then 5.0 now 50",
        "variance 0.0625 | standard deviation 0.25",
        "balanced, then 9.375 now 75",
    ]
    assert facts(lab.run("then-gap")) == {"then_of_10": 9, "now_of_100": 75}


def test_the_curve_is_moved_and_its_figure_follows(lab: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []

    class Shown:
        def update(self, bundle: Any, raw: bool) -> None:
            if "text/html" not in bundle:  # what stands there between
                drawn.append(bundle)

    def display(bundle: Any, raw: bool, display_id: bool) -> Shown:
        drawn.append(bundle)
        return Shown()

    monkeypatch.setattr("plotly.io.renderers.default", "plotly_mimetype")
    monkeypatch.setattr("IPython.display.display", display)
    lab.run("curve-scene", "curve-drag", "curve-figure", "curve-code")
    assert lab.say("shape.value") == lab.names["hill"]
    assert len(drawn) == 2
    figures = [bundle["application/vnd.plotly.v1+json"]["data"] for bundle in drawn]
    own = [next(line["y"] for line in lines if line["name"] == "yours") for lines in figures]
    assert [(y[0], y[50]) for y in own] == [(100, 50), (0, 100)]
    assert lab.say("scheduling.decide(one, five, scheduling.shaped(hill, gpu)).node_name") == "n3"


def test_the_curve_is_set_in_code_wherever_its_points_were_dragged_before(lab: Notebook) -> None:
    lab.run("curve-scene", "curve-drag")
    for point, x, y in ((1, 75, 9), (0, 60, 2), (2, 80, 7)):
        lab.say(f"shape.act({{'do': 'move', 'point': {point}, 'x': {x}, 'y': {y}}})")
    lab.run("curve-code")
    assert lab.say("shape.value") == ((0, 0), (50, 10), (100, 0))


@pytest.mark.parametrize(
    ("shape", "node"),
    [(((0, 0), (100, 10)), "n7"), (((0, 10), (100, 0)), "n0"), (((0, 3), (75, 10), (80, 0)), "n5")],
)
def test_a_shape_packs_spreads_or_keeps_nodes_half_full(lab: Notebook, shape: Any, node: str) -> None:
    lab.run("curve-scene")
    assert (
        scheduling.decide(lab.names["one"], lab.names["five"], scheduling.shaped(shape, GPU)).node_name
        == node
    )


def test_e7_node_ports_looks_at_host_ports_of_app_containers(
    lab: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.run("refuse-predict", "refuse-scene", "refuse-run")
    assert facts(lab.run("refuse-gap")) == {
        "hostPort 8080": "refuses",
        "containerPort 8080": "fits",
        "hostPort 8080 of UDP": "fits",
        "hostPort 8080 in a sidecar": "fits",
    }
    lab.run("refuse-node-port")
    assert "spec.nodePort: unknown field" in capsys.readouterr().out
    elsewhere = lab.say("scheduling.verdicts(web(hostPort=8080, hostIP='10.0.0.1'), [node('n', {}).add_pod("
                        "web(hostPort=8080, hostIP='10.0.0.2'))])")  # fmt: skip
    assert elsewhere == {"n": "fits"}


def test_each_of_the_four_volume_filters_refuses_in_kubernetes_words(lab: Notebook) -> None:
    shown = lab.run("refuse-claims", "refuse-classes", "refuse-cases", "refuse-places")
    assert [row[1] for row in shown.picture.tables[0].rows] == [
        "VolumeRestrictions: node(s) had no available disk",
        "VolumeRestrictions: node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod "
        "access mode",
        "NodeVolumeLimits: node(s) exceed max volume count",
        "VolumeBinding: node(s) had volume node affinity conflict",
        "VolumeZone: node(s) had no available volume zone",
        "VolumeBinding: node(s) didn't find available persistent volumes to bind",
        "VolumeBinding: node(s) did not have enough free storage",
        "VolumeBinding: pod has unbound immediate PersistentVolumeClaims",
    ]
    helpful = {}
    for name, (pod, at, *storage) in lab.names["kinds"].items():
        message = scheduling.decide(pod, [at], storage=storage).message
        helpful[name] = "Preemption is not helpful" not in message
    assert [*helpful.values()] == [True] * 3 + [False] * 5


def test_of_many_nodes_not_all_are_looked_at(lab: Notebook, capsys: pytest.CaptureFixture[str]) -> None:
    lab.run("many-predict", "many-scene")
    assert capsys.readouterr().out == "looked at 100 of 200; the next pod begins with n100\n"
    assert facts(lab.run("many-gap")) == {"of_90_nodes": 90, "of_200_nodes": 100, "of_5000_nodes": 500}
    assert [num_feasible_nodes_to_find(n) for n in (99, 100, 6000, 20000)] == [99, 100, 300, 1000]
    assert 200 * (50 - 200 // 125) // 100 == 98
    lab.run("many-picture")
    looked = lab.say("scheduling.decide(small, [*tainted, *fleet[14:]])")
    assert (looked.num_all_nodes, len(looked.found.checks)) == (200, 114)


def test_a_plugin_of_ones_own_is_asked_at_filter_and_score(
    lab: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.run("own-class", "own-see")
    own = lab.say("scheduling.decide(guest, houses, scheduling.profile('', QuietNodes))")
    assert own.found.checks["n4"].status.message == "node(s) were not quiet"
    mine = next(one for one in own.scores.plugins if one.plugin == "QuietNodes")
    assert (mine.weight, mine.normalized) == (1, {"n1": 75, "n2": 50, "n3": 25})
    lab.run("own-paste")
    plugins = lab.say(
        "scheduling.decide(guest, houses, scheduling.profile(pasted, QuietNodes)).scores.plugins"
    )
    weights = {one.plugin: one.weight for one in plugins}
    assert weights["QuietNodes"] == 5
    assert not {"ImageLocality", "NodeResourcesBalancedAllocation"} & weights.keys()
    lab.run("own-wrong")
    assert 'PreFilterPlugin "QuietNode" does not exist' in capsys.readouterr().out
    broken = lab.say(
        "class Raises:\n    def score(self, state, pod, node_info):\n        raise KeyError('gone')\n"
    )
    assert broken is None
    assert (
        lab.say("scheduling.decide(guest, houses, scheduling.profile('', Raises))").outcome.value
        == "SchedulerError"
    )


def test_a_binding_that_fails_is_forgotten_and_wakes_others(
    lab: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.run("bind-predict", "bind-scene", "bind-run")
    first, *_, last = capsys.readouterr().out.splitlines()
    assert (
        first == 'SchedulerError | running PreBind plugin "NoAnswer": OSError: no answer from the API server'
    )
    assert last == "Unschedulable | second is Running"
    lab.run("bind-moment")
    assert capsys.readouterr().out.splitlines() == [
        f"GPUs requested in the cache: {count} | in the pod's object: {where}"
        for count, where in ((0, "no node yet"), (1, "no node yet"), (1, "gpu-node-1"))
    ]
    assert facts(lab.run("bind-gap")) == {"the_GPU": "free again", "first": "tried again", "second": "runs"}


def test_the_reader_plays_the_scheduler_and_is_compared_with_it(lab: Notebook) -> None:
    lab.run("play-scene", "play-game")
    game, queue, cluster = (lab.names[name] for name in ("game", "queue", "cluster"))
    assert sum(map(int, lab.names["sizes"])) == sum(lab.names["rooms"]) == 34
    game.act({"do": "bind", "node": "n6"})
    game.act({"do": "bind", "node": "n3"})
    with pytest.raises(ValueError, match=r"n6 refuses p3-4: Insufficient nvidia\.com/gpu"):
        game.act({"do": "bind", "node": "n6"})
    assert game.value == ("n6", "n3")
    for node in ("n4", "n3", "n7", "n1", "n3", "n5", "n8", "n2", "n2", ""):
        game.act({"do": "bind", "node": node} if node else {"do": "skip"})
    placed, nodes = scheduling.place(queue, cluster, chosen=game.value)
    assert placed["p12-4"] == ""
    assert sum(info.requested.get(GPU) for info in nodes) == 30
    rows = {row[0]: row[1:] for row in game.picture.tables[0].rows}
    assert rows["yours"][-1] == "p12-4"
    waits = [name for name, at in scheduling.place(queue, cluster)[0].items() if not at]
    assert rows["the scheduler's"][-1] == ", ".join(waits)
    with pytest.raises(ValueError, match="had its turn"):
        game.act({"do": "bind", "node": "n2"})


def test_s15_nothing_before_a_question_answers_it() -> None:
    text = read_before("10-cycle")
    assert "invisible" not in text["predict-pack"]
    assert "random" not in text["predict-pack"]
    assert "deviation" not in text["then-predict"]
    assert "app containers" not in text["refuse-predict"]
    assert "49 %" not in text["many-predict"]
    assert "forgotten" not in text["bind-predict"]


@pytest.mark.parametrize(("name", "right"), list(zip(("one", "two", "three"), RIGHT, strict=True)))
def test_the_exercises_are_solved_by_their_answers_and_not_before(
    lab: Notebook, name: str, right: str
) -> None:
    assert not lab.exercise(name)
    assert lab.exercise(name, right)


STRATEGY = """configuration = '''{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration,
  profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: %s}}}]}]}'''"""
GPUS = "resources: [{name: nvidia.com/gpu, weight: 5}]"


@pytest.mark.parametrize(
    ("strategy", "waiting"),
    [
        ("MostAllocated", 2),
        (f"LeastAllocated, {GPUS}", 3),
        (f"MostAllocated, {GPUS}", 0),
        (
            f"RequestedToCapacityRatio, {GPUS}, requestedToCapacityRatio: {{shape: "
            "[{utilization: 0, score: 0}, {utilization: 100, score: 10}]}",
            0,
        ),
    ],
)
def test_b58_exercise_one_by_other_strategies(lab: Notebook, strategy: str, waiting: int) -> None:
    assert len(lab.exercise("one", STRATEGY % strategy).broken) == waiting


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("node_info.requested.get(gpu) * 10", "nodes of two sizes: your answer gives ('3 of 8',)"),
        (
            "100 * node_info.requested.get(gpu) // node_info.allocatable.get(gpu)",
            "2 GPUs: your answer gives ('3 of 8',)",
        ),
        (
            "100 * (node_info.requested.get(gpu) + asked(pod)) // node_info.allocatable.get(gpu)",
            "no GPU: your answer gives ('3 of 4',)",
        ),
        ("100 * node_info.requested.get(gpu)", "'NoneType' object has no attribute 'best'"),
    ],
)
def test_exercise_two_answered_wrongly(lab: Notebook, body: str, sentence: str) -> None:
    answer = f"class PackGPUs:\n    def score(self, state, pod, node_info):\n        return {body}"
    assert sentence in "\n".join(lab.exercise("two", answer).broken)


@pytest.mark.parametrize(
    ("answer", "broken"),
    [
        ("next(n for n in FILTERS if ask([n]) == 'refuses')", 0),
        ("next(n for n in reversed(FILTERS) if ask([n]) == 'refuses')", 2),
        ("next(n for n in FILTERS if ask([o for o in FILTERS if o != n]) == 'fits')", 2),
    ],
)
def test_exercise_three_answered_in_other_ways(lab: Notebook, answer: str, broken: int) -> None:
    assert len(lab.exercise("three", f"which = lambda ask: {answer}").broken) == broken
