"""What a machine has, what is kept from pods, and what reaches the cgroups of the rest."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedev.api.objects import Pod
from kubedev.kubelet.pressure.cgroups import cgroup_v2_files
from kubedev.kubelet.pressure.node_allocatable import (
    Machine,
    NodeAllocatableConfig,
    machine_capacity,
    node_allocatable_reservation,
    set_machine_info,
)
from kubedev.kubelet.pressure.oom import container_oom_score_adjust
from kubedev.kubelet.pressure.pod_cgroup import CgroupSettings, resource_config_for_pod
from kubedev.kubelet.pressure.settings import (
    DEFAULT_EVICTION_HARD,
    SettingsError,
    parse_reservation,
    parse_threshold_config,
)

GI = 1 << 30


def config(kube: dict[str, str] | None = None, system: dict[str, str] | None = None) -> NodeAllocatableConfig:
    return NodeAllocatableConfig(
        parse_reservation("kube-reserved", kube or {}),
        parse_reservation("system-reserved", system or {}),
        parse_threshold_config([], DEFAULT_EVICTION_HARD, {}, {}, {}),
    )


def allocatable(machine: Machine, settings: NodeAllocatableConfig) -> dict[str, int]:
    reserved = node_allocatable_reservation(machine_capacity(machine), settings)
    totals = {name: each.total for name, each in reserved.items()}
    _, found = set_machine_info(({}, {}), machine, settings, ({}, {}, ()), totals)
    return {name: quantity.value() for name, quantity in found.items()}


def test_memory_is_capacity_without_system_kube_and_eviction() -> None:
    settings = config(kube={"memory": "1Gi"}, system={"memory": "500Mi"})
    found = allocatable(Machine(4, 16 * GI), settings)
    assert found["memory"] == 16 * GI - GI - 500 * 2**20 - 100 * 2**20


def test_a_tenth_of_a_disk_is_reckoned_in_32_bits() -> None:
    found = allocatable(Machine(4, 16 * GI, ephemeral_storage=100 * GI), config())
    assert found["ephemeral-storage"] == 107374182400 - 10737418400


def test_huge_pages_come_off_memory() -> None:
    found = allocatable(Machine(4, 16 * GI, hugepages=((2048, 512),)), config())
    assert found["hugepages-2Mi"] == GI
    assert found["memory"] == 15 * GI - 100 * 2**20


@given(st.integers(0, 64), st.integers(0, 2**40), st.integers(0, 2**41), st.integers(0, 2**41))
def test_allocatable_is_never_above_capacity_nor_below_zero(
    cores: int, memory: int, kube: int, system: int
) -> None:
    settings = config(kube={"memory": str(kube), "cpu": "3"}, system={"memory": str(system)})
    machine = Machine(cores, memory, hugepages=((2048, 3),), ephemeral_storage=memory)
    capacity = {name: quantity.value() for name, quantity in machine_capacity(machine).items()}
    for name, amount in allocatable(machine, settings).items():
        assert 0 <= amount <= capacity.get(name, settings.max_pods)


@pytest.mark.parametrize("resource", ["pods", "hugepages-2Mi", "nvidia.com/gpu", ""])
def test_only_four_resources_can_be_reserved(resource: str) -> None:
    with pytest.raises(
        SettingsError, match=f'^--kube-reserved value failed to parse: cannot reserve "{resource}"'
    ):
        parse_reservation("kube-reserved", {resource: "1"})


def pod(**resources: dict[str, str]) -> Pod:
    container: dict[str, Any] = {"name": "c", "resources": resources}
    return Pod.parse({"metadata": {"name": "p"}, "spec": {"containers": [container]}})


@pytest.mark.parametrize(
    ("resources", "score"),
    [
        ({"requests": {"memory": "1Gi"}}, 875),
        ({"requests": {"cpu": "1"}}, 999),
        ({"requests": {"memory": "8Gi"}}, 3),
        ({}, 1000),
        ({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}, -997),
    ],
)
def test_who_requests_more_of_the_machine_is_killed_later(resources: dict[str, Any], score: int) -> None:
    asked = pod(**resources)
    assert container_oom_score_adjust(asked, asked.containers[0], 8 * GI) == score


def test_what_a_burstable_pod_wrote_reaches_the_files() -> None:
    asked = pod(requests={"cpu": "250m", "memory": "1Gi"}, limits={"cpu": "1", "memory": "2Gi"})
    files = cgroup_v2_files(resource_config_for_pod(asked, CgroupSettings()), {})
    assert files == {"cpu.weight": "10", "cpu.max": "100000 100000", "memory.max": str(2 * GI)}
