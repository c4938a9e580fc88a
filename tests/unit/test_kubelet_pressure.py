"""A kubelet whose node is full or runs short, in its cluster: who has to go, and what is told of it."""

from collections.abc import Iterator

import pytest

from kubedev.api.objects import Pod
from kubedev.kubelet import events as k
from kubedev.lab.session import Lab
from tests.unit.node_world import World

NODE = """
apiVersion: v1
kind: Node
metadata: {name: small}
status:
  capacity: {cpu: "2", memory: 4Gi, pods: "10"}
"""


def manifest(name: str, cpu: str = "", memory: str = "", more: str = "") -> str:
    amounts = ", ".join(f"{key}: {value}" for key, value in (("cpu", cpu), ("memory", memory)) if value)
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  nodeName: small
  {more}
  containers:
  - {{name: c, image: busybox, resources: {{requests: {{{amounts}}}}}}}
"""


CRITICAL = "priorityClassName: system-node-critical"


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab("pressure", nodes=1, transport="memory") as lab:
        lab.apply(NODE)
        yield lab


def test_n01_a_critical_pod_finds_the_kubelet_full(lab: Lab) -> None:
    lab.apply(manifest("old", "2"))
    assert lab.pod("old").phase == "Running"
    lab.apply(manifest("critical", "1", more=CRITICAL))
    old = lab.pod("old")
    assert (old.phase, old.reason) == ("Failed", "Preempting")
    assert old.message == "Preempted in order to admit critical pod"
    [target] = [c for c in old.conditions if c.type == "DisruptionTarget"]
    assert (target.status, target.reason) == ("True", "TerminationByKubelet")
    assert target.message == "Pod was preempted by Kubelet to accommodate a critical pod."
    assert lab.pod("critical").phase == "Running"


def test_n01_only_as_many_go_as_have_to(lab: Lab) -> None:
    lab.apply(manifest("large", "1500m"))
    lab.apply(manifest("little", "500m"))
    lab.apply(manifest("critical", "400m", more=CRITICAL))
    assert (lab.pod("large").phase, lab.pod("little").phase) == ("Running", "Failed")


def test_n01_a_plain_pod_is_turned_away_as_before(lab: Lab) -> None:
    lab.apply(manifest("old", "2"))
    lab.apply(manifest("new", "1"))
    assert (lab.pod("old").phase, lab.pod("new").reason) == ("Running", "OutOfcpu")


def test_n01_a_critical_pod_evicts_no_critical_one(lab: Lab) -> None:
    lab.apply(manifest("old", "2", more=CRITICAL))
    lab.apply(manifest("new", "1", more=CRITICAL))
    new = lab.pod("new")
    assert (lab.pod("old").phase, new.reason) == ("Running", "UnexpectedAdmissionError")
    assert new.message.endswith("no set of running pods found to reclaim resources: [(res: cpu, q: 1000), ]")


def test_n01_another_reason_than_resources_spares_the_others(lab: Lab) -> None:
    lab.apply(manifest("old", "2"))
    lab.apply(manifest("new", "1", more=f"{CRITICAL}\n  nodeSelector: {{disk: ssd}}"))
    assert (lab.pod("old").phase, lab.pod("new").reason) == ("Running", "NodeAffinity")


def bound(name: str, cpu: str, priority: int = 0) -> k.PodBound:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    spec = {"containers": [container], "priority": priority, "nodeName": "n1"}
    return k.PodBound(Pod.parse({"metadata": {"name": name, "uid": name}, "spec": spec}))


class Slow(World):
    """A runtime whose containers end only when the test says so."""

    def _carry_out(self, effect: k.Effect) -> list[k.KubeletEvent]:
        return [] if isinstance(effect, k.StopContainer) else super()._carry_out(effect)


def test_n01_the_admission_waits_until_the_victims_have_ended() -> None:
    world = Slow()
    world.feed(bound("old", "64"))
    effects = world.feed(bound("critical", "1", 2_000_001_000), bound("next", "1"))
    assert effects == [k.StopContainer("old", "c")]
    effects = world.feed(k.ContainerExited("old", "c", 143))
    assert effects[0] == k.PodStatus(
        "old",
        "Failed",
        "Preempting",
        "Preempted in order to admit critical pod",
        disruption_target="Pod was preempted by Kubelet to accommodate a critical pod.",
    )
    assert [e.pod_uid for e in effects if isinstance(e, k.StartContainer)] == ["critical", "next"]


def test_n01_a_victim_that_is_deleted_meanwhile_makes_room_too() -> None:
    world = Slow()
    world.feed(bound("old", "64"))
    world.feed(bound("critical", "1", 2_000_001_000), k.PodDeleted("old"))
    effects = world.feed(k.ContainerExited("old", "c", 143))
    assert k.StartContainer("critical", "c") in effects
    assert k.PodTerminated("old") in effects
