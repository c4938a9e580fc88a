"""Pods of DaemonSets that fail: they are deleted and made anew, later each time."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest

from kubedev.api.objects import Node, Pod
from kubedev.api.pod_groups import Workload
from kubedev.api.workloads import daemon_pod
from kubedev.cluster.controllers.daemon import BackOffs, manage, next_retry
from kubedev.cluster.controllers.effects import CreatePod, DeletePod
from kubedev.lab.session import Lab

GPU, NODE = "example.com/gpu", "gpu-node-1"
SPEC = f"containers: [{{name: c, image: i, resources: {{limits: {{{GPU}: 1}}}}}}]"
DAEMON = f"""
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: agent}}
spec:
  selector: {{matchLabels: {{app: agent}}}}
  template: {{metadata: {{labels: {{app: agent}}}}, spec: {{{SPEC}}}}}
"""


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab("daemons", nodes=1, transport="memory") as lab:
        yield lab
        assert lab.state.idle


def agent(lab: Lab) -> tuple[str, str]:
    found = lab.pod(f"agent-{NODE}")
    return found.phase, found.uid.rpartition("#")[2]


def test_r5_a_pod_that_its_kubelet_refused_is_made_anew_and_waits_longer_each_time(lab: Lab) -> None:
    lab.plugin(GPU, 1)
    lab.apply(DAEMON)
    seen = []
    for _ in range(3):
        lab.restart_kubelet(reboot=True)  # its plugin is gone: the pod is refused
        lab.plugin(GPU, 1)
        seen.append((*agent(lab), lab.state.now))
    assert [(phase, number) for phase, number, _ in seen] == [
        ("Running", "2"),
        ("Running", "3"),
        ("Failed", "3"),
    ]
    lab.advance(60)
    assert agent(lab) == ("Running", "4")
    made = [m.at for m in lab.state.messages if m.key == "daemon-pod-created"]
    assert made == [0, 0, 1, 3]


def test_r5_a_pod_that_is_evicted_is_made_anew(lab: Lab) -> None:
    lab.apply(DAEMON.replace(f", resources: {{limits: {{{GPU}: 1}}}}", ""))
    first = lab.pod(f"agent-{NODE}").uid
    lab.use(f"agent-{NODE}", memory="64Gi")
    lab.advance(400)
    assert (lab.pod(f"agent-{NODE}").phase, lab.pod(f"agent-{NODE}").uid != first) == ("Running", True)


WORKLOAD = Workload.parse(
    {
        "kind": "DaemonSet",
        "metadata": {"name": "agent"},
        "spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c"}]}}},
    }
)
HOST = Node("n1")


def look(phase: str, now: float, back_offs: BackOffs, **more: float) -> tuple[BackOffs, list[type]]:
    there: list[Pod] = [replace(daemon_pod(WORKLOAD, HOST), phase=phase, **more)] if phase else []
    back_offs, effects = manage([WORKLOAD], [HOST], there, (), now, back_offs)
    return back_offs, [type(effect) for effect in effects]


def test_r5_a_daemon_pod_that_always_fails_waits_up_to_a_quarter_of_an_hour() -> None:
    back_offs: BackOffs = {}
    now, times = 0.0, []
    for _ in range(13):
        back_offs, effects = look("Failed", now, back_offs)
        while effects != [DeletePod]:
            retry = next_retry(back_offs)
            assert (effects, retry is not None and retry > now) == ([], True)
            now = retry or 0.0
            back_offs, effects = look("Failed", now, back_offs)
        times.append(now)
        back_offs, effects = look("", now, back_offs)
        assert effects == [CreatePod]
    waits = [later - earlier for earlier, later in pairwise(times)]
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]
    back_offs, effects = look("Failed", now + 1801, back_offs)
    assert effects == [DeletePod]
    assert next(iter(back_offs.values())).wait == 1, "it is forgotten"


def test_r5_one_that_is_going_or_runs_is_left_alone_and_one_that_has_succeeded_goes() -> None:
    assert look("Failed", 0, {}, deletion_timestamp=1.0) == ({}, [])
    assert look("Running", 0, {}) == ({}, [])
    assert look("Succeeded", 0, {}) == ({}, [DeletePod])
