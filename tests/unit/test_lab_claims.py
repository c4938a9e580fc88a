"""Claims in a lab: two models of GPU on three nodes, what a claim can say of them, and what it cannot."""

from collections.abc import Iterator
from typing import Any

import pytest

from kubedev.cluster.history import History
from kubedev.cluster.state import ContainerState
from kubedev.lab.session import Lab
from tests.unit.claims_world import (
    CONFIG,
    DRIVER,
    GPU,
    MEMORY,
    a_claim,
    a_class,
    a_pod,
    a_slice,
    a_template,
    claimed,
    devices,
    message,
    written,
)

RESOURCE = "example.com/gpu"
MODELS = {"gpu-node-1": ("T4", "16Gi"), "gpu-node-2": ("A100", "40Gi"), "gpu-node-3": ("A100", "80Gi")}


def a_lab(**more: Any) -> Lab:
    return Lab("claims", nodes=3, transport="memory", plugins="thread", config=CONFIG, **more)


@pytest.fixture
def lab() -> Iterator[Lab]:
    """Four GPUs on each node, two on each switch; the second A100 has twice the memory."""
    with a_lab() as made:
        made.apply(written(a_class()))
        for node, (model, memory) in MODELS.items():
            made.plugin(RESOURCE, devices=4, node=node)
            attributes = {"model": model, "switch": [0, 1, 0, 1]}
            made.driver(RESOURCE, node, attributes=attributes, capacity={"memory": memory})
        yield made


def wants(lab: Lab, spec: dict[str, Any], name: str = "p") -> tuple[str, list[str]]:
    """A pod with a claim like this: its node, and the devices that it got."""
    lab.apply(written(a_template(name, spec), a_pod(name, template=name)))
    return lab.pod(name).node_name, got(lab, name)


def got(lab: Lab, pod: str) -> list[str]:
    return devices(lab, f"{pod}-gpu-1")


def container(lab: Lab, pod: str = "p") -> ContainerState:
    return lab.state.containers[lab.pod(pod).uid, "main"]


def said(lab: Lab, pod: str = "p") -> list[str]:
    """What the allocator says, a line for a device."""
    return [" ".join((node, device, text)) for node, _, _, device, text in lab.claims_of(pod).rows]


# What a claim can say


def test_any_gpu(lab: Lab) -> None:
    assert wants(lab, claimed()) == ("gpu-node-1", ["d0"])


def test_a_given_model(lab: Lab) -> None:
    assert wants(lab, claimed(1, f'{GPU}.model == "A100"')) == ("gpu-node-2", ["d0"])


def test_at_least_40_gi(lab: Lab) -> None:
    enough = f'{MEMORY}.compareTo(quantity("40Gi")) >= 0'
    assert wants(lab, claimed(4, enough)) == ("gpu-node-2", ["d0", "d1", "d2", "d3"])
    assert wants(lab, claimed(1, enough), "q") == ("gpu-node-3", ["d0"])


def test_two_on_one_switch(lab: Lab) -> None:
    pair = claimed(2, f'{GPU}.model == "T4"', switch=True)
    assert wants(lab, pair) == ("gpu-node-1", ["d0", "d2"])
    assert wants(lab, pair, "q") == ("gpu-node-1", ["d1", "d3"])


def test_all_of_a_nodes_which_have_to_be_free(lab: Lab) -> None:
    assert wants(lab, claimed()) == ("gpu-node-1", ["d0"])
    assert wants(lab, claimed(0), "q") == ("gpu-node-2", ["d0", "d1", "d2", "d3"])


# Why it does not fit


def test_why_a_claim_does_not_fit_in_words(lab: Lab) -> None:
    node, _ = wants(lab, claimed(3, f'{GPU}.model == "A100"', switch=True))
    assert node == ""
    assert message(lab) == (
        "0/3 nodes are available: 3 cannot allocate all claims. still not schedulable, preemption: 0/3 nodes are "
        "available: 3 Preemption is not helpful for scheduling."
    )
    lines = said(lab)
    assert lines[0] == (
        f'gpu-node-1 gpu-node-1/d0 selector #0 of the request is not true: {GPU}.model == "A100"'
    )
    shared = f"its {DRIVER}/switch is 1, that of the others 0: all are to share one"
    assert f"gpu-node-2 gpu-node-2/d1 {shared}" in lines
    assert {line.split()[0] for line in lines} == set(MODELS)


def test_devices_in_use_and_too_few_are_told_apart(lab: Lab) -> None:
    only_here = f'{GPU}.model == "T4"'
    wants(lab, claimed(3, only_here))
    assert wants(lab, claimed(2, only_here), "q") == ("", [])
    assert said(lab, "q")[:4] == [
        "gpu-node-1 gpu-node-1/d0 in use",
        "gpu-node-1 gpu-node-1/d1 in use",
        "gpu-node-1 gpu-node-1/d2 in use",
        "gpu-node-1 gpu-node-1/d3 would do, but too few are left",
    ]


def test_another_drivers_class_and_a_node_without_devices_say_so(lab: Lab) -> None:
    other = a_class("nic")
    other["spec"]["selectors"][0]["cel"]["expression"] = 'device.driver == "nic.example.com"'
    spec = claimed()
    spec["devices"]["requests"][0]["deviceClassName"] = "nic"
    lab.apply(written(other))
    wants(lab, spec)
    assert said(lab)[0] == (
        'gpu-node-1 gpu-node-1/d0 selector #0 of class nic is not true: device.driver == "nic.example.com"'
    )
    with a_lab() as empty:
        empty.apply(written(a_class()))
        wants(empty, claimed())
        assert said(empty) == [f"{node}  no driver offers any device here" for node in MODELS]


def test_a_device_without_the_attribute_never_shares_it(lab: Lab) -> None:
    spec = claimed(2)
    spec["devices"]["constraints"] = [{"matchAttribute": f"{DRIVER}/rack"}]
    wants(lab, spec)
    without = f"has no attribute {DRIVER}/rack, which all devices of the claim are to share"
    assert said(lab)[0] == f"gpu-node-1 gpu-node-1/d0 {without}"


def test_a_missing_attribute_ends_the_cycle_with_an_error(lab: Lab) -> None:
    wants(lab, claimed(1, f'{GPU}.colour == "red"'))
    error = "claim default/p-gpu-1: selector #0: CEL runtime error: no such key: colour"
    assert message(lab) == f'running "DynamicResources" filter plugin: {error}'
    reason = next(c.reason for c in lab.pod("p").conditions if c.type == "PodScheduled")
    assert reason == "SchedulerError"
    assert said(lab) == [f"gpu-node-1  {error}"]
    guarded = f'has({GPU}.colour) && {GPU}.colour == "red"'
    assert wants(lab, claimed(1, guarded), "q") == ("", [])
    assert "3 cannot allocate all claims." in message(lab, "q")


# What it cannot say


def test_q14_the_strongest_is_beyond_a_claim_too(lab: Lab) -> None:
    """A selector is a test of one device, and the first that passes is taken: the 80Gi of the last node are not."""
    node, _ = wants(lab, claimed(1, f'{MEMORY}.compareTo(quantity("0")) > 0'))
    assert node == "gpu-node-1"
    # no expression sees another device to compare with
    refused = f"{MEMORY}.compareTo(devices.map(d, d.memory)[0]) >= 0"
    with pytest.raises(ValueError, match="undeclared reference to 'devices'"):
        lab.apply(written(a_template("best", claimed(1, refused))))
    # and a device that no other can beat is only found by who knows its figure
    assert wants(lab, claimed(1, f'{MEMORY} == quantity("80Gi")'), "q")[0] == "gpu-node-3"


# The driver, and the node


def test_the_driver_offers_what_its_plugin_lists_as_healthy(lab: Lab) -> None:
    offered = lab.state.store.resource_slices[f"gpu-node-2-{DRIVER}"]
    assert [one.name for one in offered.devices] == ["d0", "d1", "d2", "d3"]
    basic = offered.devices[1].basic
    assert basic is not None
    assert {name: one.value for name, one in basic.attributes.items()} == {
        "numa": 0,
        "model": "A100",
        "switch": 1,
    }
    assert str(basic.capacity["memory"]) == "40Gi"
    assert (offered.pool.generation, offered.pool.resource_slice_count) == (1, 1)
    lab.set_health("d1", False, node="gpu-node-2")
    offered = lab.state.store.resource_slices[f"gpu-node-2-{DRIVER}"]
    assert [one.name for one in offered.devices] == ["d0", "d2", "d3"]
    assert offered.pool.generation == 2


def test_a_device_that_recovers_is_what_a_pod_waited_for(lab: Lab) -> None:
    lab.set_health("d1", False, node="gpu-node-1")
    four = claimed(4, f'{GPU}.model == "T4"')
    assert wants(lab, four) == ("", [])
    lab.set_health("d1", True, node="gpu-node-1")
    lab.advance(20)
    assert lab.pod("p").node_name == "gpu-node-1"


def test_the_devices_reach_the_container_as_cdi_names_and_a_variable(lab: Lab) -> None:
    wants(lab, claimed(2, switch=True))
    started = container(lab)
    assert started.cdi_devices == ("k8s.gpu.example.com/gpu=d0", "k8s.gpu.example.com/gpu=d2")
    assert dict(started.envs) == {"KUBEDEV_GPU_EXAMPLE_COM_GPU": "d0,d2"}
    assert "KUBEDEV_GPU_EXAMPLE_COM_GPU=d0,d2" in lab.output("p")


def test_a_container_gets_what_it_names_and_no_more(lab: Lab) -> None:
    spec = claimed()
    first = spec["devices"]["requests"][0]
    spec["devices"]["requests"].append({**first, "name": "more"})
    pod = a_pod("p", template="t")
    main = pod["spec"]["containers"][0]
    main["resources"]["claims"][0]["request"] = "more"
    pod["spec"]["containers"].append({"name": "beside", "image": "i"})
    lab.apply(written(a_template("t", spec), pod))
    assert container(lab).cdi_devices == ("k8s.gpu.example.com/gpu=d1",)
    beside = lab.state.containers[lab.pod("p").uid, "beside"]
    assert (beside.cdi_devices, beside.envs) == ((), ())


def test_without_its_driver_on_the_node_a_pod_does_not_start() -> None:
    with a_lab() as lab:
        lab.apply(written(a_class(), a_slice("gpu-node-1", "T4", "16Gi")))
        wants(lab, claimed())
        pod = lab.pod("p")
        missing = f"plugin name {DRIVER} not found in the list of registered DRA plugins"
        assert (pod.phase, pod.reason) == ("Pending", "FailedPrepareDynamicResources")
        assert pod.message == (
            f"Failed to prepare dynamic resources: failed to get gRPC client for driver {DRIVER}: {missing}"
        )
        lab.plugin(RESOURCE, devices=4, node="gpu-node-1")
        lab.driver(RESOURCE, "gpu-node-1")
        assert lab.pod("p").phase == "Running"


def test_a_pod_that_names_its_node_waits_there_until_somebody_allocates(lab: Lab) -> None:
    lab.apply(written(a_claim("c", claimed()), a_pod("p", claim="c", nodeName="gpu-node-1")))
    pod = lab.pod("p")
    assert pod.message == (
        "Failed to prepare dynamic resources: pod p(default/p) is not allowed to use resource claim c(default/c)"
    )
    lab.apply(written(a_pod("q", claim="c")))
    assert lab.pod("q").phase == "Running"
    assert lab.pod("p").phase == "Running"  # the controller reserved the claim for it
    assert container(lab).cdi_devices == container(lab, "q").cdi_devices


def test_a_kubelet_that_restarts_still_knows_claims_and_drivers(lab: Lab) -> None:
    only_here = f'{GPU}.model == "T4"'
    wants(lab, claimed(1, only_here))
    lab.restart_kubelet("gpu-node-1")
    assert lab.pod("p").phase == "Running"
    assert wants(lab, claimed(1, only_here), "q") == ("gpu-node-1", ["d1"])
    assert lab.pod("q").phase == "Running"
    assert History.from_json(lab.history.to_json()).state == lab.state


def test_a_node_that_is_deleted_takes_its_slices_with_it(lab: Lab) -> None:
    lab.delete_node("gpu-node-1")
    assert sorted(lab.state.store.resource_slices) == [f"gpu-node-{i}-{DRIVER}" for i in (2, 3)]


def test_a_fork_goes_its_own_way(lab: Lab) -> None:
    before = len(lab.history) - 1
    assert wants(lab, claimed(0)) == ("gpu-node-1", ["d0", "d1", "d2", "d3"])
    lab.seek(before)
    assert wants(lab, claimed()) == ("gpu-node-1", ["d0"])


def test_a_driver_is_refused_in_words(lab: Lab) -> None:
    with pytest.raises(ValueError, match="expected one value of switch, or 4, one for each device"):
        lab.driver(RESOURCE, "gpu-node-1", attributes={"switch": [0, 1]})
    with pytest.raises(ValueError, match="a valid C identifier must start with"):
        lab.driver(RESOURCE, "gpu-node-1", attributes={"my-switch": 0})
    with pytest.raises(ValueError, match="no such plugin runs"):
        lab.driver("example.com/nic", "gpu-node-1")
    with pytest.raises(ValueError, match="quantities must match"):
        lab.driver(RESOURCE, "gpu-node-1", capacity={"memory": "much"})
    with Lab("off", nodes=1, transport="memory", plugins="thread") as off:
        off.plugin(RESOURCE, devices=1)
        with pytest.raises(ValueError, match="need the feature gate DynamicResourceAllocation"):
            off.driver(RESOURCE)


def test_what_was_done_is_an_action_like_any_other(lab: Lab) -> None:
    done = [one.action for one in lab.actions if one.action["do"] == "driver"]
    assert done[0] == {
        "do": "driver",
        "resource": RESOURCE,
        "node": "gpu-node-1",
        "attributes": {"model": "T4", "switch": [0, 1, 0, 1]},
        "capacity": {"memory": "16Gi"},
    }
    lab.act({"do": "driver", "resource": RESOURCE, "node": "gpu-node-1", "attributes": {"model": "L4"}})
    assert wants(lab, claimed(1, f'{GPU}.model == "L4"')) == ("gpu-node-1", ["d0"])
