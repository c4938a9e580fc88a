"""`kubedev anonymize`: nobody recognises the cluster, and `kubedev why` says the same about it up to names."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kubedev.__main__ import main
from kubedev.tools.anonymize import anonymized
from tests.conftest import ROOT
from tests.unit.test_why_vectors import KINDS, failing
from tests.unit.why_world import GPU, Values, dump, explain, node, pod

SECRETS = ("acme", "10.1.2.3", "s3cret", "registry.acme.com", "payroll", "frankfurt-rack")


def of_acme() -> list[Values]:
    first = node(
        "acme-gpu-1",
        {"taints": [{"key": "acme.com/team", "value": "payroll", "effect": "NoSchedule"}]},
        gpu="8",
    )
    first["metadata"]["labels"] |= {"acme.com/rack": "frankfurt-rack-7", "topology.kubernetes.io/zone": "b"}
    first["metadata"]["annotations"] = {"acme.com/owner": "s3cret"}
    first["spec"]["providerID"] = "aws:///acme/i-1"
    first["status"] |= {
        "addresses": [{"type": "InternalIP", "address": "10.1.2.3"}],
        "images": [{"names": ["registry.acme.com/x"]}],
    }
    second = node("acme-gpu-2", gpu="8")
    user = pod("payroll-0", on="acme-gpu-2", gpu="7")
    user["metadata"]["namespace"] = "acme-prod"
    user["metadata"]["labels"] = {"app.kubernetes.io/name": "payroll", "shard": "7"}
    user["status"]["podIP"] = "10.1.2.3"
    container = {
        "name": "payroll",
        "image": "registry.acme.com/payroll",
        "env": [{"name": "KEY", "value": "s3cret"}],
    }
    asking = pod("payroll-train", spec={"nodeSelector": {"acme.com/rack": "frankfurt-rack-7"}}, gpu="2")
    asking["spec"]["containers"][0] |= container
    asking["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
         "message": "0/2 nodes are available: 1 node(s) had untolerated taint {acme.com/team: payroll}, seen on "
         "acme-gpu-1 at 10.1.2.3."}
    ]  # fmt: skip
    return [first, second, user, asking]


def test_nothing_of_the_cluster_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["anonymize", dump(tmp_path, *of_acme())]) == 0
    out = capsys.readouterr().out
    assert [secret for secret in SECRETS if secret in out] == []
    kept = json.loads(out)["items"]
    assert kept[0]["status"]["allocatable"][GPU] == "8"
    assert kept[0]["metadata"]["labels"]["topology.kubernetes.io/zone"] == "b"
    assert kept[0]["metadata"]["labels"]["kubernetes.io/hostname"] == kept[0]["metadata"]["name"]
    assert kept[2]["spec"]["nodeName"] == kept[1]["metadata"]["name"]
    assert kept[2]["metadata"]["labels"]["app.kubernetes.io/name"] != "payroll"
    assert "image" not in out
    assert "env" not in out


def same_up_to_names(objects: list[Values], tmp_path: Path, name: str) -> list[Any]:
    """What `why` says of both: of the real dump with the names replaced, and of the anonymous one."""
    found, hides = anonymized(objects)
    namespace, _, last = name.partition("/")
    theirs = explain(
        dump(tmp_path, *found["items"], name="a.json"), f"{hides.name(namespace)}/{hides.name(last)}"
    )
    ours = explain(dump(tmp_path, *objects, name="o.json"), name)
    words = re.compile(r"[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*")

    def word(match: re.Match[str]) -> str:
        text = match[0].rstrip(".,")
        parts = text.split("/")
        plain = hides.name(text) if hides.name(text) != text else "/".join(map(hides.name, parts))
        return plain + match[0][len(text) :]

    translated = json.loads(words.sub(word, json.dumps(ours).replace("10.1.2.3", "0.0.0.0")))
    return [translated, theirs]


def test_why_says_the_same_up_to_names(tmp_path: Path) -> None:
    ours, theirs = same_up_to_names(of_acme(), tmp_path, "default/payroll-train")
    assert ours == theirs
    assert theirs["remedies"]


@pytest.mark.parametrize("family", ["schedule_one", "preemption"])
def test_every_recorded_case_that_fails_has_the_same_counts_and_causes(family: str, tmp_path: Path) -> None:
    different = []
    for case in failing(family)[::3]:
        given = case["in"]
        objects = [
            {"apiVersion": version, "kind": kind, **one}
            for key, (version, kind) in KINDS.items()
            for one in given.get(key) or ()
        ]
        asked = {"apiVersion": "v1", "kind": "Pod", **given["pod"]}
        found, hides = anonymized([*objects, asked])
        namespace, name = asked["metadata"].get("namespace", "default"), asked["metadata"]["name"]
        theirs = explain(
            dump(tmp_path, *found["items"], name="a.json"), f"{hides.name(namespace)}/{hides.name(name)}"
        )
        ours = explain(dump(tmp_path, *objects, asked, name="o.json"), f"{namespace}/{name}")
        if facts(ours) != facts(theirs):
            different.append((case["name"], facts(ours), facts(theirs)))
    assert not different, different[:2]


def facts(told: Values) -> Any:
    """What is said, without names."""
    preemption = told.get("preemption") or {}
    return (
        re.sub(r"\{.*?\}", "{}", told["message"]),
        sorted(
            (group["plugin"], group["count"], [one["text"] for one in group["sums"]])
            for group in told.get("groups", ())
        ),
        [[move["kind"] for move in one["moves"]] for one in told.get("remedies", ())],
        (preemption.get("helps"), len(preemption.get("victims", ()))),
        told["scheduled"],
    )


def test_bad_input_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").write_text("{")
    assert main(["anonymize", str(tmp_path / "x")]) == 2
    assert main(["anonymize", str(ROOT / "pyproject.toml")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_what_is_left_out_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = dump(tmp_path, *of_acme(), {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
    (tmp_path / "devices.json").write_text('{"pod_resources": []}')
    assert main(["anonymize", path, str(tmp_path / "devices.json")]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0].endswith("is not looked at: ConfigMap (1)")
    assert "dump.json: left out are objects" in said[0]
    assert said[1].endswith("devices.json is left out: it is no dump of pods and nodes")
    assert main(["anonymize", dump(tmp_path, *of_acme())]) == 0
    assert capsys.readouterr().err == ""
