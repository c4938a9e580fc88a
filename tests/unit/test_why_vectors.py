"""`kubedev why` reads a dump and says what Kubernetes said: every recorded case in which a pod fits nowhere."""

import json
from pathlib import Path
from typing import Any

import pytest

from kubedev.tools.why.asking import asked_by_name
from kubedev.tools.why.dump import read_dump
from kubedev.tools.why.world import world_of
from tests.conftest import ROOT
from tests.unit.why_world import dump

KINDS = {
    "nodes": ("v1", "Node"),
    "pods": ("v1", "Pod"),
    "nominated_pods": ("v1", "Pod"),
    "namespaces": ("v1", "Namespace"),
    "services": ("v1", "Service"),
    "pdbs": ("policy/v1", "PodDisruptionBudget"),
}


def failing(family: str) -> list[dict[str, Any]]:
    cases = json.loads((ROOT / "tests" / "vectors" / f"{family}.json").read_text("utf-8"))["cases"]
    return [case for case in cases if "message" in case["out"]]


@pytest.mark.parametrize("family", ["schedule_one", "preemption"])
def test_the_message_is_kubernetes_own_for_every_recorded_case_that_fails(
    family: str, tmp_path: Path
) -> None:
    cases = failing(family)
    assert len(cases) > 40
    wrong = []
    for case in cases:
        given = case["in"]
        pod = {"apiVersion": "v1", "kind": "Pod", **given["pod"]}
        objects = [
            {"apiVersion": version, "kind": kind, **one}
            for key, (version, kind) in KINDS.items()
            for one in given.get(key) or ()
        ]
        read = read_dump([dump(tmp_path, *objects, pod)])
        asked = asked_by_name(
            read, f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}"
        )
        message = world_of(read, [asked.pod]).decide(asked.pod).message
        if message != case["out"]["message"]:
            wrong.append((case["name"], case["out"]["message"], message))
    assert not wrong, wrong[:3]
