"""A plugin of one's own, registered by its name and configured in a profile: what it decides, and what it breaks."""

from typing import Any

import pytest

from kubedev.api.objects import Pod
from kubedev.api.requests import compute_pod_resource_request
from kubedev.scheduler.configuration.errors import ConfigurationError
from kubedev.scheduler.configuration.loading import load_configuration
from kubedev.scheduler.configuration.own_plugins import own_plugins
from kubedev.scheduler.cycle import Decision, Outcome
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.queue.queue_transitions import Place
from kubedev.scheduler.scheduler import SchedulerState
from tests.unit.scheduler_world import GPU, World, make_node, make_pod

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


class GPUPacking:
    def __init__(self, resource: str = GPU) -> None:
        self.resource = resource

    def score(self, state: None, pod: Pod, node_info: NodeInfo) -> int:
        asked = compute_pod_resource_request(pod).scalar_resources.get(self.resource, 0)
        total = node_info.allocatable.scalar_resources.get(self.resource, 0)
        if not asked or not total:
            return 0
        return (node_info.requested.scalar_resources.get(self.resource, 0) + asked) * 100 // total


PACKED_BY_HAND = """
profiles:
- plugins:
    score: {disabled: [{name: "*"}], enabled: [{name: GPUPacking, weight: 2}]}
  pluginConfig:
  - {name: GPUPacking, args: {resource: nvidia.com/gpu}}
"""
PACKED_BY_CONFIGURATION = """
profiles:
- plugins:
    score: {disabled: [{name: "*"}], enabled: [{name: NodeResourcesFit}]}
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: nvidia.com/gpu, weight: 5}]}}
"""


def world(text: str, *classes: type) -> World:
    configuration = load_configuration(HEADER + text, own_plugins(*classes))
    return World(SchedulerState().with_profiles(*configuration.profiles))


def everywhere(name: str) -> str:
    return f"profiles:\n- plugins:\n    multiPoint: {{enabled: [{{name: {name}}}]}}\n"


def decide(here: World, pod: Pod) -> Decision:
    here.pod(pod)
    (decision,) = here.run()
    return decision


@pytest.mark.parametrize(
    ("text", "classes"),
    [(PACKED_BY_HAND, [GPUPacking]), (PACKED_BY_CONFIGURATION, [])],
    ids=["own", "built in"],
)
def test_b58_a_packing_plugin_of_ten_lines_places_the_jobs_as_the_configuration_does(
    text: str, classes: list[type]
) -> None:
    here = world(text, *classes)
    for name, gpus in (("a", "4"), ("b", "4"), ("c", "2")):
        here.node(make_node(name, gpu=gpus))
    placed = [decide(here, make_pod(f"job-{i}", gpu=gpus)).node_name for i, gpus in enumerate("244")]
    assert placed == ["c", "a", "b"]


def test_its_scores_and_weight_show_up_like_any_other_plugins() -> None:
    here = world(PACKED_BY_HAND, GPUPacking)
    for name, gpus in (("a", "4"), ("c", "2")):
        here.node(make_node(name, gpu=gpus))
    scores = decide(here, make_pod("p", gpu="1")).scores
    assert scores is not None
    (mine,) = scores.plugins
    assert (mine.plugin, mine.weight) == ("GPUPacking", 2)
    assert {name: score.value for name, score in mine.raw.items()} == {"a": 25, "c": 50}
    assert scores.totals == {"a": 50, "c": 100}


def test_its_refusals_are_counted_in_the_pods_message_and_bring_the_pod_back_when_something_happens() -> None:
    class Quiet:
        def filter(self, state: None, pod: Pod, node_info: NodeInfo) -> str | None:
            return "node(s) were not quiet" if node_info.pods else None

    here = world(everywhere("Quiet"), Quiet)
    here.node(make_node("n"))
    assert decide(here, make_pod("first")).node_name == "n"
    second = decide(here, make_pod("second"))
    assert second.unschedulable_plugins == ("Quiet",)
    assert here.messages["second"].startswith(
        "0/1 nodes are available: 1 node(s) were not quiet. preemption:"
    )
    assert [answer.plugin for answer in second.answers("n")][-1] == "Quiet"
    here.node(make_node("m"))
    assert here.state.queue.place_of("default/second") is Place.BACKOFF


def raising(*args: Any) -> Any:
    raise LookupError("no such thing")


POINTS = {
    "pre_filter": 'running PreFilter plugin "Breaks": LookupError: no such thing',
    "filter": 'running "Breaks" filter plugin: LookupError: no such thing',
    "pre_score": 'running PreScore plugin "Breaks": LookupError: no such thing',
    "score": 'running Score plugins: plugin "Breaks" failed with: LookupError: no such thing',
    "reserve": 'running Reserve plugin "Breaks": LookupError: no such thing',
    "permit": 'running Permit plugin "Breaks": LookupError: no such thing',
    "pre_bind": 'running PreBind plugin "Breaks": LookupError: no such thing',
    "bind": 'running Bind plugin "Breaks": LookupError: no such thing',
}


@pytest.mark.parametrize(("method", "text"), POINTS.items())
def test_an_exception_is_the_frameworks_error_and_the_pod_is_tried_again(method: str, text: str) -> None:
    here = world(everywhere("Breaks"), type("Breaks", (), {method: raising}))
    for name in ("n", "m"):
        here.node(make_node(name))
    here.pod(make_pod("p"))
    here.run()
    assert here.messages["p"] == text
    assert here.state.queue.place_of("default/p") is Place.BACKOFF
    assert not here.pods["p"].node_name


@pytest.mark.parametrize(
    ("method", "answer", "text"),
    [
        ("filter", True, "TypeError: expected a Status, a text (the reason of a refusal) or None, got True"),
        ("score", 33.3, "TypeError: expected a whole number as score, got 33.3: round it with int(...)"),
        ("score", 101, "returns an invalid score 101, it should in the range of [0, 100] after normalizing"),
        ("pre_filter", "no", "ValueError: not enough values to unpack (expected 3, got 2)"),
    ],
)
def test_a_wrong_answer_says_what_was_expected(method: str, answer: object, text: str) -> None:
    here = world(everywhere("Breaks"), type("Breaks", (), {method: lambda *args: answer}))
    for name in ("n", "m"):
        here.node(make_node(name))
    assert decide(here, make_pod("p")).outcome is Outcome.ERROR
    assert here.messages["p"].endswith(text)


def test_one_that_breaks_while_preemption_tries_victims_says_so() -> None:
    class Alone:
        def pre_filter(self, pod: Pod, nodes: Any, context: Any) -> Any:
            return 0, None, None

        def filter(self, state: int, pod: Pod, node_info: NodeInfo) -> str | None:
            return "node(s) were not empty" if node_info.pods else None

        def remove_pod(self, state: int, pod: Pod, node_info: NodeInfo) -> int:
            raise LookupError("which pod?")

    here = world(everywhere("Alone"), Alone)
    here.node(make_node("n"))
    here.running(make_pod("low"), "n")
    here.pod(make_pod("high", priority=5))
    here.run()
    assert "LookupError: which pod?" in here.messages["high"]
    assert here.pods["low"].deletion_timestamp is None


def test_its_arguments_are_given_by_name_and_wrong_ones_refuse_the_configuration() -> None:
    text = PACKED_BY_HAND.replace("resource: nvidia", "resourse: nvidia")
    with pytest.raises(ConfigurationError) as caught:
        world(text, GPUPacking)
    assert caught.value.stage == "build"
    assert str(caught.value).startswith(
        "initializing profiles: creating profile for scheduler name default-scheduler: initializing plugin "
        '"GPUPacking": TypeError:'
    )
    assert "resourse" in str(caught.value)


def test_a_class_that_is_never_asked_or_takes_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(
        ValueError, match="Misspelt has no method that is ever called; it needs one of pre_enqueue"
    ):
        own_plugins(type("Misspelt", (), {"fliter": raising}))
    with pytest.raises(ValueError, match="Sorts has no method that is ever called"):
        own_plugins(type("Sorts", (), {"queue_sort": raising}))
    with pytest.raises(ValueError, match="a plugin named NodeName is registered already"):
        own_plugins(type("NodeName", (), {"filter": raising}))
    with pytest.raises(ValueError, match="a plugin named GPUPacking is registered already"):
        own_plugins(GPUPacking, GPUPacking)


def test_the_profile_that_a_pod_names_decides_on_it() -> None:
    class Never:
        def filter(self, state: None, pod: Pod, node_info: NodeInfo) -> str:
            return "node(s) were never good enough"

    text = (
        "profiles:\n- schedulerName: default-scheduler\n- schedulerName: picky\n  plugins:\n"
        "    filter: {enabled: [{name: Never}]}\n"
    )
    here = world(text, Never)
    here.node(make_node("n"))
    assert decide(here, make_pod("a")).node_name == "n"
    picky = decide(here, make_pod("b", spec={"schedulerName": "picky"}))
    assert picky.unschedulable_plugins == ("Never",)
    here.pod(make_pod("c", spec={"schedulerName": "nobody"}))
    assert here.run() == []


def test_a_filter_whose_pre_filter_is_switched_off_fails_or_works_it_out_itself_as_in_kubernetes() -> None:
    text = "profiles:\n- plugins:\n    preFilter: {disabled: [{name: NodeResourcesFit}]}\n"
    here = world(text)
    here.node(make_node("n"))
    decide(here, make_pod("p"))
    assert here.messages["p"] == (
        'running "NodeResourcesFit" filter plugin: '
        'error reading "PreFilterNodeResourcesFit" from cycleState: not found'
    )
    here = world(text.replace("NodeResourcesFit", "NodeAffinity"))
    here.node(make_node("n"))
    here.node(make_node("m", labels={"disk": "ssd"}))
    assert decide(here, make_pod("p", spec={"nodeSelector": {"disk": "ssd"}})).node_name == "m"


def test_a_score_whose_pre_score_is_switched_off_fails_or_works_it_out_itself_as_in_kubernetes() -> None:
    text = "profiles:\n- plugins:\n    preScore: {disabled: [{name: NAME}]}\n"
    for name, works in (("NodeResourcesFit", True), ("TaintToleration", False)):
        here = world(text.replace("NAME", name))
        for node in ("n", "m"):
            here.node(make_node(node))
        outcome = decide(here, make_pod("p")).outcome
        assert outcome is (Outcome.SCHEDULED if works else Outcome.ERROR)


def test_what_reserve_did_is_taken_back_in_reverse_order() -> None:
    calls: list[str] = []

    def one(name: str, **methods: Any) -> type:
        return type(name, (), {"unreserve": lambda self, pod, node: calls.append(name), **methods})

    first, second = one("First", reserve=lambda *args: None), one("Second", reserve=lambda *args: "no")
    text = "profiles:\n- plugins: {multiPoint: {enabled: [{name: First}, {name: Second}]}}\n"
    here = world(text, first, second)
    here.node(make_node("n"))
    here.pod(make_pod("p"))
    here.run()
    assert calls == ["Second", "First"]
