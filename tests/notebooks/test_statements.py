"""What labs 00 and 04 state and can be run is run; and nothing answers a prediction before it is asked."""

import re
from dataclasses import replace

import pytest

from kubedev.api.messages import PreferredAllocationResponse
from kubedev.kubelet.devices.allocation import devices_to_allocate
from kubedev.lab import Lab, allocate
from tests.notebooks.exercises import Notebook

GPU = "example.com/gpu"


def test_s14_the_first_screen_of_lab_00_hides_the_node_status() -> None:
    notebook = Notebook("00-one-pod-one-gpu")
    stage = notebook.names["lab"]._panel
    notebook.names["lab"].close()
    told = str(stage.get_state()["whole"]) + str(stage._repr_mimebundle_())
    assert "trainer is Running" in told
    assert not re.search("capacity|allocatable", told)


@pytest.mark.parametrize("needed", [2, 3, 4])
def test_s19_the_plugin_is_asked_below_and_above_the_edge_and_not_at_it(needed: int) -> None:
    decision = allocate.decide(allocate.scene(needed, in_use=1), 0b01)
    assert len(decision.sets.aligned) == 3
    assert (decision.asked is not None) == (needed != 3)


def test_s19_a_device_that_turns_unhealthy_during_the_question_is_still_handed_out() -> None:
    scene = allocate.scene(2)
    talk = devices_to_allocate(scene.state, scene.request, scene.reusable, None)
    state, call = next(talk)
    unhealthy = frozenset({"d0"})
    state = replace(
        state,
        healthy_devices={GPU: state.healthy_devices[GPU] - unhealthy},
        unhealthy_devices={GPU: unhealthy},
    )
    answer = PreferredAllocationResponse((("d0", "d1"),))
    with pytest.raises(StopIteration) as end:
        talk.send((state, answer))
    assert end.value.value[1].devices == {"d0", "d1"}
    assert call.method == "GetPreferredAllocation"


def test_lab_00_states_what_is_so() -> None:
    with Lab("statements", nodes=1, transport="memory") as lab:
        gpu = "nvidia.com/gpu"
        lab.plugin(gpu, devices=4, numa=2)
        lab.apply("one-gpu")
        lab.set_health("d0", healthy=False)
        assert (lab.pod("trainer").phase, lab.node().allocatable[gpu].value()) == ("Running", 3)
        lab.kill_plugin(gpu)
        assert (lab.node().capacity[gpu].value(), lab.node().allocatable[gpu].value()) == (4, 0)
        lab.advance(301)
        assert (lab.node().capacity[gpu].value(), lab.node().allocatable[gpu].value()) == (0, 0)
