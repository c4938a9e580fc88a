"""Every check of every lab refuses the answer that does nothing, and the one that asks for nothing.

Right and wrong answers stand beside each lab's own tests.
"""

import pytest

from tests.notebooks.exercises import Notebook, answers, check_with

NOTHING = "from kubedev.lab.node_scene import pod_yaml\nlab.delete('{0}'); lab.apply(pod_yaml('{0}', {{}}))"
LESS = (
    "from kubedev.lab.node_scene import pod_yaml\nlab.delete('{0}'); lab.apply(pod_yaml('{0}', {{{1!r}: 1}}))"
)
GPU, DEV = "nvidia.com/gpu", "test.com/dev"
BOTH = "answers = [pods.apply(lab, pods.manifest(pods.container('notebook'), name=name)) for name in ('alice', 'bob')]"
LABS = {
    "00": "00-one-pod-one-gpu",
    "01": "01-what-a-pod-asks-for",
    "02": "02-registration",
    "03": "03-list-and-watch",
    "04": "04-allocate",
    "05": "05-numa-hints",
    "06": "06-numa-merge",
    "07": "07-init-and-sidecars",
    "08": "08-restart",
    "09": "09-fits",
    "10": "10-cycle",
    "13": "13-cpus-are-not-devices",
}


def check_lab_00(answer: str) -> object:
    notebook = Notebook(LABS["00"])
    notebook.run("exercise-scene")
    try:
        notebook.say(answer)
        return notebook.run("exercise-check")
    finally:
        notebook.say("lab.close()")


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "lab.delete('trainer'); lab.delete('web')",
        f"{NOTHING.format('trainer')}\n{NOTHING.format('web')}",
        f"{NOTHING.format('trainer')}",
        f"{LESS.format('web', GPU)}",
    ],
)
def test_s22_lab_00(answer: str) -> None:
    assert not check_lab_00(answer)


@pytest.mark.parametrize("click", ["lab.set_health('d0', True)", "lab.set_health('d1', True)", "lab.delete('trainer')",
                                   "lab.plugin('nvidia.com/gpu', devices=8, node='gpu-node-2')"])  # fmt: skip
def test_s22_one_click_does_not_solve_the_exercise_of_lab_00(click: str) -> None:
    assert not check_lab_00(click)


@pytest.mark.parametrize("answer", answers(LABS["00"])[:-1])
def test_lab_00_has_more_than_one_right_answer(answer: str) -> None:
    assert check_lab_00(answer)


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        (answers(LABS["00"])[-1], True),
        ("", False),
        ("at_risk = lambda graph: {'web'}", False),
        (
            "at_risk = lambda graph: {f['name'] for _, f in graph.nodes(data=True) if f['kind'] == 'pod'}",
            False,
        ),
        ("at_risk = lambda graph: graph.nodes", False),
        ("at_risk = lambda graph: None", False),
    ],
)
def test_lab_00_asks_the_graph(answer: str, right: bool) -> None:
    notebook = Notebook(LABS["00"])
    notebook.run("graph-scene", "graph-yours")
    try:
        notebook.say(answer)
        assert bool(notebook.run("graph-check")) == right
    finally:
        notebook.say("lab.close()")


TRIVIAL = [
    ("01", 1, "trainer = pods.container('main'); answer = pods.apply(lab, pods.manifest(trainer, name='trainer'))"),
    ("01", 1, "answer = ''"),
    ("01", 2, BOTH),
    ("01", 2, "answers = []"),
    ("01", 2, f"lab.plugin('{GPU}', devices=[Device('card0'), Device('card01')]); "
              f"notebook = pods.container('notebook', limits={{'{GPU}': 1}}); "
              "answers = [pods.apply(lab, pods.manifest(notebook, name=name)) for name in ('alice', 'bob')]"),
    ("01", 3, "lab.delete('first'); lab.delete('second')"),
    ("01", 3, "[pods.apply(lab, pods.manifest(pods.container('x'), name=name)) for name in ('first', 'second')]"),
    ("01", 3, "pods.apply(lab, pods.manifest(pods.container('load', cpu=1), name='first'))"),
    ("02", 1, "quiet.stop()"),
    ("02", 1, "quiet.start(); quiet.send()"),
    ("02", 2, "gpu.stop()"),
    ("02", 2, "gpu.run()"),
    ("02", 4, "way_back = lambda graph, state: None"),
    ("02", 4, "way_back = lambda graph, state: list(graph)"),
    ("02", 3, NOTHING.format("pair")),
    ("02", 3, f"b.send('card-a', 'card-b'); a.stop(); b.start(); {LESS.format('pair', DEV)}"),
    ("03", 1, NOTHING.format("second")),
    ("03", 1, "lab.delete('second'); lab.delete('trainer')"),
    ("03", 2, f"{NOTHING.format('trainer')}\nlab.plugin(gpu, devices=4, numa=1)"),
    ("03", 2, "lab.delete('trainer')"),
    ("03", 3, "slices = []"),
    ("03", 3, "slices = [Device('')] * 60_000"),
    ("04", 1, "prefer = lambda request: []"),
    ("04", 1, "prefer = lambda request: None"),
    ("04", 1, "prefer = lambda request: list(request.available_device_ids)"),
    ("04", 2, NOTHING.format("two-step")),
    ("04", 2, LESS.format("two-step", GPU)),
    ("04", 2, "lab.delete('two-step')"),
    ("04", 4, "last = lambda graph, device: None"),
    ("04", 4, "last = lambda graph, device: graph"),
    ("04", 3, NOTHING.format("stream")),
    ("04", 3, "lab.delete('stream')"),
    ("07", 1, "lab.delete('first'); lab.delete('second')"),
    ("07", 1, "[pods.apply(lab, pods.manifest(asks('x', 0), name=name)) for name in ('first', 'second')]"),
    ("07", 2, "order = []"),
    ("07", 2, "proxy, load, migrate = asks('proxy', 0, True), asks('load', 0), asks('migrate', 0); "
              "order = [proxy, load, migrate]"),
    ("07", 3, "idle = lambda graph: graph.nodes"),
    ("07", 3, "pods.apply(lab, pods.manifest(asks('x', 0), name='web'))"),
    ("08", 1, f"{NOTHING.format('late')}"),
    ("08", 1, "lab.restart_kubelet(); lab.advance(3600)"),
    ("08", 2, "[pods.apply(lab, pods.manifest(asks('x', 0), name=name)) for name in ('trainer', 'web')]"),
    ("08", 2, "lab.delete('trainer'); lab.delete('web')"),
    ("08", 3, "fate = lambda *case: 'refused'"),
    ("08", 3, "cases.pop('runs=True, ready=True, healthy=none, asks=2')"),
]  # fmt: skip


@pytest.mark.parametrize(("lab", "exercise", "answer"), TRIVIAL)
def test_s22_labs_01_to_04_07_and_08(lab: str, exercise: int, answer: str) -> None:
    assert not check_with(LABS[lab], exercise, answer)


@pytest.mark.parametrize(
    ("lab", "exercise", "answer"),
    [
        ("05", "one", ""),
        ("05", "one", "wiring.turn(a0='NUMA 0')"),
        ("05", "two", ""),
        ("05", "two", "holders.turn(one='a0', two='a0')"),
        ("05", "three", ""),
        ("05", "three", "listing.turn(x0='no topology')"),
        ("05", "four", ""),
        ("05", "four", "enough = lambda graph, count: None"),
        ("05", "four", "enough = lambda graph, count: [0, 1]"),
        ("06", "one", ""),
        ("06", "one", "turns.turn(first=2, second=2)"),
        ("06", "two", "provider = lambda request, hints: {}"),
        ("06", "two", "provider = lambda request, hints: None"),
        ("06", "three", "nodes_to_try = lambda devices, numa_nodes: []"),
        ("06", "three", "nodes_to_try = lambda devices, numa_nodes: None"),
        ("09", "one", "cause = None"),
        ("09", "one", "cause = lambda info: ''"),
        ("09", "one", "cause = lambda info: 'room'"),
        ("09", "two", "smallest = {}"),
        ("09", "two", "smallest = {'cpu': 0, 'memory': 0, gpu: 0}"),
        ("09", "two", "smallest = {'cpu': 100, 'memory': '1Ti', gpu: 100}"),
        ("09", "three", "huge = {}"),
        ("09", "three", "huge = {'cpu': '0', 'memory': '0'}"),
        ("09", "three", "huge = {'cpu': '', 'memory': ''}"),
        ("10", "one", "configuration = ''"),
        ("10", "one", "configuration = 'kind: KubeSchedulerConfiguration'"),
        ("10", "two", "PackGPUs = None"),
        ("10", "two", "class PackGPUs:\n    score = lambda self, state, pod, node_info: None"),
        ("10", "two", "class PackGPUs:\n    score = lambda self, state, pod, node_info: 0"),
        ("10", "two", "class PackGPUs:\n    score = lambda self, state, pod, node_info: 100"),
        ("10", "three", "which = None"),
        ("10", "three", "which = lambda ask: ''"),
        ("10", "three", "which = lambda ask: FILTERS"),
        ("10", "three", "which = lambda ask: 'NodeAffinity'"),
        ("13", "one", "mended = {}"),
        ("13", "one", "mended = {name: [] for name in 'abcd'}"),
        ("13", "two", "sizes = []"),
        ("13", "two", "sizes = [0] * 12"),
        ("13", "three", "blocker = None"),
        ("13", "three", "blocker = lambda file, now: ''"),
    ],
)
def test_s22_labs_from_05_on(lab: str, exercise: str, answer: str) -> None:
    notebook = Notebook(LABS[lab])
    if f"{exercise}-scene" in notebook.cells:
        notebook.run(f"{exercise}-scene")
    if f"{exercise}-yours" in notebook.cells:
        notebook.run(f"{exercise}-yours")
    if f"{exercise}-turn" in notebook.cells:
        notebook.run(f"{exercise}-turn")
    notebook.say(answer)
    assert not notebook.run(f"{exercise}-check")
