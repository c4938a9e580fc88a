"""What `kubedev why` reads: whatever kubectl prints, in one file or several, with msgspec and without."""

import gzip
import io
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubedev.api.objects import Node, Pod
from kubedev.tools.why import documents
from kubedev.tools.why.documents import entries
from kubedev.tools.why.dump import Dump, read_dump
from kubedev.tools.why.sources import DumpError
from tests.bench import dump as large
from tests.conftest import ROOT
from tests.unit.why_world import Values, dump, node, pod

OBJECTS = [node("n1", gpu="2"), node("n2"), pod("a", on="n1", gpu="2"), pod("b")]
LIST = {"apiVersion": "v1", "kind": "List", "items": OBJECTS}


@pytest.fixture(params=["msgspec", "json"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of reading JSON."""
    if request.param == "json":
        monkeypatch.setattr(documents, "typed", None)
    return str(request.param)


def written(folder: Path, data: bytes, name: str = "d") -> str:
    (folder / name).write_bytes(data)
    return str(folder / name)


def names(read: Dump) -> tuple[list[str], list[str]]:
    return [found.name for found in read.nodes], list(read.pods)


def without_kinds() -> bytes:
    """As the API server itself answers: items that do not say what they are."""
    lists = [
        {
            "kind": f"{kind}List",
            "apiVersion": "v1",
            "items": [bare(one) for one in OBJECTS if one["kind"] == kind],
        }
        for kind in ("Node", "Pod")
    ]
    return json.dumps({"kind": "List", "apiVersion": "v1", "items": lists}).encode()


def bare(one: Values) -> Values:
    return {key: value for key, value in one.items() if key not in ("kind", "apiVersion")}


def parts() -> tuple[Values, Values]:
    return {**LIST, "items": OBJECTS[:2]}, {**LIST, "items": OBJECTS[2:]}


WAYS: dict[str, Callable[[], bytes]] = {
    "as kubectl prints": lambda: json.dumps(LIST, indent=4).encode(),
    "packed": lambda: gzip.compress(json.dumps(LIST).encode()),
    "with Windows' line ends": lambda: json.dumps(LIST, indent=4).replace("\n", "\r\n").encode(),
    "by PowerShell": lambda: json.dumps(LIST, indent=4).encode("utf-16"),
    "with a byte order mark": lambda: json.dumps(LIST).encode("utf-8-sig"),
    "a list of lists": lambda: json.dumps({**LIST, "items": parts()}).encode(),
    "a PodList and a NodeList": without_kinds,
    "one document after another": lambda: "\n".join(map(json.dumps, parts())).encode(),
    "an object a line": lambda: b"\n".join(json.dumps(one).encode() for one in OBJECTS),
    "YAML": lambda: yaml.safe_dump(LIST).encode(),
    "YAML documents, with Windows' line ends": lambda: (
        yaml.safe_dump_all(OBJECTS).replace("\n", "\r\n").encode()
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_same_objects_are_found_however_they_are_written(way: str, reader: str, tmp_path: Path) -> None:
    read = read_dump([written(tmp_path, WAYS[way]())])
    assert names(read) == (["n1", "n2"], ["default/a", "default/b"])
    assert read.pods["default/a"].node_name == "n1"
    assert str(read.nodes[0].allocatable["nvidia.com/gpu"]) == "2"
    assert read.version == "v1.32.10"


def test_files_and_standard_input_are_put_together(
    reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = json.dumps({**LIST, "items": OBJECTS[:2]}).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(nodes)))
    read = read_dump(["-", dump(tmp_path, *OBJECTS[2:])])
    assert names(read) == (["n1", "n2"], ["default/a", "default/b"])


def test_of_two_documents_of_one_object_the_newer_one_counts_and_it_is_said(
    reader: str, tmp_path: Path
) -> None:
    new, old, last, none = (pod("p", priority_of) for priority_of in ("n1", "n2", "n3", "n4"))
    new["metadata"]["resourceVersion"], old["metadata"]["resourceVersion"] = "1000", "999"
    read = read_dump([dump(tmp_path, new, old)])
    assert read.pods["default/p"].node_name == "n1"
    assert "Pod default/p is there twice" in read.notes[0]
    assert "resourceVersion 1000 counts" in read.notes[0]
    read = read_dump([dump(tmp_path, last, none)])  # without versions the later one counts
    assert read.pods["default/p"].node_name == "n4"
    assert "the later one counts" in read.notes[0]


def test_what_is_not_needed_is_passed_over(reader: str, tmp_path: Path) -> None:
    bulky = node("n1")
    bulky["metadata"]["managedFields"] = [{"manager": "kubelet", "fieldsV1": {"f:status": {}}}]
    naked = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n2"}}
    others = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {}},
        {"apiVersion": "example.com/v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": 7}},
        {"apiVersion": "example.com/v1", "kind": "Gateway", "metadata": {"name": "g"}, "spec": {"priority": "high"}},
    ]  # fmt: skip
    read = read_dump([dump(tmp_path, bulky, naked, *others)])
    assert names(read) == (["n1", "n2"], [])
    assert dict(read.skipped) == {"Secret": 1, "Pod": 1, "Gateway": 1}


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (json.dumps(LIST).encode()[:-40], "ends in the middle of an object: was the command interrupted?"),
        (json.dumps(LIST).encode()[:9], "ends in the middle of an object"),
        (b'{"items": [}', "is not JSON"),
        (gzip.compress(json.dumps(LIST).encode())[:-30], "is cut off or broken as a gzip file"),
        (b"a: [1, 2", "is neither JSON nor YAML"),
        (b"just words", "expected objects with apiVersion, kind and metadata"),
        (b'{"apiVersion": "v1", "kind": "List", "items": []}', "expected pods and nodes"),
        (b'{"apiVersion": "v1", "kind": "List", "items": null}', "expected pods and nodes"),
        (
            b'{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}',
            "expected pods and nodes (`kubectl get",
        ),
        (
            b'{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, '
            b'"status": {"allocatable": {"cpu": "many"}}}',
            "Node n: status.allocatable[cpu]: Invalid value",
        ),
    ],
)
def test_bad_input_is_a_sentence(data: bytes, sentence: str, reader: str, tmp_path: Path) -> None:
    with pytest.raises(DumpError) as error:
        read_dump([written(tmp_path, data)])
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def comparable(found: Pod | Node) -> Any:
    """What scheduling looks at."""
    if isinstance(found, Node):
        return replace(found, annotations={}, conditions=(), images=(), manifest={})
    containers, inits = (
        tuple(replace(one, envs=(), claims=()) for one in those)
        for those in (found.containers, found.init_containers)
    )
    looked_at = tuple(one for one in found.volumes if one.claim_name or one.claim_template or one.sources)
    return replace(
        found, annotations={}, conditions=(), qos_class="", message="", restart_policy="", manifest={},
        containers=containers, init_containers=inits, volumes=looked_at,
    )  # fmt: skip


def recorded() -> list[Values]:
    """Pods and nodes of recorded cases, with everything that scheduling knows."""
    found = []
    for family in ("schedule_one", "preemption", "filters", "volume_filters"):
        for case in json.loads((ROOT / "tests" / "vectors" / f"{family}.json").read_text("utf-8"))["cases"]:
            given = case["in"]
            found += [{"apiVersion": "v1", "kind": "Node", **one} for one in given.get("nodes") or ()]
            found += [{"apiVersion": "v1", "kind": "Pod", **one} for one in given.get("pods") or () if one]
    return found


def test_the_quick_way_reads_what_the_plain_way_reads(tmp_path: Path) -> None:
    objects = [*large.objects(4, 12), *recorded()]
    path = dump(tmp_path, *objects)
    assert documents.typed is not None
    maker = documents.typed.Maker()
    compared = 0
    for entry in entries(Path(path).read_bytes(), path):
        if entry.item is None:
            continue
        kind = Pod if entry.kind == "Pod" else Node
        made = maker.pod(entry.item) if kind is Pod else maker.node(entry.item)
        assert comparable(made) == comparable(kind.parse(entry.values()))
        compared += 1
    assert compared > 500
