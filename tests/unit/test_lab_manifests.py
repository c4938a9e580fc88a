"""What a manifest means in a lab: what API server, kubelet and controllers put there, and what is said of the rest."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubedev.api.admission import admit_pod
from kubedev.api.manifests import ManifestError, load
from kubedev.api.objects import Node
from kubedev.api.pod_groups import PriorityClass, Workload
from kubedev.api.selectors import Taint, Toleration
from kubedev.cluster.daemon_sets import daemon_pods, may_stay
from kubedev.kubelet.registered_node import registered_node
from kubedev.lab.session import Lab
from tests.unit.cluster import a_pod

REAL = os.environ.get("KUBEDEV_REAL_MANIFESTS")
POD = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  SPEC
  containers: [{name: c, image: i, resources: {limits: {LIMITS}}}]
"""
NODE = """apiVersion: v1
kind: Node
metadata: {name: big, labels: {LABELS}}
status: {capacity: {cpu: 64, memory: 256Gi, pods: 110, RESOURCES}}
---
"""
DAEMON_SET = """apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      SPEC
      containers: [{name: c, image: i}]
"""


def pod(spec: str = "", limits: str = "cpu: 1") -> str:
    return POD.replace("SPEC", spec).replace("LIMITS", limits)


def node(labels: str = "", resources: str = "example.com/gpu: 2") -> str:
    return NODE.replace("LABELS", labels).replace("RESOURCES", resources)


def daemon_set(spec: str = "") -> Workload:
    return load(DAEMON_SET.replace("SPEC", spec)).of_type(Workload)[0]


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab("manifests", transport="memory", nodes=2) as lab:
        yield lab


# R2: numbers of devices that nobody makes


@pytest.mark.parametrize(
    ("resource", "amount", "asked"),
    [
        ("alibabacloud.com/gpu-mem", "32560Mi", "1Gi"),
        ("sgx.intel.com/epc", "98566144", "512Ki"),
        ("example.com/bytes", "8E", "1P"),
    ],
)
def test_r2_a_node_with_billions_of_devices_is_answered_at_once(
    lab: Lab, resource: str, amount: str, asked: str
) -> None:
    start = time.monotonic()
    loaded = lab.apply(node(resources=f"{resource}: {amount}") + pod(limits=f"{resource}: {asked}"))
    assert time.monotonic() - start < 5
    assert (lab.pod("p").phase, lab.pod("p").node_name) == ("Running", "big")
    assert not lab.state.plugins
    assert any(resource in note and "no plugin lists them" in note for note in loaded.notes)
    lab.apply(pod(limits=f"{resource}: {amount}").replace("name: p", "name: q"))
    assert f"Insufficient {resource}" in lab.pod("q").conditions[0].message


def test_r2_as_many_devices_as_a_plugin_can_list_are_made(lab: Lab) -> None:
    loaded = lab.apply(node(resources="example.com/gpu: 10000") + pod(limits="example.com/gpu: 3"))
    assert len(lab.devices_of("p")) == 3
    assert not any("no plugin" in note for note in loaded.notes)


@pytest.mark.skipif(not REAL, reason="KUBEDEV_REAL_MANIFESTS names no folder of manifests")
def test_r2_files_from_the_field(lab: Lab) -> None:
    folder = Path(str(REAL))
    memory = "alibabacloud.com/gpu-mem: 1Gi"
    lab.apply(f"{(folder / 'simon-gpu-node.yaml').read_text()}\n---\n{pod(limits=memory)}")
    assert lab.pod("p").phase == "Running"
    sgx = node(resources="sgx.intel.com/epc: 98566144").replace("big", "sgx")
    lab.apply(f"{sgx}{(folder / 'intel-sgx-job.yaml').read_text()}")
    assert lab.pod("intelsgx-demo-job-0").phase == "Running"


# R4: what every node and every pod has


@pytest.mark.parametrize(
    "selector",
    [
        "{kubernetes.io/os: linux, kubernetes.io/arch: amd64}",
        "{kubernetes.io/hostname: gpu-node-2}",
        "{beta.kubernetes.io/os: linux, beta.kubernetes.io/arch: amd64}",
    ],
)
def test_r4_labels_that_every_node_has(lab: Lab, selector: str) -> None:
    lab.apply(pod(f"nodeSelector: {selector}"))
    assert lab.pod("p").phase == "Running"


def test_r4_a_node_keeps_what_it_says_of_itself() -> None:
    given = {"kubernetes.io/arch": "arm64", "beta.kubernetes.io/instance-type": "p3", "a": "b"}
    labels = registered_node(Node("n1", given)).labels
    assert labels["kubernetes.io/arch"] == labels["beta.kubernetes.io/arch"] == "arm64"
    assert labels["node.kubernetes.io/instance-type"] == "p3"
    assert (labels["kubernetes.io/hostname"], labels["kubernetes.io/os"], labels["a"]) == ("n1", "linux", "b")
    assert "topology.kubernetes.io/zone" not in labels


def test_r4_nodes_have_the_conditions_that_a_kubelet_sets(lab: Lab) -> None:
    lab.apply(node())
    for name in ("gpu-node-1", "big"):
        conditions = {c.type: (c.status, c.reason) for c in lab.node(name).conditions}
        assert conditions == {
            "MemoryPressure": ("False", "KubeletHasSufficientMemory"),
            "DiskPressure": ("False", "KubeletHasNoDiskPressure"),
            "PIDPressure": ("False", "KubeletHasSufficientPID"),
            "Ready": ("True", "KubeletReady"),
        }


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ([], 2),
        ([{"operator": "Exists"}], 0),
        ([{"operator": "Exists", "effect": "NoSchedule"}], 2),
        ([{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}], 1),
        ([{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 5}], 1),
    ],
)
def test_r4_pods_have_default_tolerations(given: list[dict[str, object]], added: int) -> None:
    admitted = admit_pod(a_pod(tolerations=given), ())
    new = admitted.tolerations[len(given) :]
    assert len(new) == added
    assert {(t.operator, t.effect, t.toleration_seconds) for t in new} <= {("Exists", "NoExecute", 300)}


def test_r4_pods_have_the_priority_of_their_class_and_their_own_labels_in_affinity() -> None:
    term = {
        "topologyKey": "zone",
        "labelSelector": {},
        "matchLabelKeys": ["a", "b"],
        "mismatchLabelKeys": ["c"],
    }
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    given = a_pod(labels={"a": "1", "c": "2"}, priorityClassName="high", affinity=affinity)
    admitted = admit_pod(given, [PriorityClass("high", 7)])
    assert admitted.priority == 7
    assert admitted.affinity is not None
    assert admitted.affinity.pod_affinity is not None
    selector = admitted.affinity.pod_affinity.required[0].label_selector
    assert selector is not None
    found = [(e.key, e.operator, e.values) for e in selector.match_expressions]
    assert found == [("a", "In", ("1",)), ("c", "NotIn", ("2",))]


# R5: DaemonSets


NODES = (
    registered_node(Node("n1", {"gpu": "yes"})),
    registered_node(Node("n2")),
    registered_node(Node("n3", {"gpu": "yes"}, taints=(Taint("dedicated", "x", "NoSchedule"),))),
    registered_node(
        Node("n4", {"gpu": "yes"}, taints=(Taint("node.kubernetes.io/unschedulable", "", "NoSchedule"),))
    ),
    registered_node(Node("n5", {"gpu": "yes"}, taints=(Taint("broken", "", "NoExecute"),))),
)
AFFINITY = (
    "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
    "[{matchExpressions: [{key: gpu, operator: DoesNotExist}]}]}}}"
)


@pytest.mark.parametrize(
    ("spec", "nodes"),
    [
        ("", ["n1", "n2", "n4"]),
        ("nodeSelector: {gpu: 'yes'}", ["n1", "n4"]),
        ("nodeSelector: {gpu: 'no'}", []),
        ("nodeSelector: {kubernetes.io/hostname: n2}", ["n2"]),
        ("nodeName: n1", ["n1"]),
        (AFFINITY, ["n2"]),
        ("tolerations: [{operator: Exists}]", ["n1", "n2", "n3", "n4", "n5"]),
        ("tolerations: [{key: dedicated, operator: Exists}]", ["n1", "n2", "n3", "n4"]),
    ],
)
def test_r5_a_daemon_sets_pods_are_on_the_nodes_that_it_selects_and_tolerates(
    spec: str, nodes: list[str]
) -> None:
    assert [found.name for found in daemon_pods(daemon_set(spec), NODES)] == [
        f"agent-{name}" for name in nodes
    ]


def test_r5_a_pod_that_runs_is_not_driven_away_by_no_schedule() -> None:
    assert [may_stay(daemon_set(), each) for each in NODES] == [True, True, True, True, False]


def test_r5_its_pods_tolerate_nodes_in_trouble_for_ever() -> None:
    own = "{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 9}"
    spec = f"tolerations: [{own}]"
    (found,) = daemon_pods(daemon_set(f"hostNetwork: true\n      {spec}"), NODES[:1])
    assert admit_pod(found, ()).tolerations == found.tolerations
    about = {t.key: t for t in found.tolerations}
    not_ready = "node.kubernetes.io/not-ready"
    assert about[not_ready] == Toleration(not_ready, "Exists", effect="NoExecute")
    assert len([t for t in found.tolerations if t.key == not_ready]) == 1
    assert "node.kubernetes.io/network-unavailable" in about


def test_r5_a_daemon_set_on_nodes_that_it_does_not_select(lab: Lab) -> None:
    lab.apply(DAEMON_SET.replace("SPEC", "nodeSelector: {gpu: 'yes'}"))
    assert not lab.state.store.pods


@pytest.mark.skipif(not REAL, reason="KUBEDEV_REAL_MANIFESTS names no folder of manifests")
@pytest.mark.parametrize(("name", "pods"), [("intel-fpga-ds.yaml", 2), ("intel-gpu-plugin-ds.yaml", 2)])
def test_r5_files_from_the_field(lab: Lab, name: str, pods: int) -> None:
    text = (Path(str(REAL)) / name).read_text()
    lab.apply(f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: system}}\n---\n{text}")
    assert [found.phase for found in lab.state.store.pods.values()] == ["Running"] * pods


# R13: what would be skipped in silence


def test_r13_a_pod_for_another_scheduler_is_said_to_wait_for_it(lab: Lab) -> None:
    loaded = lab.apply(pod("schedulerName: other"))
    assert lab.pod("p").phase in ("", "Pending")
    assert any("pod p" in note and "other" in note for note in loaded.notes)
    assert not any("schedulerName" in note for note in lab.apply(pod().replace("name: p", "name: q")).notes)


@pytest.mark.parametrize("kind", ["Pod", "DaemonSet"])
def test_r13_a_namespace_that_is_not_there(lab: Lab, kind: str) -> None:
    text = (pod() if kind == "Pod" else DAEMON_SET.replace("SPEC", "")).replace(
        "{name: ", "{namespace: ml, name: ", 1
    )
    before = lab.state
    with pytest.raises(ManifestError) as caught:
        lab.apply(text, source="my.yaml")
    assert 'Error from server (NotFound): error when creating "my.yaml": namespaces "ml" not found' in str(
        caught.value
    )
    assert lab.state is before
    lab.apply(f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: ml}}\n---\n{text}")
    assert {found.namespace for found in lab.state.store.pods.values()} == {"ml"}
    lab.apply(text.replace("name: p", "name: q").replace("name: agent", "name: other"))


def test_r7_a_priority_class_that_is_not_there(lab: Lab) -> None:
    before = lab.state
    with pytest.raises(
        ManifestError, match='pods "p" is forbidden: no PriorityClass with name high was found'
    ):
        lab.apply(pod("priorityClassName: high"))
    assert lab.state is before


@pytest.mark.parametrize("namespace", ["default", "kube-system", "kube-public", "kube-node-lease"])
def test_r13_namespaces_that_are_always_there(lab: Lab, namespace: str) -> None:
    lab.apply(pod().replace("{name: ", f"{{namespace: {namespace}, name: ", 1))
    assert lab.pod("p").namespace == namespace


CONFIGURATIONS = [
    ("kubelet.config.k8s.io/v1beta1", "KubeletConfiguration", "a kubelet reads it"),
    ("kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration", "the scheduler reads it"),
]


@pytest.mark.parametrize(("version", "kind", "says"), CONFIGURATIONS)
def test_r13_configurations_are_named_until_somebody_reads_them(version: str, kind: str, says: str) -> None:
    text = f"apiVersion: {version}\nkind: {kind}\nfield: 1\n"
    loaded = load(text, "my.yaml")
    assert [(skipped.kind, skipped.api_version) for skipped in loaded.skipped] == [(kind, version)]
    assert loaded.notes[0].startswith(f"my.yaml, document 1: {kind} is no object of the API server: {says}")
    read = load(f"{pod()}---\n{text}", readers={(version, kind): lambda values: ("read", values["field"])})
    assert (read.configurations, read.skipped, read.notes) == ((("read", 1),), (), ())

    def refuse(values: object) -> object:
        raise ValueError("spec: no such policy")

    with pytest.raises(ManifestError, match=r"my\.yaml, document 1: spec: no such policy"):
        load(text, "my.yaml", readers={(version, kind): refuse})


# R12: too much


def test_r2_nobody_makes_billions_of_devices(lab: Lab) -> None:
    before = lab.state
    with pytest.raises(ValueError, match="at most 1000000 devices, got 34141634560"):
        lab.plugin("example.com/gpu", devices=34_141_634_560)
    assert lab.state is before


@pytest.mark.parametrize("number", [101, 5000])
def test_r12_a_pod_with_too_many_containers_is_refused_with_the_limit(lab: Lab, number: int) -> None:
    before = lab.state
    containers = ", ".join(f"{{name: c{each}, image: i}}" for each in range(number))
    text = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {{containers: [{containers}]}}"
    assert len(load(text).pods[0].containers) == number
    with pytest.raises(ManifestError, match=f"at most 100 containers in a pod, got {number} in p"):
        lab.apply(text)
    assert lab.state is before


def test_r12_as_many_containers_as_a_lab_takes_run(lab: Lab) -> None:
    containers = ", ".join(f"{{name: c{each}, image: i}}" for each in range(100))
    lab.apply(f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {{containers: [{containers}]}}")
    assert lab.pod("p").phase == "Running"


def test_r12_too_many_objects_are_refused_with_the_limit(lab: Lab) -> None:
    before = lab.state
    many = "---\n".join([pod()] * 10_002)
    replicas = DAEMON_SET.replace("DaemonSet", "Deployment").replace("spec:", "spec:\n  replicas: 10000", 1)
    for text in (many, replicas.replace("      SPEC\n", "")):
        with pytest.raises(ManifestError, match="at most 5000 objects at once, got 1000"):
            lab.apply(text)
    assert lab.state is before


def test_r5_a_daemon_sets_pods_are_made_as_nodes_come_and_as_labels_change(lab: Lab) -> None:
    lab.apply(DAEMON_SET.replace("SPEC", "nodeSelector: {gpu: 'yes'}"))
    assert not lab.state.store.pods
    lab.apply(node(labels="gpu: 'yes'"))
    assert [(found.name, found.node_name, found.phase) for found in lab.state.store.pods.values()] == [
        ("agent-big", "big", "Running")
    ]
    lab.apply(node(labels="gpu: 'yes'").replace("name: big", "name: bigger"))
    assert {found.node_name for found in lab.state.store.pods.values()} == {"big", "bigger"}
