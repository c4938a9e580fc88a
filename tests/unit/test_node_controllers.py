"""What the node-side controllers do: taints, evictions, silent kubelets, pods without a node, DaemonSets, deletion."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from kubedev.api.objects import Condition, Pod
from kubedev.api.selectors import Taint
from kubedev.cluster import events as e
from kubedev.cluster.cluster import ClusterError
from kubedev.cluster.history import History
from kubedev.lab.panel import draw_path
from kubedev.lab.session import Lab

GPU = "example.com/gpu"
N1, N2 = "gpu-node-1", "gpu-node-2"
UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
UNREACHABLE = "node.kubernetes.io/unreachable"


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab("controllers", transport="memory") as lab:
        yield lab
        assert lab.state.idle
        for step in lab.message_steps():
            draw_path(lab, step)
        assert History.from_json(lab.history.to_json()).state == lab.history.state


def pod(name: str, spec: str = "", kind: str = "Pod") -> str:
    return f"""
apiVersion: v1
kind: {kind}
metadata: {{name: {name}}}
spec:
  containers: [{{name: main, image: i}}]
  {spec}
"""


def tolerating(name: str, seconds: int | None = None, key: str = "maintenance") -> str:
    more = "" if seconds is None else f", tolerationSeconds: {seconds}"
    return pod(
        name, f"tolerations: [{{key: {key}, operator: Exists, effect: NoExecute{more}}}]\n  nodeName: {N1}"
    )


def names(lab: Lab) -> set[str]:
    return {found.name for found in lab.state.store.pods.values()}


def condition(found: Pod, kind: str) -> Condition:
    (one,) = [c for c in found.conditions if c.type == kind]
    return one


def evictions(lab: Lab) -> list[tuple[str, float]]:
    return [(dict(m.values)["pod"], m.at) for m in lab.state.messages if m.key == "pod-evicted"]


# NoExecute


def test_n05_no_execute_evicts_at_once_later_or_never(lab: Lab) -> None:
    for manifest in (pod("none", f"nodeName: {N1}"), tolerating("sixty", 60), tolerating("ever")):
        lab.apply(manifest)
    lab.taint("maintenance=true:NoExecute", N1)
    assert names(lab) == {"sixty", "ever"}
    lab.advance(59)
    assert names(lab) == {"sixty", "ever"}
    lab.advance(2)
    assert names(lab) == {"ever"}
    assert evictions(lab) == [("none", 0), ("sixty", 60)]
    lab.advance(100_000)
    assert names(lab) == {"ever"}


def test_n05_an_evicted_pod_says_why(lab: Lab) -> None:
    lab.apply(pod("none", f"nodeName: {N1}"))
    lab.taint("maintenance:NoExecute", N1)
    steps = [lab.history[step].state for step in lab.message_steps()]
    found = next(p for s in steps for p in s.store.pods.values() if p.deletion_timestamp is not None)
    target = condition(found, "DisruptionTarget")
    assert (target.status, target.reason, target.message, target.last_transition_time) == (
        "True",
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint",
        0,
    )
    assert found.deletion_timestamp == 30, "30 s of grace from now on"


def test_n05_the_smallest_of_the_matching_tolerations_counts(lab: Lab) -> None:
    both = "tolerations: [{key: a, operator: Exists, tolerationSeconds: 90, effect: NoExecute},"
    lab.apply(pod("two", f"{both} {{key: b, operator: Exists, tolerationSeconds: 30, effect: NoExecute}}]"))
    node = lab.pod("two").node_name
    lab.do(e.NodePatched(node, add=(Taint("a", "", "NoExecute"), Taint("b", "", "NoExecute"))))
    lab.advance(200)
    assert evictions(lab) == [("two", 30)]


def test_n05_of_one_taint_the_first_toleration_that_matches_counts(lab: Lab) -> None:
    both = "tolerations: [{operator: Exists, tolerationSeconds: 90, effect: NoExecute},"
    lab.apply(pod("two", f"{both} {{key: a, operator: Exists, tolerationSeconds: 30, effect: NoExecute}}]"))
    lab.taint("a:NoExecute", lab.pod("two").node_name)
    lab.advance(200)
    assert evictions(lab) == [("two", 90)]


def test_n05_a_taint_that_goes_in_time_cancels_and_a_second_one_starts_no_new_time(lab: Lab) -> None:
    lab.apply(tolerating("sixty", 60))
    lab.taint("maintenance:NoExecute", N1)
    lab.advance(50)
    lab.untaint("maintenance", N1)
    lab.advance(50)
    assert names(lab) == {"sixty"}
    lab.taint("maintenance=a:NoExecute", N1)
    lab.advance(50)
    lab.taint("maintenance=b:NoExecute", N1)
    lab.advance(10)
    assert evictions(lab) == [("sixty", 160)]


def test_n05_a_time_that_runs_is_kept_when_another_taint_is_tolerated_for_no_seconds(lab: Lab) -> None:
    both = "tolerations: [{key: a, operator: Exists, tolerationSeconds: 90, effect: NoExecute},"
    brief = "{key: b, operator: Exists, tolerationSeconds: 0, effect: NoExecute}]"
    lab.apply(pod("two", f"{both} {brief}\n  nodeName: {N1}"))
    lab.taint("a:NoExecute", N1)
    lab.advance(20)
    lab.taint("b:NoExecute", N1)
    assert evictions(lab) == []
    lab.advance(100)
    assert evictions(lab) == [("two", 90)]


def test_n05_a_toleration_that_is_added_later_counts_from_then_on(lab: Lab) -> None:
    ever = tolerating("web", 60).replace(
        "tolerations: [", "tolerations: [{key: maintenance, operator: Exists, effect: NoExecute}, "
    )
    lab.apply(tolerating("web", 60))
    lab.taint("maintenance:NoExecute", N1)
    lab.advance(50)
    lab.apply(ever)
    lab.advance(1000)
    assert (evictions(lab), lab.pod("web").phase) == ([], "Running")
    with pytest.raises(ClusterError, match='another one of pods "web" already exists'):
        lab.apply(pod("web", f"nodeName: {N1}"))
    assert len(lab.pod("web").tolerations) == 4


def test_n05_a_pod_that_waits_is_scheduled_when_a_toleration_comes(lab: Lab) -> None:
    for node in (N1, N2):
        lab.taint("dedicated=x:NoSchedule", node)
    lab.apply(pod("web"))
    assert lab.pod("web").node_name == ""
    lab.apply(pod("web", "tolerations: [{key: dedicated, operator: Exists}]"))
    lab.advance(10)
    assert lab.pod("web").phase == "Running"


@pytest.mark.parametrize(
    "spec",
    ["nodeSelector: {a: b}", "nodeName: gpu-node-2", "terminationGracePeriodSeconds: 5", "hostNetwork: true"],
)
def test_n05_a_pod_that_is_another_now_is_refused(lab: Lab, spec: str) -> None:
    lab.cordon(N2)
    lab.apply(pod("web"))
    before = lab.state
    with pytest.raises(ClusterError, match='another one of pods "web" already exists'):
        lab.apply(pod("web", spec))
    assert lab.state == before


@pytest.mark.parametrize("seconds", [0, -5])
def test_n05_a_toleration_of_no_seconds_is_none(lab: Lab, seconds: int) -> None:
    lab.apply(tolerating("brief", seconds))
    lab.taint("maintenance:NoExecute", N1)
    assert names(lab) == set()


def test_n05_a_pod_that_comes_to_a_tainted_node_has_its_time_from_then_on(lab: Lab) -> None:
    lab.taint("maintenance:NoExecute", N1)
    lab.advance(100)
    lab.apply(tolerating("sixty", 60))
    lab.advance(59)
    assert names(lab) == {"sixty"}
    lab.advance(1)
    assert evictions(lab) == [("sixty", 160)]


def test_n05_no_schedule_evicts_nobody_and_keeps_new_ones_away(lab: Lab) -> None:
    lab.apply(pod("old", f"nodeName: {N1}"))
    for node in (N1, N2):
        lab.taint("dedicated=x:NoSchedule", node)
    lab.advance(1000)
    lab.apply(pod("new"))
    assert lab.pod("old").phase == "Running"
    assert (
        "2 node(s) had untolerated taint {dedicated: x}" in condition(lab.pod("new"), "PodScheduled").message
    )
    lab.untaint("dedicated:NoSchedule", N2)
    assert lab.pod("new").node_name == N2


# Cordon


def test_n05_cordon_sets_the_field_and_the_taint(lab: Lab) -> None:
    lab.apply(pod("old", f"nodeName: {N1}"))
    lab.cordon(N1)
    assert (lab.node(N1).unschedulable, lab.node(N1).taints) == (True, (UNSCHEDULABLE,))
    assert lab.state.kubelets[N1].node.taints == (UNSCHEDULABLE,)
    lab.apply(pod("new"))
    assert (lab.pod("old").node_name, lab.pod("new").node_name) == (N1, N2)
    lab.uncordon(N1)
    assert (lab.node(N1).unschedulable, lab.node(N1).taints) == (False, ())


def test_n05_a_cordoned_node_still_counts_its_devices(lab: Lab) -> None:
    lab.cordon(N1)
    lab.plugin(GPU, 3, node=N1)
    lab.taint("a:NoSchedule", N1)
    lab.set_health("d0", healthy=False, node=N1)
    assert (lab.node(N1).capacity[GPU].value(), lab.node(N1).allocatable[GPU].value()) == (3, 2)


@pytest.mark.parametrize(
    ("kind", "status", "key"),
    [
        ("MemoryPressure", "True", "memory-pressure"),
        ("DiskPressure", "True", "disk-pressure"),
        ("PIDPressure", "True", "pid-pressure"),
        ("NetworkUnavailable", "True", "network-unavailable"),
        ("Ready", "False", "not-ready"),
    ],
)
def test_n05_a_condition_taints_its_node_as_long_as_it_lasts(
    lab: Lab, kind: str, status: str, key: str
) -> None:
    node = lab.node(N1)
    other = tuple(c for c in node.conditions if c.type != kind)
    lab.do(e.ObjectApplied(replace(node, conditions=(*other, Condition(kind, status)))))
    effects = {t.effect for t in lab.node(N1).taints if t.key == f"node.kubernetes.io/{key}"}
    assert effects == ({"NoSchedule", "NoExecute"} if kind == "Ready" else {"NoSchedule"})
    lab.do(e.ObjectApplied(replace(lab.node(N1), conditions=node.conditions)))
    assert lab.node(N1).taints == ()


# A kubelet that falls silent


def test_n05_a_silent_kubelet_is_given_up_after_50_s_and_its_pods_after_300_more(lab: Lab) -> None:
    lab.apply(pod("web", f"nodeName: {N1}"))
    lab.apply(tolerating("short", 10, UNREACHABLE))
    lab.silence_kubelet(N1)
    lab.advance(50)
    assert lab.node(N1).taints == ()
    lab.advance(1)
    assert {(t.key, t.effect) for t in lab.node(N1).taints} == {
        (UNREACHABLE, "NoSchedule"),
        (UNREACHABLE, "NoExecute"),
    }
    ready = next(c for c in lab.node(N1).conditions if c.type == "Ready")
    assert (ready.status, ready.reason, ready.message, ready.last_transition_time) == (
        "Unknown",
        "NodeStatusUnknown",
        "Kubelet stopped posting node status.",
        51,
    )
    lab.advance(1000)
    assert evictions(lab) == [("short", 61), ("web", 351)]
    assert names(lab) == {"short", "web"}, "nobody confirms that they have ended"
    assert lab.pod("web").deletion_timestamp == 351 + 30
    assert {key for key, c in lab.state.containers.items() if c.phase == "running"} == {
        ("default/web", "main"),
        ("default/short", "main"),
    }


def test_n05_a_kubelet_that_is_heard_again_ends_what_is_to_go(lab: Lab) -> None:
    lab.apply(pod("web", f"nodeName: {N1}"))
    lab.plugin(GPU, 2, node=N1)
    lab.silence_kubelet(N1)
    lab.set_health("d0", healthy=False, node=N1)
    assert lab.node(N1).allocatable[GPU].value() == 2, "nobody hears of it"
    lab.advance(400)
    lab.silence_kubelet(N1, silent=False)
    assert names(lab) == set()
    assert not lab.state.containers
    assert lab.node(N1).taints == ()
    assert {c.type: c.status for c in lab.node(N1).conditions} == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "Ready": "True",
    }
    assert lab.node(N1).allocatable[GPU].value() == 1


def test_n05_a_restart_of_the_kubelet_is_heard_too(lab: Lab) -> None:
    lab.silence_kubelet(N1)
    lab.apply(pod("web", f"nodeName: {N1}"))
    assert lab.pod("web").phase == "Pending"
    lab.advance(60)
    lab.restart_kubelet(N1)
    assert (lab.pod("web").phase, lab.node(N1).taints) == ("Running", ())


def test_n05_a_silence_that_is_short_goes_unnoticed(lab: Lab) -> None:
    lab.apply(pod("web", f"nodeName: {N1}"))
    lab.silence_kubelet(N1)
    lab.advance(45)
    lab.silence_kubelet(N1, silent=False)
    lab.advance(400)
    assert (lab.pod("web").phase, lab.node(N1).taints) == ("Running", ())


def test_n05_pods_tolerate_a_node_in_trouble_for_five_minutes_by_default(lab: Lab) -> None:
    lab.apply(pod("web"))
    assert [(t.key, t.operator, t.effect, t.toleration_seconds) for t in lab.pod("web").tolerations] == [
        ("node.kubernetes.io/not-ready", "Exists", "NoExecute", 300),
        ("node.kubernetes.io/unreachable", "Exists", "NoExecute", 300),
    ]
    lab.apply(pod("own", "tolerations: [{operator: Exists}]"))
    assert len(lab.pod("own").tolerations) == 1


# A node that is deleted


def test_n05_the_pods_of_a_deleted_node_are_collected(lab: Lab) -> None:
    lab.apply(pod("web", f"nodeName: {N1}"))
    lab.delete_node(N1)
    assert (set(lab.state.store.nodes), names(lab)) == ({N2}, {"web"})
    lab.advance(39)
    assert names(lab) == {"web"}
    lab.advance(60)
    assert names(lab) == set()
    assert not lab.state.containers
    wanted = [lab.history[step].event for step in range(len(lab.history))]
    collected = [event.effect for event in wanted if isinstance(event, e.ControllerWants)]
    assert [getattr(effect, "reason", "") for effect in collected] == ["DeletionByPodGC"]


def test_n05_a_kubelet_that_restarts_registers_its_node_anew(lab: Lab) -> None:
    lab.plugin(GPU, 2, node=N1)
    lab.cordon(N1)
    lab.delete_node(N1)
    lab.set_health("d0", healthy=False, node=N1)
    lab.restart_kubelet(N1)
    assert (lab.node(N1).unschedulable, lab.node(N1).allocatable[GPU].value()) == (False, 1)
    lab.apply(pod("web", f"nodeName: {N1}"))
    assert lab.pod("web").phase == "Running"


@pytest.mark.parametrize("force", [False, True])
def test_n02_a_pod_of_a_node_that_is_not_there_can_be_deleted(lab: Lab, force: bool) -> None:
    lab.apply(pod("lost", "nodeName: nowhere"))
    lab.delete("lost", force=force)
    assert names(lab) == set()
    lab.apply(pod("web"))
    assert lab.pod("web").phase == "Running"


def test_n02_a_pod_of_a_node_that_is_not_there_is_collected(lab: Lab) -> None:
    lab.apply(pod("lost", "nodeName: nowhere"))
    lab.advance(100)
    assert names(lab) == set()


# Grace periods


def test_n06_a_pod_that_is_deleted_by_force_is_gone_at_once_and_its_containers_soon(lab: Lab) -> None:
    lab.apply(pod("web", f"nodeName: {N1}"))
    lab.silence_kubelet(N1)
    lab.delete("web")
    assert names(lab) == {"web"}
    lab.delete("web", force=True)
    assert names(lab) == set()
    assert lab.state.containers, "its kubelet does not know"
    lab.silence_kubelet(N1, silent=False)
    assert not lab.state.containers


@pytest.mark.parametrize("silent", [True, False])
@pytest.mark.parametrize("restarts", [True, False])
def test_n05_what_takes_the_place_of_a_pod_deleted_by_force_gets_its_device(
    lab: Lab, silent: bool, restarts: bool
) -> None:
    lab.plugin(GPU, 1, node=N1)
    manifest = pod("web", f"nodeName: {N1}").replace(
        "image: i", f"image: i, resources: {{limits: {{{GPU}: 1}}}}"
    )
    lab.apply(manifest)
    first = lab.pod("web").uid
    lab.silence_kubelet(N1, silent=silent)
    lab.delete("web", force=True)
    lab.apply(manifest)
    assert lab.pod("web").uid != first
    lab.silence_kubelet(N1, silent=False)
    if restarts:
        lab.restart_kubelet(N1)
    assert (lab.pod("web").phase, lab.devices_of("web")) == ("Running", ("d0",))
    assert [key[0] for key in lab.state.containers] == [lab.pod("web").uid]


@pytest.mark.parametrize(("seconds", "until"), [(0, None), (-5, 1), (1, 1), (100, 100)])
def test_n38_a_grace_period_of_no_time_is_not_an_absent_one(
    lab: Lab, seconds: int, until: float | None
) -> None:
    lab.apply(pod("web", f"nodeName: {N1}\n  terminationGracePeriodSeconds: {seconds}"))
    lab.silence_kubelet(N1)
    lab.delete("web")
    assert [found.deletion_timestamp for found in lab.state.store.pods.values()] == ([until] if until else [])


def test_n06_a_grace_period_can_only_be_made_shorter(lab: Lab) -> None:
    lab.apply(pod("web", f"nodeName: {N1}\n  terminationGracePeriodSeconds: 100"))
    lab.silence_kubelet(N1)
    for grace, until in ((None, 100), (40, 40), (60, 40), (None, 40), (0, 1)):
        lab.delete("web", grace_seconds=grace)
        assert lab.pod("web").deletion_timestamp == until
    with pytest.raises(
        ValueError, match="--force and --grace-period greater than 0 cannot be specified together"
    ):
        lab.delete("web", grace_seconds=5, force=True)
    with pytest.raises(ValueError, match="expected a grace period of 0 seconds or more, got -1"):
        lab.delete("web", grace_seconds=-1)


# Conditions of pods


def test_n06_a_gated_pod_says_so_and_times_change_with_the_status_only(lab: Lab) -> None:
    lab.advance(5)
    lab.apply(pod("gated", "schedulingGates: [{name: example.com/x}]"))
    said = condition(lab.pod("gated"), "PodScheduled")
    assert (said.status, said.reason, said.message, said.last_transition_time) == (
        "False",
        "SchedulingGated",
        "Scheduling is blocked due to non-empty scheduling gates",
        5,
    )
    for node in (N1, N2):
        lab.cordon(node)
    lab.advance(20)
    lab.remove_gate("gated", "example.com/x")
    said = condition(lab.pod("gated"), "PodScheduled")
    assert (said.status, said.reason, said.last_transition_time) == ("False", "Unschedulable", 5)
    lab.advance(20)
    lab.uncordon(N2)
    said = condition(lab.pod("gated"), "PodScheduled")
    assert (said.status, said.reason, said.message) == ("True", "", "")
    assert said.last_transition_time is not None
    assert said.last_transition_time >= 45
    assert lab.pod("gated").phase == "Running"
    with pytest.raises(ValueError, match="expected one of the pod's gates"):
        lab.remove_gate("gated", "example.com/x")


def test_n06_gates_go_one_by_one_when_the_pod_is_applied_without_them(lab: Lab) -> None:
    for gates, phase in (
        ("{name: x}, {name: z}", "Pending"),
        ("{name: z}", "Pending"),
        ("", "Running"),
        ("{name: z}", "Running"),
    ):
        lab.apply(pod("gated", f"schedulingGates: [{gates}]"))
        assert lab.pod("gated").phase == phase


# DaemonSets

DAEMON = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      SELECTOR
      containers: [{name: c, image: i, resources: {limits: {cpu: 1}}}]
"""


def test_r5_no_pod_on_nodes_that_are_not_selected(lab: Lab) -> None:
    lab.apply(DAEMON.replace("SELECTOR", "nodeSelector: {gpu: 'yes'}"))
    assert names(lab) == set()
    lab.apply(
        "apiVersion: v1\nkind: Node\nmetadata: {name: big, labels: {gpu: 'yes'}}\n"
        "status: {capacity: {cpu: 4, memory: 8Gi, pods: 10}}\n"
    )
    assert names(lab) == {"agent-big"}
    assert lab.pod("agent-big").phase == "Running"


def test_r5_pods_are_made_as_nodes_come_and_stay_on_nodes_in_trouble(lab: Lab) -> None:
    lab.apply(DAEMON.replace("SELECTOR", ""))
    assert names(lab) == {f"agent-{N1}", f"agent-{N2}"}
    found = lab.pod(f"agent-{N1}")
    assert found.containers[0].requests["cpu"].value() == 1
    assert {(t.key.rpartition("/")[2], t.effect, t.toleration_seconds) for t in found.tolerations} == {
        ("not-ready", "NoExecute", None),
        ("unreachable", "NoExecute", None),
        ("disk-pressure", "NoSchedule", None),
        ("memory-pressure", "NoSchedule", None),
        ("pid-pressure", "NoSchedule", None),
        ("unschedulable", "NoSchedule", None),
    }
    lab.cordon(N1)
    lab.silence_kubelet(N2)
    lab.advance(2000)
    assert evictions(lab) == []
    assert names(lab) == {f"agent-{N1}", f"agent-{N2}"}


def test_r5_a_pod_that_is_deleted_is_made_anew_unless_the_node_is_tainted(lab: Lab) -> None:
    lab.apply(DAEMON.replace("SELECTOR", ""))
    lab.do(e.PodDeletionAsked(lab.pod(f"agent-{N1}").uid))
    assert lab.pod(f"agent-{N1}").phase == "Running"
    lab.taint("a:NoSchedule", N1)
    assert names(lab) == {f"agent-{N1}", f"agent-{N2}"}, "it may stay"
    lab.do(e.PodDeletionAsked(lab.pod(f"agent-{N1}").uid))
    assert names(lab) == {f"agent-{N2}"}
    lab.untaint("a", N1)
    assert names(lab) == {f"agent-{N1}", f"agent-{N2}"}
    lab.taint("a:NoExecute", N1)
    assert names(lab) == {f"agent-{N2}"}


def test_r5_applied_twice_it_changes_nothing(lab: Lab) -> None:
    lab.apply(DAEMON.replace("SELECTOR", ""))
    before = lab.state
    lab.apply(DAEMON.replace("SELECTOR", ""))
    assert lab.state == before


# What a reader types


def test_bad_taints_and_nodes_are_refused_and_change_nothing(lab: Lab) -> None:
    before = lab.state
    for text, says in (
        ("maintenance", "invalid taint spec"),
        ("a=b:Never", "unsupported taint effect"),
        (":NoExecute", "invalid taint spec"),
        ("a=b=c:NoExecute", "invalid taint spec"),
        ("a:b:NoExecute", "invalid taint spec"),
    ):
        with pytest.raises(ValueError, match=says):
            lab.taint(text)
    with pytest.raises(ValueError, match='taint "a" not found'):
        lab.untaint("a")
    for do in (lab.cordon, lab.uncordon, lab.delete_node, lab.silence_kubelet):
        with pytest.raises(ValueError, match="expected one of the nodes there are"):
            do("nowhere")
    assert lab.state == before
