"""The memory manager inside a kubelet: its hints in the same merge as devices', and its file over a restart."""

from dataclasses import replace
from random import Random

import pytest

from kubedev.api.objects import Container, Pod
from kubedev.api.quantity import Quantity
from kubedev.kubelet import events as k
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.kubelet import new_kubelet
from kubedev.kubelet.kubelet_state import KubeletState
from kubedev.kubelet.memory import memory_masks
from kubedev.kubelet.memory.memory_manager import MemoryManagerState, allocate, remove_container, start
from kubedev.kubelet.memory.memory_masks import calculate_hints, find_best_hint
from kubedev.kubelet.memory.memory_policy import MemoryReservation, NUMAMemory, new_policy
from kubedev.kubelet.memory.memory_state import MemoryManagerError
from kubedev.kubelet.topology.merge import NUMAInfo
from tests.unit.test_kubelet import GPU, NODE, Driver, amounts

GI = 1 << 30
MACHINE = (NUMAMemory(0, 8 * GI), NUMAMemory(1, 8 * GI))
RESERVED = (MemoryReservation(0, {"memory": Quantity.parse("1Gi")}),)
CONFIG = KubeletConfig(
    topology_manager_policy="single-numa-node",
    memory_manager_policy="Static",
    numa_memory=MACHINE,
    kube_reserved=(("memory", "924Mi"),),  # with the eviction threshold of 100Mi: 1Gi
    reserved_memory=RESERVED,
)


def guaranteed(name: str, memory: str, gpus: int = 0) -> Pod:
    wants = amounts(cpu="1", memory=memory)
    if gpus:
        wants[GPU] = Quantity.of(gpus)
    return Pod(name, uid=f"uid-{name}", containers=(Container("c", requests=wants, limits=wants),))


def nodes_of(state: KubeletState, name: str) -> tuple[int, ...]:
    (block,) = state.memory.blocks(f"uid-{name}", "c") or ()
    return block.numa_affinity


def test_memory_is_taken_where_the_devices_are() -> None:
    driver = Driver(new_kubelet(NODE, "/dir", CONFIG))
    driver.register()  # two devices on each of two NUMA nodes
    driver.feed(k.PodBound(guaranteed("big", "6Gi")))
    assert nodes_of(driver.state, "big") == (0,), "the lowest mask of one node"
    driver.feed(k.PodBound(guaranteed("web", "4Gi", 1)))
    assert nodes_of(driver.state, "web") == (1,), "node 0 has 1Gi left, so the device comes from node 1 too"
    held = driver.state.devices.pod_devices["uid-web"]["c"][GPU]
    assert set(held.device_ids) == {1}


def test_memory_is_released_with_its_pod_and_kept_over_a_restart() -> None:
    driver = Driver(new_kubelet(NODE, "/dir", CONFIG))
    driver.register()
    driver.feed(k.PodBound(guaranteed("big", "6Gi")))
    written = driver.state.memory.checkpoint
    assert CONFIG.memory(written) == replace(driver.state.memory, reusable={})
    driver.feed(k.PodDeleted("uid-big"))
    driver.feed(k.ContainerExited("uid-big", "c", 0))
    driver.feed(k.PodBound(guaranteed("next", "7Gi")))
    assert nodes_of(driver.state, "next") == (0,)


def test_a_pod_with_more_memory_than_any_group_has_is_refused() -> None:
    driver = Driver(new_kubelet(NODE, "/dir", replace(CONFIG, topology_manager_policy="none")))
    effects = driver.feed(k.PodBound(guaranteed("huge", "20Gi")))
    (status,) = (e for e in effects if isinstance(e, k.PodStatus))
    assert status.reason == "UnexpectedAdmissionError"
    assert status.message.endswith(
        "[memorymanager] failed to get the default NUMA affinity, "
        "no NUMA nodes with enough memory is available, which is unexpected"
    )


def test_on_34_nodes_memory_is_found_without_listing_masks() -> None:
    nodes = tuple(NUMAMemory(node, 8 * GI) for node in range(34))
    config = replace(
        CONFIG,
        numa=NUMAInfo(tuple(range(34))),
        numa_memory=nodes,
        topology_manager_policy="restricted",
        topology_manager_policy_options=(("max-allowable-numa-nodes", "64"),),
    )
    plenty = {**NODE.allocatable, **amounts(cpu="64", memory="272Gi")}
    driver = Driver(new_kubelet(replace(NODE, capacity=plenty, allocatable=plenty), "/dir", config))
    driver.register()
    driver.feed(k.PodBound(guaranteed("web", "6Gi", 1)))
    assert nodes_of(driver.state, "web") == (0,)
    driver.feed(k.PodBound(guaranteed("wide", "20Gi")))
    assert nodes_of(driver.state, "wide") == (1, 2, 3), "node 0 serves alone"
    driver.feed(k.PodBound(guaranteed("next", "15Gi")))
    assert nodes_of(driver.state, "next") == (4, 5)


@pytest.mark.parametrize("seed", range(40))
def test_hints_of_memory_as_a_value_are_the_listed_ones(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine after some containers, some of them gone: every mask, and the best one that includes another."""
    chance = Random(seed)
    sizes = [chance.randint(2, 8) for _ in range(5)]
    policy = new_policy(
        "Static", [NUMAMemory(i, s * GI) for i, s in enumerate(sizes)], amounts(memory="1Gi"), RESERVED
    )
    state = start(policy)
    for number in range(6):
        pod = guaranteed(f"p{number}", f"{chance.randint(1, 12)}Gi")
        state, _ = allocate(state, pod, pod.containers[0])
        if chance.random() < 0.4:
            state = remove_container(state, pod.uid, "c")
    requested, reusable = {"memory": chance.randint(1, 14) * GI}, {0b11: {"memory": 2 * GI}}
    listed = calculate_hints(state.machine, requested, reusable)
    monkeypatch.setattr(memory_masks, "MAX_NUMA_NODES", 1)
    value = calculate_hints(state.machine, requested, reusable)
    assert tuple(value) == listed
    for including in (0, 0b1, 0b110):
        assert find_best_hint(value, including) == find_best_hint(listed, including)


@pytest.mark.parametrize(
    ("name", "reservation", "reserved", "text"),
    [
        ("static", {}, (), 'unknown policy: "static"'),
        ("BestEffort", {}, (), 'policy "BestEffort" is not available for platform "linux"'),
        ("Static", {}, (), "[memorymanager] you should specify the system reserved memory"),
        (
            "Static",
            {"memory": "2Gi"},
            RESERVED,
            'the total amount "1Gi" of type "memory" is not equal to the value "2Gi" determined by Node Allocatable '
            "feature",
        ),
        (
            "Static",
            {"memory": "1Gi"},
            (MemoryReservation(7, {"memory": Quantity.parse("1Gi")}),),
            "the reserved memory configuration references a NUMA node 7 that does not exist on this machine",
        ),
    ],
)
def test_a_kubelet_does_not_start_with_such_memory(
    name: str, reservation: dict[str, str], reserved: tuple[MemoryReservation, ...], text: str
) -> None:
    with pytest.raises(MemoryManagerError) as caught:
        new_policy(name, MACHINE, amounts(**reservation), reserved)
    assert str(caught.value) == text


def test_huge_pages_that_no_node_has_are_refused_with_a_text_of_our_own() -> None:
    wants = {**amounts(cpu="1", memory="1Gi"), "hugepages-1Gi": Quantity.parse("1Gi")}
    pod = Pod("p", uid="p", containers=(Container("c", requests=wants, limits=wants),))
    driver = Driver(new_kubelet(NODE, "/dir", CONFIG))
    effects = driver.feed(k.PodBound(pod))
    (status,) = (e for e in effects if isinstance(e, k.PodStatus))
    assert "expected memory of the types that NUMA node 0 has (memory), got hugepages-1Gi" in status.message


def test_a_state_that_is_not_what_its_assignments_come_to_stops_the_kubelet() -> None:
    policy = new_policy("Static", MACHINE, amounts(memory="1Gi"), RESERVED)
    state = start(policy)
    smaller = MemoryManagerState(policy, {0: state.machine[0]})
    with pytest.raises(MemoryManagerError, match="the expected machine state is different from the real one"):
        start(policy, smaller.checkpoint)
