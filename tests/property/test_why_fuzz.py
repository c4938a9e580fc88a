"""Whatever stands in a dump, `kubedev why` and `kubedev anonymize` answer, or say in one line what is wrong."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubedev.__main__ import main
from kubedev.tools.why import documents
from tests.bench import dump as large
from tests.unit.why_world import node, pod

TERM = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
SPEC = {
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]
            }
        },
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]},
    },
    "tolerations": [{"key": "x", "operator": "Exists"}],
    "topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **TERM}],
    "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
}
DUMP = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [
        node("n1", {"taints": [{"key": "k", "effect": "NoSchedule"}]}, gpu="2"),
        node("n2"),
        pod("a", on="n1", gpu="2"),
        pod("p", spec=SPEC, gpu="1"),
        pod("r", on="n1", status={"phase": "Failed", "reason": "OutOfcpu", "message": "m"}),
        *large.objects(1, 1),
    ],
}
JUNK = (None, "", 0, -1, 1.5, True, [], {}, "x", [1], {"a": 1}, "9E99", "1" * 30, [None], [[]], {"": ""})


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands."""
    yield at
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, inner in members:
        yield from paths(inner, (*at, key))


PATHS = [path for path in paths(DUMP) if path]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(PATHS), st.sampled_from(JUNK), st.booleans(), st.one_of(st.none(), st.integers(0, 9000))
)
def test_every_dump_is_answered_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
    path: tuple[Any, ...],
    junk: Any,
    plain: bool,
    cut: int | None,
) -> None:
    dump: Any = copy.deepcopy(DUMP)
    place = dump
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = junk
    file = tmp_path_factory.getbasetemp() / "fuzzed.json"
    file.write_text(json.dumps(dump)[:cut])
    with pytest.MonkeyPatch.context() as patch:
        if plain:
            patch.setattr(documents, "typed", None)
        for arguments in (
            ["why", str(file), "default/p"],
            ["why", "--json", str(file)],
            ["anonymize", str(file)],
        ):
            code = main(arguments)
            said = capsys.readouterr()
            assert code in (0, 1, 2)
            left_out = arguments[0] == "anonymize" and "left out" in said.err
            assert len(said.err.splitlines()) == (code == 2 or left_out), said.err
            assert bool(said.out) == (code != 2)
