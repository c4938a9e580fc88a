"""What labs 01, 02 and 03 state and can be run is run; nothing answers a prediction before it is asked."""

import ast
import re
from pathlib import Path

import nbformat
import pytest

from kubedev.lab import Lab, pods, streams
from tests.conftest import ROOT

LABS = sorted((ROOT / "labs").glob("*.ipynb"))
GPU = "nvidia.com/gpu"


def before(lab: str, prediction: str) -> str:
    """All that stands on the page above a prediction."""
    (path,) = (ROOT / "labs").glob(f"{lab}-*.ipynb")
    cells = nbformat.read(path, as_version=4).cells
    ids = [cell.id for cell in cells]
    return "\n".join(cell.source for cell in cells[: ids.index(prediction)])


@pytest.mark.parametrize(
    ("lab", "prediction", "answer"),
    [
        ("01", "predict-order", "sum of all that go on running"),
        ("01", "step-predict", r"1073741824|\b1G\b"),
        ("01", "knob-predict", r"explore\(look"),
        ("01", "multiples-predict", "(?i)throttle|kills|makes slow"),
        ("02", "step-predict", "(?i)still be in time|ten seconds"),
        ("02", "knob-predict", "starts nothing|Nobody starts"),
        ("02", "duties-predict", "(?i)four duties"),
        ("02", "second-predict", "(?i)newest|last one wins"),
        ("03", "predict-quiet", "(?i)periodically|poll|when something changes"),
        ("03", "knob-predict", "(?i)more than.{0,5}300"),
        ("03", "ends-predict", "(?i)never opens the stream again"),
    ],
)
def test_s15_nothing_answers_a_prediction_before_it_is_asked(lab: str, prediction: str, answer: str) -> None:
    assert not re.search(answer, before(lab, prediction))


@pytest.mark.parametrize("path", LABS, ids=lambda path: path.stem)
def test_no_notebook_imports_the_wire_grpc_or_os(path: Path) -> None:
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type != "code":
            continue
        for node in ast.walk(ast.parse(cell.source)):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert not [n for n in names if re.match(r"(os|grpc|kubedev\.wire)\b", n)], cell.id


def test_s19_lab_01_states_what_is_so_of_quantities() -> None:
    read = pods.Quantity.parse
    assert 0.065 < 1 - read("1G").value() / read("1Gi").value() < 0.075  # 7 % smaller
    assert read("100m").value() == 1  # memory: 100m is a byte when somebody counts
    assert read("1e-12") == read("1n")  # nothing is finer than a billionth
    tenth = read("0.1")
    assert tenth + tenth + tenth == read("0.3")


def test_s19_lab_01_states_what_is_so_of_classes() -> None:
    def stored(**limits: str) -> str:
        return pods.compute_pod_qos(
            pods.default_pod(pods.pod(pods.container("app", limits=limits)))
        ).qos_class

    assert stored(cpu="1", memory="1Gi") == "Guaranteed"  # the API server copies limits to requests
    written = pods.pod(pods.container("app", limits={"cpu": "1", "memory": "1Gi"}))
    assert pods.compute_pod_qos(written).qos_class == "Burstable"
    full = pods.container("app", limits={"cpu": "1", "memory": "1Gi"})
    spoiled = pods.default_pod(pods.pod(full, init=[pods.container("init")]))
    assert pods.compute_pod_qos(spoiled).qos_class == "Burstable"  # also one that ends in a second
    eight = pods.pod(pods.container("main", limits={GPU: 8}))
    assert pods.compute_pod_qos(pods.default_pod(eight)).qos_class == "BestEffort"


def test_s19_lab_03_states_what_is_so_of_the_whole_list_and_of_silence() -> None:
    with Lab("statements", nodes=1, transport="memory") as lab:
        lab.plugin(GPU, devices=8, numa=2)
        lab.set_health("d4", healthy=False)
        told = [message.text for message in lab.log().messages]
        assert any("8, 1 Unhealthy (d4 Unhealthy)" in text for text in told)
        said = streams.lists(lab, GPU)
        lab.advance(3600)
        assert streams.lists(lab, GPU) == said  # an hour of silence is an hour without a message


def test_s6_the_label_of_a_list_is_the_whole_list_in_short() -> None:
    with Lab("label", nodes=1, transport="memory") as lab:
        lab.plugin(GPU, devices=8, numa=2)
        lab.set_health("d4", healthy=False)
        assert "8 devices, 1 Unhealthy" in [message.label for message in lab.log().messages]


@pytest.mark.parametrize(("away", "least"), [(0, 8), (240, 8), (300, 8), (320, 0), (600, 0)])
def test_capacity_falls_after_more_than_five_minutes(away: int, least: int) -> None:
    counts = [row[1] for row in streams.draw_absence(away).tables[0].rows]
    assert min(int(count) for count in counts if count != "absent") == least
