"""Manifests: what is loaded, what is skipped, and what is refused with a word on what to do."""

import os
from pathlib import Path

import pytest

from kubedev.api.manifests import ManifestError, Skipped, load
from kubedev.api.objects import Node
from kubedev.api.pod_groups import Namespace, PriorityClass, Workload
from kubedev.api.requests import compute_pod_resource_request
from kubedev.api.workloads import daemon_pod

GPU_POD = """
apiVersion: v1
kind: Pod
metadata: {name: trainer}
spec:
  containers:
  - name: app
    image: train
    resources: {limits: {example.com/gpu: RESOURCE}}
"""
TEMPLATE = """
  template:
    metadata: {labels: {app: a}}
    spec:
      restartPolicy: POLICY
      containers: [{name: app, image: i}]
"""


def pod_with(gpus: str) -> str:
    return GPU_POD.replace("RESOURCE", gpus)


def refused(text: str) -> str:
    with pytest.raises(ManifestError) as caught:
        load(text, "my.yaml")
    assert str(caught.value).startswith("my.yaml")
    return str(caught.value)


def workload(kind: str, version: str, numbers: str = "", policy: str = "Always") -> str:
    spec = f"spec:\n  selector: {{matchLabels: {{app: a}}}}\n{numbers}{TEMPLATE.replace('POLICY', policy)}"
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: w, namespace: ml}}\n{spec}"


def test_a_pod_is_defaulted() -> None:
    (pod,) = load(pod_with("2")).pods
    assert compute_pod_resource_request(pod).scalar_resources == {"example.com/gpu": 2}
    assert (pod.namespace, pod.uid, pod.scheduler_name) == ("default", "default/trainer", "default-scheduler")


def test_flow_style_with_bare_keys_and_trailing_commas() -> None:
    text = '---\n{apiVersion: "v1", kind: "Namespace", metadata: {name: "a",},}\n'
    assert load(text).objects == (Namespace("a", {"kubernetes.io/metadata.name": "a"}),)


def test_several_documents_lists_and_kinds_that_are_skipped() -> None:
    text = f"""---
{pod_with("1")}
---
---
apiVersion: v1
kind: List
items:
- {{apiVersion: v1, kind: Node, metadata: {{name: n1}}, status: {{allocatable: {{cpu: 4}}}}}}
- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: settings}}}}
---
apiVersion: serving.example.dev/v1
kind: Service
metadata: {{name: model}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {{name: high}}
value: 1000
globalDefault: true
"""
    manifests = load(text)
    assert [found.name for found in manifests.objects] == ["trainer", "n1", "high"]
    assert manifests.of_type(PriorityClass) == (PriorityClass("high", 1000, True),)
    assert manifests.skipped == (
        Skipped("ConfigMap", "settings", "v1"),
        Skipped("Service", "model", "serving.example.dev/v1"),
    )


@pytest.mark.parametrize(
    ("kind", "version", "numbers", "policy", "count"),
    [
        ("Deployment", "apps/v1", "", "Always", 1),
        ("StatefulSet", "apps/v1", "  replicas: 3", "Always", 3),
        ("ReplicaSet", "apps/v1", "  replicas: 0", "Always", 0),
        ("DaemonSet", "apps/v1", "", "Always", 0),
        ("Job", "batch/v1", "", "Never", 1),
        ("Job", "batch/v1", "  parallelism: 4", "Never", 4),
        ("Job", "batch/v1", "  parallelism: 4\n  completions: 2", "OnFailure", 2),
        ("Job", "batch/v1", "  completions: 5", "Never", 1),
        ("Job", "batch/v1", "  suspend: true", "Never", 0),
    ],
)
def test_pods_of_workloads(kind: str, version: str, numbers: str, policy: str, count: int) -> None:
    manifests = load(workload(kind, version, numbers, policy))
    assert [pod.name for pod in manifests.pods] == [f"w-{i}" for i in range(count)]
    assert {(pod.namespace, pod.owner_references[0].kind) for pod in manifests.pods} <= {("ml", kind)}


def test_a_cron_jobs_pods_are_those_of_one_run() -> None:
    job = TEMPLATE.replace("POLICY", "Never").replace("\n  ", "\n      ")
    text = (
        f"apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: w}}\nspec:\n  jobTemplate:\n    spec:{job}"
    )
    assert [pod.name for pod in load(text).pods] == ["w-0"]


def test_a_daemon_sets_pod_goes_to_its_node_alone_and_stays_there() -> None:
    (found,) = load(workload("DaemonSet", "apps/v1")).of_type(Workload)
    pod = daemon_pod(found, Node("n1"))
    assert pod.affinity is not None
    assert pod.affinity.node_affinity is not None
    assert pod.affinity.node_affinity.required is not None
    (requirement,) = pod.affinity.node_affinity.required[0].match_fields
    assert (requirement.key, requirement.values) == ("metadata.name", ("n1",))
    assert any(found.key == "node.kubernetes.io/not-ready" for found in pod.tolerations)


def test_a_generated_name_is_numbered() -> None:
    text = pod_with("1").replace("name: trainer", "generateName: trainer-")
    assert [pod.name for pod in load(f"{text}---{text}").pods] == ["trainer-0", "trainer-1"]


def test_a_node_without_allocatable_is_noted() -> None:
    text = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {capacity: {cpu: 4}}"
    manifests = load(text, "nodes.yaml")
    assert str(manifests.nodes[0].allocatable["cpu"]) == "4"
    assert manifests.notes[0].startswith("nodes.yaml, document 1: Node n1 has no status.allocatable")


def test_a_half_device_is_refused_in_the_api_servers_words() -> None:
    text = refused(pod_with("0.5"))
    assert text.startswith('my.yaml, document 1: The Pod "trainer" is invalid:')
    assert 'limits[example.com/gpu]: Invalid value: "500m": must be an integer' in text
    assert "whole devices" in text


@pytest.mark.parametrize("gpus", ["1.5Gi.", "abc", "[1]", "true", "1 2"])
def test_no_quantity(gpus: str) -> None:
    text = refused(pod_with(gpus))
    assert "spec.containers[0].resources.limits[example.com/gpu]: Invalid value" in text
    assert "must match the regular expression" in text


def test_a_typo_does_not_pass_for_no_limits() -> None:
    text = refused(pod_with("1").replace("limits:", "limit:"))
    assert "spec.containers[0].resources.limit: unknown field" in text
    assert "did you mean limits?" in text


def test_an_object_of_a_newer_cluster_may_have_fields_that_are_not_known() -> None:
    text = (
        pod_with("1")
        .replace("name: trainer", "name: trainer, uid: u1")
        .replace("spec:", "spec:\n  newField: 1")
    )
    assert load(text).pods[0].uid == "u1"


def test_without_api_version_and_kind() -> None:
    text = refused(pod_with("1").replace("apiVersion: v1\nkind: Pod\n", ""))
    assert "document 1: error validating data: [apiVersion not set, kind not set]" in text
    assert "apiVersion: v1 and kind: Pod" in text


def test_an_api_version_of_long_ago() -> None:
    text = refused(workload("Deployment", "extensions/v1beta1"))
    assert 'no matches for kind "Deployment" in version "extensions/v1beta1"' in text
    assert "apps/v1" in text


@pytest.mark.parametrize("gpus", ["{{ .Values.gpus }}", '"{{ .Values.gpus }}"'])
def test_a_template_is_to_be_rendered_first(gpus: str) -> None:
    text = refused(pod_with(gpus))
    assert "line 9 holds a template, {{ .Values.gpus }}" in text
    assert "helm template" in text


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "no objects passed to apply"),
        ("hello", "expected an object"),
        ("[1, 2", "line 1"),
        ("\tapiVersion: v1", "line 1"),
        ("[" * 100_000, "nested too deeply"),
        ("a: 1\nb: 2\na: 3", 'line 3: key "a" already set in map'),
        (pod_with("1")[:60], "spec"),
        (pod_with("1")[:75], "containers"),
        (pod_with("1").replace("name: trainer", "name: 5"), "metadata.name: expected a text, got 5"),
        (pod_with("1").replace("name: trainer", "labels: {}"), "name or generateName is required"),
        (f"{pod_with('1')}---{pod_with('1')}", 'document 2: Pod "trainer" already exists'),
        (workload("Deployment", "apps/v1", "  replicas: -1"), "must be greater than or equal to 0"),
        (workload("Deployment", "apps/v1", "  replicas: 1000000000"), "at most 10000 pods"),
        (workload("Job", "batch/v1"), 'restartPolicy: Unsupported value: "Always"'),
        (
            workload("Deployment", "apps/v1").replace("app: a}}\n\n", "app: b}}\n\n"),
            "does not match template",
        ),
    ],
)
def test_refused_with_the_place(text: str, part: str) -> None:
    assert part in refused(text)


REAL = os.environ.get("KUBEDEV_REAL_MANIFESTS")


@pytest.mark.skipif(not REAL, reason="KUBEDEV_REAL_MANIFESTS names no folder of manifests")
def test_manifests_from_the_field() -> None:
    """Each one is understood, or skipped by name; only those without apiVersion and kind are refused."""
    paths = [path for path in sorted(Path(str(REAL)).iterdir()) if path.suffix in (".yaml", ".yml")]
    assert paths
    for path in paths:
        text = path.read_text()
        if "apiVersion" in text:
            manifests = load(text, path.name)
            assert manifests.objects or manifests.skipped
        else:
            with pytest.raises(ManifestError, match="apiVersion not set, kind not set"):
                load(text, path.name)
