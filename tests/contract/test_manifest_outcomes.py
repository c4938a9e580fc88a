"""Manifests as people write them, all the way: Pending in Kubernetes' words, then running once the devices are there.

The small ones here always run; those from the field where KUBEDEV_REAL_MANIFESTS names a folder with them.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubedev.api.objects import Pod
from kubedev.lab.session import Lab

NO_VICTIMS = "preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
REFUSED = (
    "Pod was rejected: Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. "
    "Requested: 1, Available: 0, which is unexpected"
)

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: cuda
        image: i
        command: [touch, /tmp/a-manifest-was-executed]
        resources: {limits: {nvidia.com/gpu: "1"}}
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
"""
FLOW = """
{apiVersion: "v1", kind: "Pod", metadata: {name: "demo"}, spec: {containers: [{name: "ctr", image: "nginx",
 resources: {requests: {example.com/dongle: 3}, limits: {example.com/dongle: 3},},}],},}
"""
TWO_RESOURCES = """
apiVersion: v1
kind: Pod
metadata: {name: two}
spec:
  restartPolicy: Never
  containers:
  - {name: pf, image: i, resources: {limits: {example.com/pf: 1, cpu: 1}, requests: {example.com/pf: 1, cpu: 1}}}
  - {name: vf, image: i, resources: {limits: {example.com/vf: 1, cpu: 1}, requests: {example.com/vf: 1, cpu: 1}}}
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: serve}
spec:
  replicas: 2
  selector: {matchLabels: {app: serve}}
  template:
    metadata: {labels: {app: serve}}
    spec:
      containers:
      - name: main
        image: i
        resources: {limits: {cpu: "10", amd.com/gpu: "1"}, requests: {cpu: "6", amd.com/gpu: "1"}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: models}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""

# The file or the text, the resources that a pod asks for, how many devices all its pods need of each.
OWN = {
    "job": (JOB, {"nvidia.com/gpu": 1}),
    "flow": (FLOW, {"example.com/dongle": 3}),
    "two": (TWO_RESOURCES, {"example.com/pf": 1, "example.com/vf": 1}),
    "deployment": (DEPLOYMENT, {"amd.com/gpu": 2}),
}
REAL = {
    "nvidia-job.yaml": {"nvidia.com/gpu": 1},
    "website-extended-resource-pod.yaml": {"example.com/dongle": 3},
    "sriov-pod-tc2.yaml": {"intel.com/intel_sriov_netdevice": 1},
    "intel-dlb-libdlb-pod.yaml": {"dlb.intel.com/pf": 1, "dlb.intel.com/vf": 1},
    "rocm-vllm-deployment.yaml": {"amd.com/gpu": 1},
}


@pytest.fixture(params=["memory", "grpc"])
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    with Lab("outcomes", transport=request.param, plugins="thread") as lab:
        yield lab


def waits_then_runs(lab: Lab, manifest: str | Path, needs: dict[str, int]) -> None:
    loaded = lab.apply(manifest)
    names = [pod.name for pod in loaded.pods]
    insufficient = ", ".join(f"2 Insufficient {resource}" for resource in sorted(needs))
    message = f"0/2 nodes are available: {insufficient}. {NO_VICTIMS}"
    assert {condition(lab.pod(name)) for name in names} == {message}
    assert lab.missing_resources(loaded.pods) == sorted(needs)

    for resource, count in needs.items():  # one device less than are needed
        lab.plugin(resource, count - 1, numa=1)
    assert not all(lab.pod(name).phase == "Running" for name in names)

    for resource, count in needs.items():
        lab.plugin(resource, count, numa=1)
    lab.advance(10)  # whoever waits in back-off has waited
    assert {lab.pod(name).phase for name in names} == {"Running"}
    given = [device for name in names for device in lab.devices_of(name)]
    assert len(given) <= sum(needs.values())
    for name in names:
        for container in lab.pod(name).containers:
            assert f"container {container.name} of pod {name}" in lab.output(name)


def condition(pod: Pod) -> str:
    assert pod.phase in ("", "Pending")
    return pod.conditions[0].message


def eight_run_and_two_are_refused(lab: Lab, manifest: str | Path, room: int, pods: int) -> None:
    loaded = lab.apply(manifest)
    assert len(loaded.pods) == pods
    found = [lab.pod(pod.name) for pod in loaded.pods]
    assert [pod.phase for pod in found] == ["Running"] * room + ["Failed"] * (pods - room)
    assert {(p.reason, p.message) for p in found[room:]} == {("UnexpectedAdmissionError", REFUSED)}
    given = [device for pod in found for device in lab.devices_of(pod.name)]
    assert len(set(given)) == len(given) == room


@pytest.mark.parametrize("name", OWN)
def test_small_manifests(lab: Lab, name: str) -> None:
    waits_then_runs(lab, *OWN[name])
    assert not Path("/tmp/a-manifest-was-executed").exists(), "a manifest's own command is never executed"


def test_a_node_with_more_pods_than_devices(lab: Lab) -> None:
    eight_run_and_two_are_refused(lab, crowd(8, 10), 8, 10)


def crowd(devices: int, pods: int) -> str:
    """A node with so many devices, and pods that are bound to it already."""
    amounts = f'{{cpu: "64", memory: 256Gi, pods: "110", nvidia.com/gpu: "{devices}"}}'
    container = '{name: c, image: i, resources: {limits: {nvidia.com/gpu: "1"}}}'
    documents = [
        f"apiVersion: v1\nkind: Node\nmetadata: {{name: n1}}\nstatus: {{capacity: {amounts}}}",
        *(
            f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p-{number:02}}}\n"
            f"spec: {{nodeName: n1, containers: [{container}]}}"
            for number in range(pods)
        ),
    ]
    return "\n---\n".join(documents)


@pytest.mark.parametrize("name", REAL)
def test_manifests_from_the_field(lab: Lab, real_manifests: Path, name: str) -> None:
    waits_then_runs(lab, real_manifests / name, REAL[name])


def test_a_node_from_the_field(lab: Lab, real_manifests: Path) -> None:
    manifest = real_manifests / "nvsentinel-kwok-a100-node-and-10-pods.yaml"
    lab.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: nvsentinel-scale}")
    eight_run_and_two_are_refused(lab, manifest, 8, 10)
