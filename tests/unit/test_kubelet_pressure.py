"""A kubelet whose node is full or runs short, in its cluster: who has to go, and what is told of it."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from kubedev.api.objects import Pod
from kubedev.cluster import events as e
from kubedev.kubelet import events as k
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.pressure.settings import SettingsError
from kubedev.lab.actions import line_of_code
from kubedev.lab.scene import path_state
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
    assert isinstance(effects[0], k.PodStatus)
    assert replace(effects[0], conditions=()) == k.PodStatus(
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


# A node that runs short

TAINTLESS = "tolerations: [{operator: Exists}]"


def pressed(**settings: object) -> Lab:
    config = KubeletConfig(eviction_hard=(("memory.available", "1Gi"),), **settings)  # type: ignore[arg-type]
    lab = Lab("pressure", nodes=1, transport="memory", config=config)
    lab.apply(NODE)
    return lab


def conditions(lab: Lab) -> dict[str, str]:
    return {c.type: c.status for c in lab.node("small").conditions}


def test_a_node_short_of_memory_says_so_and_evicts_one_pod_a_look() -> None:
    with pressed() as lab:
        for name in ("first", "second"):
            lab.apply(manifest(name, memory="100Mi", more=TAINTLESS))
        lab.use("first", memory="2Gi")
        lab.use("second", memory="1500Mi")
        assert lab.look("small") is None
        lab.advance(10)
        assert conditions(lab)["MemoryPressure"] == "True"
        first = lab.pod("first")
        assert (first.phase, first.reason) == ("Failed", "Evicted")
        assert first.message == (
            "The node was low on resource: memory. Threshold quantity: 1Gi, available: 548Mi. Container c was "
            "using 2Gi, request is 100Mi, has larger consumption of memory. "
        )
        assert [c.reason for c in first.conditions if c.type == "DisruptionTarget"] == [
            "TerminationByKubelet"
        ]
        lab.advance(10)
        assert lab.pod("second").phase == "Running"  # what the first one used has come back
        assert conditions(lab)["MemoryPressure"] == "True"  # for five minutes more
        lab.advance(300)
        assert conditions(lab)["MemoryPressure"] == "False"


def test_the_clock_may_jump_and_every_look_is_taken() -> None:
    with pressed() as lab:
        for name in ("first", "second", "third"):
            lab.apply(manifest(name, memory="100Mi", more=TAINTLESS))
            lab.use(name, memory="1Gi")
        lab.machine_uses("small", memory="2Gi")
        lab.advance(60)
        assert [lab.pod(name).phase for name in ("first", "second", "third")].count("Failed") == 2
        found = lab.look("small")
        assert found is not None
        assert found.at == 60


def test_a_soft_threshold_waits_for_its_grace_period() -> None:
    soft = {"eviction_soft": (("memory.available", "2Gi"),)}
    with pressed(eviction_soft_grace_period=(("memory.available", "30s"),), **soft) as lab:
        lab.apply(manifest("first", more=TAINTLESS))
        lab.use("first", memory="2500Mi")
        lab.advance(30)
        assert conditions(lab)["MemoryPressure"] == "True"
        assert lab.pod("first").phase == "Running"
        lab.advance(10)
        assert lab.pod("first").phase == "Failed"


def test_under_memory_pressure_only_best_effort_pods_are_turned_away() -> None:
    with pressed() as lab:
        lab.machine_uses("small", memory="3500Mi")
        lab.advance(10)
        lab.apply(manifest("best-effort"))
        lab.apply(manifest("burstable", memory="100Mi"))
        refused = lab.pod("best-effort")
        assert (refused.phase, refused.reason) == ("Failed", "Evicted")
        assert refused.message == "Pod was rejected: The node had condition: [MemoryPressure]. "
        assert lab.pod("burstable").phase == "Running"


def test_unused_images_go_before_pods() -> None:
    disk = NODE.replace("memory: 4Gi", "memory: 4Gi, ephemeral-storage: 100Gi")
    config = KubeletConfig(eviction_hard=(("nodefs.available", "10%"),))
    with Lab("pressure", nodes=1, transport="memory", config=config) as lab:
        lab.apply(disk)
        lab.apply(manifest("writer", more=TAINTLESS))
        lab.use("writer", rootfs="60Gi", logs="10Gi")
        lab.machine_uses("small", images="25Gi")
        lab.advance(10)
        found = lab.look("small")
        assert found is not None
        assert (found.reclaimed, found.evicted) == (("containers", "images"), ())
        assert lab.state.machine_usage["small"].images == 0
        lab.use("writer", logs="35Gi")
        lab.advance(10)
        assert lab.pod("writer").reason == "Evicted"


def test_what_is_kept_from_pods_comes_off_allocatable() -> None:
    config = KubeletConfig(
        kube_reserved=(("cpu", "500m"),),
        system_reserved=(("memory", "1Gi"),),
        eviction_hard=(("memory.available", "512Mi"),),
    )
    with Lab("pressure", nodes=1, transport="memory", config=config) as lab:
        lab.apply(NODE)
        allocatable = {name: str(quantity) for name, quantity in lab.node("small").allocatable.items()}
        assert allocatable == {"cpu": "1500m", "memory": "2560Mi", "pods": "10"}


def test_what_a_reader_mistypes_is_said() -> None:
    with pressed() as lab:
        lab.apply(manifest("first"))
        with pytest.raises(KeyError, match="no pod 'frist'; there are: first"):
            lab.use("frist", memory=1)
        with pytest.raises(ValueError, match=r"expected a container of first \(c\), got 'd'"):
            lab.use("first", "d", memory=1)
        with pytest.raises(ValueError, match="expected 0 or more, got -1Gi"):
            lab.use("first", memory="-1Gi")
        assert lab.state.usage == {}


def test_a_threshold_without_a_grace_period_keeps_the_kubelet_from_starting() -> None:
    with pytest.raises(
        SettingsError, match=r"^grace period must be specified for the soft eviction threshold memory"
    ):
        pressed(eviction_soft=(("memory.available", "2Gi"),))


def test_what_pods_wrote_stands_beside_what_the_kernel_is_told() -> None:
    with pressed() as lab:
        lab.apply(manifest("burstable", "250m", "512Mi"))
        lab.apply(manifest("best-effort"))
        found = {(each.kind, each.name): each for each in lab.cgroups("small").walk()}
    root = "/kubepods.slice"
    assert found["node", "kubepods"].files == {"cpu.weight": "79", "memory.max": str(4 << 30)}
    assert found["Burstable", "burstable"].path == f"{root}/kubepods-burstable.slice"
    assert found["Burstable", "burstable"].files == {"cpu.weight": "10"}
    assert found["BestEffort", "besteffort"].files == {"cpu.weight": "1"}
    assert found["pod", "burstable"].files == {"cpu.weight": "10"}
    scores = {name: each.oom_score_adj for (kind, name), each in found.items() if kind == "container"}
    assert scores == {"c": 1000}
    assert [c.oom_score_adj for c in found["pod", "burstable"].children] == [875]


def test_pressure_taints_the_node_and_the_scheduler_keeps_away() -> None:
    with pressed() as lab:
        lab.machine_uses("small", memory="3500Mi")
        lab.advance(10)
        assert [(t.key, t.effect) for t in lab.node("small").taints] == [
            ("node.kubernetes.io/memory-pressure", "NoSchedule")
        ]
        lab.apply(
            manifest("new", memory="1Mi").replace(
                "nodeName: small", "nodeSelector: {kubernetes.io/hostname: small}"
            )
        )
        message = next(c.message for c in lab.pod("new").conditions if c.type == "PodScheduled")
        assert message.startswith(
            "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated "
            "taint {node.kubernetes.io/memory-pressure: }."
        )
        lab.machine_uses("small", memory=0)
        lab.advance(310)
        assert lab.node("small").taints == ()
        assert lab.pod("new").node_name == "small"


def test_what_a_silent_kubelet_could_not_say_is_said_when_it_is_heard_again() -> None:
    with pressed() as lab:
        lab.machine_uses("small", memory="3500Mi")
        lab.advance(10)
        lab.do(e.KubeletSilenced("small"))
        lab.advance(60)
        assert conditions(lab)["MemoryPressure"] == "Unknown"
        lab.do(e.KubeletSilenced("small", False))
        lab.advance(10)
        assert conditions(lab)["MemoryPressure"] == "True"


def test_the_picture_tells_of_pressure_the_taint_and_the_evicted_pod() -> None:
    with pressed() as lab:
        lab.apply(manifest("greedy", memory="100Mi"))
        lab.use("greedy", memory="3500Mi")
        lab.advance(10)
        shown = next(node for node in path_state(lab.state, title="").nodes if node.name == "small")
        assert shown.conditions == ("MemoryPressure",)
        assert shown.taints == ("node.kubernetes.io/memory-pressure:NoSchedule",)


def test_what_is_dragged_is_an_action_like_any_other() -> None:
    with pressed() as lab:
        lab.apply(manifest("first"))
        lab.act({"do": "use", "pod": "first", "memory": "1Gi"})
        lab.act({"do": "use", "pod": "first", "logs": "1Mi"})
        [usage] = lab.state.usage.values()
        assert (usage.memory, usage.logs) == (1 << 30, 1 << 20)
        assert line_of_code(lab.actions[-2].action) == 'lab.use("first", memory="1Gi")'


def test_a_kubelet_that_keeps_more_than_there_is_does_not_start() -> None:
    config = KubeletConfig(system_reserved=(("memory", "5Gi"),))
    with Lab("pressure", nodes=1, transport="memory", config=config) as lab:
        with pytest.raises(
            SettingsError, match=r'^invalid Node Allocatable configuration. Resource "memory" has a'
        ):
            lab.apply(NODE)
        assert "small" not in lab.state.store.nodes
        lab.apply(NODE.replace("4Gi", "8Gi"))
        assert str(lab.node("small").allocatable["memory"]) == "2972Mi"
