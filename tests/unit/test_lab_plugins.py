"""Two plugins of one resource on one node, a plugin that does not register again, a list that leaves a device out."""

from collections.abc import Iterator
from typing import Literal

import pytest

from kubedev.api.manifests import load
from kubedev.cluster import events as e
from kubedev.cluster.history import History
from kubedev.kubelet.config import KubeletConfig
from kubedev.lab.session import Lab
from tests.property.cluster_run import a_run

GPU = "example.com/gpu"
NODE = "gpu-node-1"
POD = f"""
apiVersion: v1
kind: Pod
metadata: {{name: NAME}}
spec: {{containers: [{{name: main, image: i, resources: {{limits: {{{GPU}: 2}}}}}}]}}
"""


@pytest.fixture(params=["memory", "grpc"])
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    transport: Literal["memory", "grpc"] = request.param
    with Lab("plugins", nodes=1, transport=transport, plugins="thread") as lab:
        yield lab
        assert lab.state.idle
        if transport == "memory":
            assert History.from_json(lab.history.to_json()).state == lab.history.state


def allocatable(lab: Lab) -> int:
    return lab.node().allocatable[GPU].value()


def apply(lab: Lab, name: str) -> str:
    lab.apply(POD.replace("NAME", name))
    return lab.pod(name).phase


def test_a_rolling_update_in_v132_ends_with_no_devices(lab: Lab) -> None:
    lab.plugin(GPU, 2)
    lab.plugin(GPU, 3, name="new")
    assert [p.phase for p in lab.state.plugins.values()] == ["registered", "registered"]
    assert allocatable(lab) == 3
    assert len({p.socket for p in lab.state.plugins.values()}) == 2
    lab.kill_plugin(GPU)
    assert allocatable(lab) == 0, "the end of the first one disconnects the second"
    assert lab.state.plugins[NODE, f"{GPU}#new"].alive
    assert apply(lab, "web") == "Pending"


def test_a_rolling_update_with_the_fault_mended() -> None:
    config = KubeletConfig(switches=frozenset({"121994"}))
    with Lab("plugins", nodes=1, transport="memory", config=config) as lab:
        lab.plugin(GPU, 2)
        lab.plugin(GPU, 3, name="new")
        lab.kill_plugin(GPU)
        assert allocatable(lab) == 3
        assert apply(lab, "web") == "Running"


def test_each_of_two_plugins_is_spoken_of_by_its_name(lab: Lab) -> None:
    lab.plugin(GPU, 2)
    lab.plugin(GPU, 3, name="new")
    lab.set_health("d2", healthy=False, resource=f"{GPU}#new")
    assert allocatable(lab) == 2
    parties = {m.source for m in lab.state.messages if m.key == "register"}
    assert parties == {f"plugin/{NODE}/{GPU}", f"plugin/{NODE}/{GPU}#new"}
    lists = [m.source for m in lab.state.messages if m.kind == "stream" and m.source.startswith("plugin")]
    assert lists.count(f"plugin/{NODE}/{GPU}#new") == 2
    assert apply(lab, "web") == "Running"
    asked = next(m for m in lab.state.messages if m.key == "ask-allocate")
    assert asked.target == f"plugin/{NODE}/{GPU}#new"
    lab.restart_kubelet()
    assert [p.phase for p in lab.state.plugins.values()] == ["registered", "registered"]


def test_a_fork_at_every_step_of_a_rolling_update_ends_well() -> None:
    with Lab("plugins", nodes=1, transport="memory") as lab:
        lab.plugin(GPU, 2)
        lab.plugin(GPU, 3, name="new")
        lab.kill_plugin(GPU)
        end = lab.state
        for step in range(3, len(lab.history) - 1):
            lab.seek(step)
            lab.advance(1)
            assert lab.state.idle
            if lab.state.plugins.get((NODE, f"{GPU}#new")) and not lab.state.plugins[NODE, GPU].alive:
                assert allocatable(lab) == 0
            lab.back_to_live()
        assert lab.state == end


def test_a_plugin_that_does_not_register_again_is_not_waited_for(lab: Lab) -> None:
    lab.plugin(GPU, 2, registers_again=False)
    assert allocatable(lab) == 2
    lab.restart_kubelet()
    assert (lab.state.plugins[NODE, GPU].phase, lab.state.plugins[NODE, GPU].alive) == ("forgotten", True)
    assert allocatable(lab) == 0
    lab.set_health("d0", healthy=False)
    lab.restart_kubelet()
    assert allocatable(lab) == 0
    lab.plugin(GPU, 2)
    assert allocatable(lab) == 2


def test_a_list_that_leaves_out_a_device_in_use(lab: Lab) -> None:
    lab.plugin(GPU, 3)
    assert apply(lab, "web") == "Running"
    assert lab.devices_of("web") == ("d0", "d1")
    lab.leave_out("d0")
    assert (allocatable(lab), lab.devices_of("web"), lab.pod("web").phase) == (2, ("d0", "d1"), "Running")
    with pytest.raises(ValueError, match="that is listed"):
        lab.leave_out("d0")
    lab.leave_out("d0", listed=True)
    assert allocatable(lab) == 3
    assert {d.id for d in lab.state.plugins[NODE, GPU].devices} == {"d0", "d1", "d2"}


def test_uids_are_never_used_twice_and_take_no_room_of_their_own() -> None:
    run = a_run(1, KubeletConfig())
    pod = load(POD.replace("NAME", "web")).pods[0]
    seen = []
    for _ in range(5):
        run.post(e.PodCreated(pod))
        run.settle()
        (uid,) = run.state.store.pods
        seen.append(uid)
        run.post(e.PodDeletionAsked(uid, 0))
        run.settle()
    assert len(set(seen)) == 5
    assert len(run.state.store.uids) == 1


def test_a_device_that_is_left_out_twice_at_once_is_left_out(lab: Lab) -> None:
    """Two buttons, pressed before the first one was heard."""
    lab.plugin(GPU, 3)
    lab.do(e.DeviceListed(NODE, GPU, "d0", False), e.DeviceListed(NODE, GPU, "d0", False))
    assert allocatable(lab) == 2
    lab.do(e.DeviceListed(NODE, GPU, "d0", True), e.DeviceListed(NODE, GPU, "d0", True))
    assert allocatable(lab) == 3
