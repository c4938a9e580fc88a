"""What `kubedev why` offers: with preemption where that helps, nothing that is not needed, and what it says of it."""

from pathlib import Path

import pytest

from kubedev.__main__ import main
from kubedev.tools.why.asking import asked_by_name
from kubedev.tools.why.dump import read_dump
from kubedev.tools.why.groups import groups_of
from kubedev.tools.why.moves import moves_of
from kubedev.tools.why.remedies import Attempt, fewest
from kubedev.tools.why.world import world_of
from tests.unit.why_world import GPU, Values, dump, explain, node, pod


def offered(told: Values) -> list[tuple[str, list[str]]]:
    return [
        (" and ".join(move["what"] for move in one["moves"]), [victim["pod"] for victim in one["evicts"]])
        for one in told["remedies"]
    ]


def lines(path: str, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    main(["why", path, *more])
    return capsys.readouterr().out


def test_a_pod_that_never_preempts_is_told_whom_it_would_evict_if_it_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    never = {"priority": 10, "preemptionPolicy": "Never"}
    path = dump(tmp_path, node("a"), pod("h", "a", {"priority": 5}, cpu="4"), pod("p", spec=never, cpu="2"))
    policy = "preemptionPolicy PreemptLowerPriority"
    assert offered(explain(path))[0] == (policy, ["default/h"])
    assert f"With {policy} it would evict default/h (priority 5 < 10) on a." in lines(path, capsys, "p")
    equal = dump(tmp_path, node("a"), pod("h", "a", {"priority": 10}, cpu="4"), pod("p", spec=never, cpu="2"))
    assert policy not in dict(offered(explain(equal)))


def test_a_change_after_which_preemption_helps_is_cheaper_than_three_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    team = {"key": "team", "value": "ml", "effect": "NoSchedule"}
    asks = pod("p", spec={"priority": 10, "nodeSelector": {"pool": "gpu"}}, gpu="3")
    nodes = [node("a", {"taints": [team]}, gpu="4"), node("b", capacity={GPU: "4"}, gpu="2")]
    users = [pod("low", "b", {"priority": -5}, gpu="2"), pod("x", "a", {"priority": 100}, gpu="4")]
    path = dump(tmp_path, *nodes, *users, asks)
    first = offered(explain(path))[0]
    assert first == (
        f"the label pool=gpu on node b and a smaller request: {GPU} 2 instead of 3",
        ["default/low"],
    )
    assert "; it would then evict default/low (priority -5 < 10) on b" in lines(path, capsys, "p")
    assert all("default/x" not in victims for _, victims in offered(explain(path)))


def test_a_pod_that_preemption_helps_already_is_offered_no_other_eviction(tmp_path: Path) -> None:
    low = pod("low", "a", cpu="4")
    told = explain(dump(tmp_path, node("a"), low, pod("p", spec={"priority": 5}, cpu="2")))
    assert told["preemption"]["helps"]
    assert all(victims == [] for _, victims in offered(told))


def test_a_change_that_is_not_needed_is_dropped(tmp_path: Path) -> None:
    cordoned = [node("a", {"unschedulable": True}), node("b", {"unschedulable": True})]
    read = read_dump([dump(tmp_path, *cordoned, pod("p"))])
    asked = asked_by_name(read, "p").pod
    world = world_of(read, [asked])
    start = Attempt((), world, asked, preempting=False)
    moves = {move.what: move for move in moves_of(world, asked, groups_of(start.decision, world))}
    both = start.and_then(moves["node a uncordoned"]).and_then(moves["node b uncordoned"])
    assert both.scheduled
    assert len(fewest(start, both).moves) == 1
    assert fewest(start, both).scheduled


def test_a_node_is_uncordoned_before_another_is_given_a_label(tmp_path: Path) -> None:
    asks = pod("p", spec={"nodeSelector": {"disk": "nvme"}})
    cordoned = node("b", {"unschedulable": True})
    cordoned["metadata"]["labels"]["disk"] = "nvme"
    told = explain(dump(tmp_path, node("a"), cordoned, asks))
    assert [what for what, _ in offered(told)][:2] == ["node b uncordoned", "the label disk=nvme on node a"]


def test_the_pod_that_is_in_the_way_is_named_on_every_node(tmp_path: Path) -> None:
    term = {"labelSelector": {"matchLabels": {"app": "kafka"}}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    brokers = [pod(f"kafka-{n}", on=f"k{n}" if n < 2 else "", spec={"affinity": apart}) for n in range(3)]
    for one in brokers:
        one["metadata"]["labels"] = {"app": "kafka"}
    told = explain(dump(tmp_path, node("k0"), node("k1"), *brokers))
    assert told["groups"][0]["details"] == [
        f"in kubernetes.io/hostname=k{n} there is default/kafka-{n}" for n in range(2)
    ]


def test_only_nodes_that_count_are_told_of_the_domain_with_the_fewest(tmp_path: Path) -> None:
    taint = {"key": "down", "effect": "NoSchedule"}
    nodes = [node("a"), node("c", {"taints": [taint]}), node("other", {"taints": [taint]})]
    for one, zone in zip(nodes, "acc", strict=True):
        one["metadata"]["labels"] |= {"zone": zone, "disk": "hdd" if zone == "c" else "nvme"}
    nodes[1]["metadata"]["labels"]["disk"] = "nvme"
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    spread |= {"labelSelector": {"matchLabels": {"app": "web"}}}
    web = [
        pod("w0", on="a"),
        pod("w1", spec={"topologySpreadConstraints": [spread], "nodeSelector": {"disk": "nvme"}}),
    ]
    for one in web:
        one["metadata"]["labels"] = {"app": "web"}
    told = [line for group in explain(dump(tmp_path, *nodes, *web))["groups"] for line in group["details"]]
    assert "zone=c has 0; of it count c; the pod does not tolerate the taint down:NoSchedule of c" in told


def test_a_host_port_is_named_where_it_is_asked_for_and_where_it_is_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pods = [pod("h", on="a"), pod("p")]
    for one in pods:
        one["spec"]["containers"] = [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 8080}]}]
    path = dump(tmp_path, node("a"), *pods)
    told = explain(path)
    assert told["host_ports"] == ["8080/TCP"]
    assert told["groups"][0]["details"] == ["host port 8080/TCP of a is taken by default/h"]
    out = lines(path, capsys, "p")
    assert "it asks for host port 8080/TCP" in out
    assert "one node more like a\n" in out
    assert "waits for" not in out
    explained = lines(path, capsys, "p", "--explain")
    assert "NodePorts waits for: a pod goes (PodDelete)" in explained
    assert "one node more like a -> one-more-node" in explained


def test_a_score_is_told_only_where_all_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = dump(tmp_path, node("a"), node("b"), pod("p"))
    assert "score" not in lines(path, capsys, "p")
    assert "the best score is" in lines(path, capsys, "p", "--explain")


@pytest.mark.parametrize(("others", "where"), [([], "stay Pending"), ([node("m", gpu="4")], "go to m")])
def test_a_refusal_is_told_with_a_sum_and_what_a_replacement_would_do(
    others: list[Values], where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "Allocate failed"}
    user, gone = pod("q", on="n", gpu="2"), pod("gone", "n", status=status, gpu="2")
    path = dump(tmp_path, node("n", capacity={GPU: "4"}, gpu="3"), *others, user, gone)
    out = lines(path, capsys, "gone")
    assert f"{GPU}: 3 healthy - 2 held = 1 free < 2 asked" in out
    assert f"A replacement would {where}" in out
    assert "OutOf" not in out


def test_what_is_missing_is_told_with_what_to_add(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    path = dump(tmp_path, node("a"), pod("p", spec={"volumes": [volume]}))
    out = lines(path, capsys, "p")
    assert "note: add pvc,pv,sc to the dump; until then what the pod's claims need is not known" in out
    assert "note: add csinodes to the dump; until then attach limits are not checked" in out
