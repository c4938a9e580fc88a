"""Reported cases as dumps: the exact message, the arithmetic, and what helps, tried out."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.why_world import GPU, Values, dump, explain, node, pod

LOW, HIGH = {"priority": 0}, {"priority": 1000}
NO_VICTIMS = "No preemption victims found for incoming pod"
MOST = "9223372036854775807"
TAINT = {"key": GPU, "effect": "NoSchedule"}


def sums(told: Values) -> list[str]:
    return [one["text"] for group in told["groups"] for one in group["sums"]]


def remedies(told: Values) -> dict[str, str]:
    return {" and ".join(move["what"] for move in one["moves"]): one["node"] for one in told["remedies"]}


def causes(told: Values) -> dict[str, str]:
    return {group["closest"]: cause["kind"] for group in told["groups"] for cause in group["causes"]}


def test_b52_three_causes_of_one_message_are_told_apart(tmp_path: Path) -> None:
    told = explain(dump(
        tmp_path, node("a"), node("b", gpu="0"), node("c", gpu="1"), node("d", spec={"taints": [TAINT]}, gpu="1"),
        pod("user", on="c", gpu="1"), pod("trainer", gpu="1"),
    ))  # fmt: skip
    assert told["message"] == (
        "0/4 nodes are available: 1 node(s) had untolerated taint {nvidia.com/gpu: }, 3 Insufficient nvidia.com/gpu. "
        f"preemption: 0/4 nodes are available: 1 Preemption is not helpful for scheduling, 3 {NO_VICTIMS}."
    )
    assert causes(told) == {"a": "absent", "b": "none", "c": "in use"}
    assert f"{GPU}: requested 1 > free 0 (allocatable 1 - requested 1)" in sums(told)
    assert next(g["holders"] for g in told["groups"] if g["closest"] == "c") == [
        {"pod": "default/user", "resource": GPU, "amount": 1}
    ]
    first = told["remedies"][0]
    assert (first["moves"][0]["kind"], first["node"], first["wakes"]) == ("toleration", "d", True)
    assert "1 pod gone from node c: default/user" in remedies(told)


def test_b53_a_request_larger_than_any_node_is_called_so_and_nobody_goes_for_it(tmp_path: Path) -> None:
    nodes = [node("n1", gpu="4"), node("n2", gpu="4")]
    users = [pod(f"low-{n}", on=n, spec=LOW, gpu="4") for n in ("n1", "n2")]
    told = explain(dump(tmp_path, *nodes, *users, pod("high", spec=HIGH, gpu="8")))
    assert told["message"] == (
        f"0/2 nodes are available: 2 Insufficient {GPU}. preemption: 0/2 nodes are available: 2 Insufficient {GPU}."
    )
    assert set(causes(told).values()) == {"too small"}
    assert sums(told) == [f"{GPU}: requested 8 > free 0 (allocatable 4 - requested 4)"]
    assert not told["preemption"]["helps"]
    assert remedies(told) == {f"a smaller request: {GPU} 4 instead of 8": "n1"}
    assert told["remedies"][0]["evicts"] == [{"pod": "default/low-n1", "priority": 0}]


def leaving(name: str, on: str, **requests: str) -> Values:
    """A pod that the scheduler had deleted, and that is not gone yet."""
    target = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    found = pod(name, on, {"priority": 0}, {"conditions": [target]}, **requests)
    found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:30Z"
    return found


def test_b54_a_preemptor_waits_while_its_victim_ends_and_fits_when_it_is_gone(tmp_path: Path) -> None:
    high = pod("high", spec=HIGH, cpu="4")
    told = explain(dump(tmp_path, node("n"), pod("low", on="n", spec=LOW, cpu="4"), high))
    assert told["message"] == "0/1 nodes are available: 1 Insufficient cpu."
    assert told["preemption"]["node"] == "n"
    assert [one["pod"] for one in told["preemption"]["victims"]] == ["default/low"]
    high["status"]["nominatedNodeName"] = "n"
    told = explain(dump(tmp_path, node("n"), leaving("low", "n", cpu="4"), high))
    eligible = "not eligible due to a terminating pod on the nominated node."
    assert told["message"] == f"0/1 nodes are available: 1 Insufficient cpu. preemption: {eligible}"
    assert told["preemption"]["not_eligible"] == eligible
    assert sums(told) == ["cpu: requested 4 > free 0 (allocatable 4 - requested 4)"]
    assert "1 pod gone from node n: default/low" in remedies(told)
    assert explain(dump(tmp_path, node("n"), high))["node"] == "n"


def test_b56_a_preemptor_looks_elsewhere_when_its_nominated_node_breaks(tmp_path: Path) -> None:
    high = pod("high", spec=HIGH, status={"nominatedNodeName": "a"}, cpu="4")
    trouble = {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}
    middle = pod("mid", on="b", spec={"priority": 10}, cpu="4")
    told = explain(dump(tmp_path, node("a", trouble), node("b"), leaving("low", "a", cpu="4"), middle, high))
    assert told["message"] == (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }."
    )
    assert (told["preemption"]["node"], told["preemption"]["victims"][0]["pod"]) == ("b", "default/mid")
    healthy = explain(dump(tmp_path, node("a"), node("b"), leaving("low", "a", cpu="4"), middle, high))
    assert "terminating pod on the nominated node" in healthy["message"]


def test_b57_a_disruption_budget_is_broken_only_where_nothing_else_helps(tmp_path: Path) -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "zk", "namespace": "default"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"zk": "yes"}}},
        "status": {"disruptionsAllowed": 1},
    }
    ensemble = [pod(f"zk-{n}", on="a", spec=LOW, cpu="1") for n in range(3)]
    for member in ensemble:
        member["metadata"]["labels"] = {"zk": "yes"}
    high = pod("high", spec=HIGH, cpu="3")
    alone = explain(dump(tmp_path, node("a"), *ensemble, budget, high))
    assert alone["message"] == "0/1 nodes are available: 1 Insufficient cpu."
    assert sums(alone) == ["cpu: requested 3 > free 1 (allocatable 4 - requested 3)"]
    assert alone["preemption"]["budgets_broken"] == 1
    others = [pod(f"web-{n}", on="b", spec=LOW, cpu="2") for n in range(2)]
    two = explain(dump(tmp_path, node("a"), node("b"), *ensemble, *others, budget, high))
    assert (two["preemption"]["node"], two["preemption"]["budgets_broken"]) == ("b", 0)
    assert two["preemption"]["chosen_by"] == "fewest broken disruption budgets"


def test_b58_two_of_four_gpus_in_use_on_each_node_are_named_with_who_holds_them(tmp_path: Path) -> None:
    nodes = [node("a", gpu="4"), node("b", gpu="4"), node("c", gpu="2")]
    told = explain(
        dump(
            tmp_path, *nodes, pod("two", on="a", gpu="2"), pod("four", on="b", gpu="4"), pod("last", gpu="4")
        )
    )
    assert told["message"] == (
        f"0/3 nodes are available: 3 Insufficient {GPU}. preemption: 0/3 nodes are available: 3 {NO_VICTIMS}."
    )
    assert f"{GPU}: requested 4 > free 2 (allocatable 4 - requested 2)" in sums(told)
    found = remedies(told)
    assert found["1 pod gone from node a: default/two"] == "a"
    assert found[f"a smaller request: {GPU} 2 instead of 4"] in ("a", "c")


@pytest.mark.parametrize(
    ("requests", "sum_"),
    [
        ({"memory": "50E"}, None),
        ({"cpu": "10E"}, None),
        ({"cpu": "10Mi"}, "cpu: requested 10485760 > free 4 (allocatable 4 - requested 0)"),
        ({"gpu": MOST}, f"{GPU}: requested {MOST} > free 1 (allocatable 1 - requested 0)"),
    ],
)  # fmt: skip
def test_b60_huge_quantities_are_told_as_v1_32_counts_them(
    requests: dict[str, Any], sum_: str | None, tmp_path: Path
) -> None:
    told = explain(dump(tmp_path, node("n", gpu="1"), pod("p", **requests)))
    assert told["scheduled"] is (sum_ is None)
    if sum_:
        name = "cpu" if "cpu" in requests else GPU
        assert told["message"] == (
            f"0/1 nodes are available: 1 Insufficient {name}. preemption: 0/1 nodes are available: 1 {NO_VICTIMS}."
        )
        assert sums(told) == [sum_]
        assert remedies(told)


def test_b61_an_init_containers_request_holds_the_node_for_the_life_of_its_pod(tmp_path: Path) -> None:
    first = pod("first", on="n", cpu="1", gpu="1")
    first["spec"]["initContainers"] = [{"name": "i", "resources": {"requests": {"cpu": "8", GPU: "4"}}}]
    told = explain(dump(tmp_path, node("n", cpu="10", gpu="4"), first, pod("second", cpu="4")))
    assert told["message"] == (
        f"0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 {NO_VICTIMS}."
    )
    assert sums(told) == ["cpu: requested 4 > free 2 (allocatable 10 - requested 8)"]
    assert told["groups"][0]["holders"] == [{"pod": "default/first", "resource": "cpu", "amount": 8000}]
    assert remedies(told)["a smaller request: cpu 2 instead of 4"] == "n"


def test_b62_overhead_counts_on_top_of_the_containers(tmp_path: Path) -> None:
    asking = pod("p", spec={"overhead": {"cpu": "250m", "memory": "120Mi"}}, cpu="500m", memory="100Mi")
    asking["spec"]["containers"].append(
        {"name": "d", "resources": {"requests": {"cpu": "1500m", "memory": "100Mi"}}}
    )
    told = explain(dump(tmp_path, node("n", cpu="2"), asking))
    assert told["requests"] == {"cpu": 2250, "memory": 320 << 20}
    assert sums(told) == ["cpu: requested 2250m > free 2 (allocatable 2 - requested 0)"]
    assert told["message"] == (
        f"0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 {NO_VICTIMS}."
    )
    assert remedies(told)["a smaller request: cpu 2 instead of 2250m"] == "n"
    assert explain(dump(tmp_path, node("n", cpu="2"), node("m", cpu="2250m"), asking))["node"] == "m"


def test_b63_what_wakes_a_waiting_pod_is_named_and_a_stale_condition_is_shown(tmp_path: Path) -> None:
    waiting = pod("p", gpu="1")
    said = (
        f"0/1 nodes are available: 1 Insufficient {GPU}. preemption: 0/1 nodes are available: 1 {NO_VICTIMS}."
    )
    waiting["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": said}
    ]
    told = explain(dump(tmp_path, node("n"), waiting))
    assert (told["message"], told["condition"]) == (said, None)
    events = told["queue"]["events"]["NodeResourcesFit"]
    assert {"PodDelete", "NodeAdd", "NodeUpdateNodeAllocatable"} <= set(events)
    assert "NodeUpdateNodeLabel" not in events
    registered = explain(dump(tmp_path, node("n", gpu="2"), waiting))
    assert registered["scheduled"]
    assert registered["condition"] == {"reason": "Unschedulable", "message": said}


def test_n06_a_gated_pod_has_its_own_message_and_fits_without_the_gate(tmp_path: Path) -> None:
    told = explain(dump(tmp_path, node("n"), pod("p", spec={"schedulingGates": [{"name": "x"}]})))
    assert (told["state"], told["reason"]) == ("gated", "SchedulingGated")
    assert told["message"] == "Scheduling is blocked due to non-empty scheduling gates"
    assert remedies(told) == {"the scheduling gates (x) taken away": "n"}
    full = dump(
        tmp_path, node("n"), pod("q", on="n", cpu="4"), pod("p", spec={"schedulingGates": [{"name": "x"}]})
    )
    assert "the scheduling gates (x) taken away and 1 pod gone from node n: default/q" in remedies(
        explain(full)
    )


@pytest.mark.parametrize("given", [{"nodeSelector": {}}, {}])
def test_n38_an_empty_node_selector_is_asked_about_and_an_absent_one_is_not(
    given: Values, tmp_path: Path
) -> None:
    from kubedev.tools.why.dump import read_dump
    from kubedev.tools.why.world import world_of

    path = dump(tmp_path, node("n"), pod("full", on="n", spec=given, cpu="4"), pod("p", spec=given))
    read = read_dump([path])
    for key in ("default/p", "default/full"):
        decision = world_of(read).decide(read.pods[key])
        assert decision.found is not None
        assert ("NodeAffinity" in decision.found.asked) == ("nodeSelector" in given)
    told = explain(path)
    assert told["message"] == (
        f"0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 {NO_VICTIMS}."
    )
    assert sums(told) == ["cpu: requested 1 > free 0 (allocatable 4 - requested 4)"]
    assert "1 pod gone from node n: default/full" in remedies(told)


# What operators asked about prepared dumps


def details(told: Values) -> list[str]:
    return [detail for group in told["groups"] for detail in group["details"]]


def test_a_resource_that_no_node_has_is_known_by_a_name_like_it(tmp_path: Path) -> None:
    told = explain(dump(tmp_path, node("n", gpu="8"), pod("p", **{"nvidia.com/gpus": "1"})))
    assert causes(told) == {"n": "absent"}
    assert remedies(told)[f"{GPU} in place of nvidia.com/gpus, which no node has"] == "n"


def test_unhealthy_devices_are_told_as_such(tmp_path: Path) -> None:
    full = dump(
        tmp_path, node("n", capacity={GPU: "8"}, gpu="7"), pod("q", on="n", gpu="6"), pod("p", gpu="2")
    )
    told = explain(full)
    assert sums(told) == [f"{GPU}: requested 2 > free 1 (allocatable 7 - requested 6)"]
    assert causes(told) == {"n": "unhealthy"}
    assert remedies(told)[f"the 1 unhealthy {GPU} of node n healthy again (capacity 8, allocatable 7)"] == "n"


def test_a_skew_is_told_with_its_numbers(tmp_path: Path) -> None:
    zones = [node("a"), node("b"), node("c", spec={"taints": [{"key": "down", "effect": "NoSchedule"}]})]
    for one in zones:
        one["metadata"]["labels"]["zone"] = one["metadata"]["name"]
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    spread["labelSelector"] = {"matchLabels": {"app": "web"}}
    web = [pod("w0", on="a"), pod("w1", on="b"), pod("w2", spec={"topologySpreadConstraints": [spread]})]
    for one in web:
        one["metadata"]["labels"] = {"app": "web"}
    told = explain(dump(tmp_path, *zones, *web))
    skew = "zone=a has 1 such pod, with this one 2; the domain with the fewest has 0: a skew of 2 > maxSkew 1"
    assert skew in details(told)
    found = remedies(told)
    assert found["a toleration of the taint down:NoSchedule"] == "c"
    assert "zone=c has 0; of it count c; the pod does not tolerate the taint down:NoSchedule of c" in "".join(
        details(told)
    )
    assert found["the taint down:NoSchedule taken off node c"] == "c"
    how = {move["how"] for one in told["remedies"] for move in one["moves"]}
    assert "kubectl taint node c down:NoSchedule-" in how
    assert "its topology spread counted over the nodes that it tolerates" in found


def test_who_keeps_a_pod_away_is_named_and_labels_that_are_missing_too(tmp_path: Path) -> None:
    term = {"labelSelector": {"matchLabels": {"app": "kafka"}}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    asks = {"affinity": apart, "nodeSelector": {"disk": "nvme"}}
    nodes = [node("k1"), node("k2")]
    nodes[0]["metadata"]["labels"]["disk"] = "nvme"
    brokers = [pod("kafka-0", on="k1", spec=asks), pod("kafka-1", spec=asks)]
    for one in brokers:
        one["metadata"]["labels"] = {"app": "kafka"}
    told = explain(dump(tmp_path, *nodes, *brokers))
    assert set(details(told)) == {
        "in kubernetes.io/hostname=k1 there is default/kafka-0",
        "k2 lacks disk=nvme",
    }
    first = told["remedies"][0]
    assert first["moves"][0]["how"] == "kubectl label node k2 disk=nvme"
    assert first["wakes"]
    assert "1 pod gone from node k1: default/kafka-0" in remedies(told)


def test_a_claim_that_is_not_there_is_told_before_any_node_is_looked_at(tmp_path: Path) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default"},
    }
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "dta"}}
    told = explain(dump(tmp_path, node("a"), node("b"), claim, pod("p", spec={"volumes": [volume]})))
    assert told["message"].startswith('0/2 nodes are available: persistentvolumeclaim "dta" not found.')
    assert [group["count"] for group in told["groups"]] == [2]
    assert details(told) == [
        "there is no claim dta in default: create it, or name one that is there: data",
        "with claimName: data the scheduler says: 0/2 nodes are available: pod has unbound immediate "
        "PersistentVolumeClaims.",
    ]
    volume_of = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": {}}
    bound = {**claim, "spec": {"volumeName": "pv"}}
    bound["metadata"] = {**claim["metadata"], "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    told = explain(dump(tmp_path, node("a"), bound, volume_of, pod("p", spec={"volumes": [volume]})))
    assert remedies(told) == {"claimName: data in place of dta, which is not there": "a"}


def test_a_request_that_two_changes_together_make_fit(tmp_path: Path) -> None:
    tainted = node("a", {"taints": [TAINT], "unschedulable": True}, gpu="4")
    told = explain(dump(tmp_path, tainted, pod("p", gpu="2")))
    assert f"node a uncordoned and a toleration of the taint {GPU}:NoSchedule" in remedies(told)
    pairs = [frozenset(move["what"] for move in one["moves"]) for one in told["remedies"]]
    assert len(pairs) == len(set(pairs))


def test_three_changes_are_tried_together_where_two_do_not_do(tmp_path: Path) -> None:
    team = {"key": "team", "value": "ml", "effect": "NoSchedule"}
    asks = pod("p", gpu="3", spec={"nodeSelector": {"pool": "gpu"}})
    told = explain(dump(tmp_path, node("a", {"taints": [team]}, gpu="4"), pod("x", on="a", gpu="4"), asks))
    moves = {move["what"] for move in told["remedies"][0]["moves"]}
    taint = "a toleration of the taint team=ml:NoSchedule"
    assert moves == {taint, "the label pool=gpu on node a", "1 pod gone from node a: default/x"}
