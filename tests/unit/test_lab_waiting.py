"""A lab waits for what is under way, and never for what cannot come."""

from collections.abc import Callable, Iterator

import pytest

from kubedev.api.messages import HEALTHY, UNHEALTHY, Answer, Call, Device
from kubedev.cluster.cluster import ClusterError
from kubedev.lab.session import Lab
from kubedev.views.catalogue import say
from kubedev.wire.memory import MemoryClient

GPU = "example.com/gpu"
POD = f"""
apiVersion: v1
kind: Pod
metadata: {{name: web}}
spec: {{containers: [{{name: main, image: i, resources: {{limits: {{{GPU}: 1}}}}}}]}}
"""


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab("waiting", nodes=1, transport="memory") as lab:
        yield lab


@pytest.mark.parametrize(
    ("ids", "known"), [(["s1", "s1", "s2"], 2), (["a", "b", "b", "b"], 2), (["x", "x"], 1)]
)
def test_n28_a_list_with_one_id_twice_counts_as_heard(lab: Lab, ids: list[str], known: int) -> None:
    lab.plugin(GPU, [Device(id) for id in ids])
    assert lab.state.idle
    assert lab.node().allocatable[GPU].value() == known
    heard = next(m for m in lab.state.messages if m.key == "list-twice")
    twice = {id for id in ids if ids.count(id) > 1}
    assert twice <= set(say(f"log.{heard.key}", **dict(heard.values)).replace(",", "").split())
    lab.apply(POD)
    lab.set_health(ids[-1], healthy=False)
    assert lab.node().allocatable[GPU].value() == known - 1
    assert lab.pod("web").phase == "Running"


def test_n28_an_id_that_stands_twice_with_two_healths(lab: Lab) -> None:
    lab.plugin(GPU, [Device("s1", HEALTHY), Device("s1", UNHEALTHY)])
    assert lab.state.idle
    lab.plugin(GPU, 2)
    assert lab.node().allocatable[GPU].value() == 2


def test_n28_an_id_that_stands_twice_is_left_out_and_listed_again(lab: Lab) -> None:
    lab.plugin(GPU, [Device("s1"), Device("s1"), Device("s2")])
    lab.leave_out("s1")
    assert (lab.state.idle, lab.node().capacity[GPU].value()) == (True, 1)
    lab.leave_out("s1", listed=True)
    assert (lab.state.idle, lab.node().capacity[GPU].value()) == (True, 2)


def test_n28_a_fork_of_a_list_with_one_id_twice_hears_nothing_anew(lab: Lab) -> None:
    lab.plugin(GPU, [Device("s1"), Device("s1")])
    lab.apply(POD)
    lab.back()
    lab.delete("web")
    assert sum(m.key == "list-twice" for m in lab.state.messages) == 1


def test_r12_a_wait_in_vain_says_for_what_and_leaves_a_lab_that_works(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = MemoryClient.ask

    def deaf(self: MemoryClient, call: Call, on_answer: Callable[[Answer], None]) -> None:
        if call.method != "Allocate":
            asked(self, call, on_answer)

    monkeypatch.setattr(MemoryClient, "ask", deaf)
    lab.plugin(GPU, 2)
    waited = lab.wait
    monkeypatch.setattr(lab, "wait", lambda until=None, timeout=0.2: waited(until, timeout))
    with pytest.raises(
        ClusterError, match=r"waited 0\.2 s in vain; still under way: Allocate of example\.com/gpu"
    ):
        lab.apply(POD)
    lab.plugin("example.com/nic", 1)
    assert lab.node().allocatable["example.com/nic"].value() == 1
    lab.advance(10)
    lab.delete("web")
    monkeypatch.undo()
    lab.restart_kubelet()
    lab.apply(POD.replace("web", "next"))
    assert lab.pod("next").phase == "Running"


def test_a_wait_for_something_of_ones_own_fails_and_the_lab_goes_on(lab: Lab) -> None:
    with pytest.raises(ClusterError, match="in vain for what was asked; still under way: nothing"):
        lab.wait(lambda state: state.now > 99, timeout=0.1)
    lab.advance(100)
    lab.wait(lambda state: state.now > 99, timeout=0.1)


def test_r12_as_many_nodes_as_asked_for_up_to_a_limit() -> None:
    with Lab("many", nodes=300, transport="memory") as lab:
        assert len(lab.state.store.nodes) == 300
        lab.plugin(GPU, 1, node="gpu-node-299")
        lab.apply(POD)
        assert lab.pod("web").node_name == "gpu-node-299"
    with pytest.raises(ValueError, match="expected 1 to 5000 nodes, got 5001"):
        Lab("many", nodes=5001, transport="memory")
    with pytest.raises(
        ValueError, match='expected 1 to 4 nodes, got 5: with transport="memory" there may be up to 5000'
    ):
        Lab("many", nodes=5)
