"""The files of a node: state files of the managers, and KubeletConfiguration; real ones, and small ones of our own."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from kubedev.api.manifests import load
from kubedev.api.objects import Container, Node, Pod
from kubedev.api.quantity import Quantity
from kubedev.kubelet import events as k
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.cpu.cpu_state import CPUManagerError
from kubedev.kubelet.cpu.cpu_topology import CPUTopology
from kubedev.kubelet.cpu.cpuset import parse_cpus
from kubedev.kubelet.devices import device_manager
from kubedev.kubelet.kubelet import new_kubelet
from kubedev.kubelet.kubelet_configuration import (
    CONFIGURATION,
    KubeletConfigurationError,
    document_of,
    kubelet_configuration_reader,
    load_kubelet_configuration,
)
from kubedev.kubelet.memory.memory_policy import MemoryReservation, NUMAMemory
from kubedev.kubelet.memory.memory_state import MemoryManagerError
from kubedev.kubelet.memory.memory_state import read_state as read_memory_state
from kubedev.kubelet.pods import PodRecord
from kubedev.kubelet.topology.merge import NUMAInfo
from kubedev.lab.session import Lab
from kubedev.tools.kubelet import main as kubelet_main
from tests.unit.test_kubelet import Driver, amounts

REAL = os.environ.get("KUBEDEV_REAL_MANIFESTS", "")
needs_real = pytest.mark.skipif(not REAL, reason="KUBEDEV_REAL_MANIFESTS names no folder of real files")
HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
STATIC = HEADER + "cpuManagerPolicy: static\nreservedSystemCPUs: 0-1\n"
PINNED = STATIC + 'cpuManagerPolicyOptions:\n  full-pcpus-only: "true"\n'
DRAIN = (
    'please drain this node and delete the CPU manager checkpoint file "/var/lib/kubelet/cpu_manager_state" '
    "before restarting Kubelet"
)
BIG = amounts(cpu="64", memory="64Gi", pods="110")


def real(name: str) -> str:
    return Path(REAL, name).read_text() if REAL else ""


def of(text: str) -> KubeletConfig:
    return load_kubelet_configuration(text).config


def cpu_error(config: KubeletConfig, file: str) -> str:
    with pytest.raises(CPUManagerError) as caught:
        config.cpus(file)
    return str(caught.value)


# State files

REAL_NONE = real("cpu_manager_state-none.json")
OWN_NONE = '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}'
OF_1_17 = '{"policyName":"none","defaultCpuSet":"","checksum":3242152201}'


def nones() -> list[str]:
    return [OWN_NONE, *([REAL_NONE] if REAL else [])]


@pytest.mark.parametrize("file", nones())
def test_b18_a_broken_state_file_stops_the_kubelet(file: str) -> None:
    config = KubeletConfig()
    assert config.cpus(file).default == frozenset()
    changed = file.replace('"checksum":1353318690', '"checksum":1353318691')
    assert cpu_error(config, changed) == (
        f"could not restore state from checkpoint: checkpoint is corrupted, {DRAIN}"
    )
    for cut in (file[:-1], file[:20], ""):
        assert cpu_error(config, cut) == (
            f"could not restore state from checkpoint: unexpected end of JSON input, {DRAIN}"
        )
    assert config.cpus(file.replace("1353318690", "0")).default == frozenset(), "0 is no checksum"
    assert config.cpus(OF_1_17).default == frozenset()


def test_b18_the_device_manager_shrugs_off_the_same() -> None:
    good = device_manager.restart(
        '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":0}', 0.0
    )
    assert good.read_error == "checkpoint is corrupted"
    assert good.pod_devices == {}


@needs_real
@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("kubelet_internal_checkpoint-1gpu-numa0.json", None),
        ("kubelet_internal_checkpoint-bad-checksum.SYNTHETIC.json", "checkpoint is corrupted"),
        ("kubelet_internal_checkpoint-truncated.SYNTHETIC.json", "unexpected end of JSON input"),
    ],
)
def test_b18_real_checkpoints_of_devices(name: str, error: str | None) -> None:
    state = device_manager.restart(real(name), 0.0)
    assert state.read_error == error
    assert bool(state.pod_devices) is (error is None)


@needs_real
def test_b18_a_memory_file_of_another_spelling_stops_the_kubelet_too() -> None:
    file = real("memory_manager_state-k8s-unit-test.json")
    machine, assignments = read_memory_state(file, "static")
    assert machine[0].memory_map["memory"].free == 1024
    assert assignments["pod"]["container1"][0].size == 512
    with pytest.raises(
        MemoryManagerError, match='policy "Static" differs from state checkpoint policy "static"'
    ):
        read_memory_state(file, "Static")
    with pytest.raises(MemoryManagerError, match="checkpoint is corrupted, please drain this node"):
        read_memory_state(file.replace("512", "513", 1), "static")


@pytest.mark.parametrize(
    "text", [STATIC, *([real("kubeletconfig-eks-numa.yaml")] if REAL else [])], ids=lambda text: text[-30:]
)
def test_b47_a_kubelet_whose_policy_was_changed_does_not_start(text: str) -> None:
    config = of(text)
    for file in nones():
        assert cpu_error(config, file) == (
            'could not restore state from checkpoint: configured policy "static" differs from state checkpoint '
            f'policy "none", {DRAIN}'
        )
    written = config.cpus().checkpoint
    assert 'configured policy "none" differs from state checkpoint policy "static"' in cpu_error(
        KubeletConfig(), written
    )
    fewer = replace(config, cpu_topology=CPUTopology.regular(cores=3))
    assert cpu_error(fewer, written) == (
        'current set of available CPUs "0-5" doesn\'t match with CPUs in state "0-15"'
    )


@needs_real
def test_b47_the_file_of_a_real_node_on_its_machine_and_on_others() -> None:
    file = real("cpu_manager_state-static-2pods-13-14cpu.json")
    machine = CPUTopology.regular(cores=14)  # 28 CPUs, siblings 14 apart
    config = replace(of(STATIC), cpu_topology=machine, reserved_system_cpus=parse_cpus("0"))
    state = config.cpus(file)
    assert state.checkpoint == file
    assert state.default == parse_cpus("0,13")
    more = replace(config, reserved_system_cpus=parse_cpus("0-3"))
    assert cpu_error(more, file) == 'not all reserved cpus: "0-3" are present in defaultCpuSet: "0,13"'
    grown = replace(config, cpu_topology=CPUTopology.regular(cores=16))
    assert "doesn't match with CPUs in state" in cpu_error(grown, file)


# Pods on a kubelet that is set up by a file


def container(name: str, **texts: str) -> Container:
    both = amounts(**texts)
    return Container(name, requests=both, limits=both)


B44: Mapping[str, tuple[tuple[Container, ...], dict[str, int]]] = {
    "no memory": ((container("c", cpu="4"),), {}),
    "whole": ((container("c", cpu="4", memory="1Gi"),), {"c": 4}),
    "one and a half": ((container("c", cpu="1500m", memory="1Gi"),), {}),
    "4000m": ((container("c", cpu="4000m", memory="1Gi"),), {"c": 4}),
    "a small one beside": (
        (container("c", cpu="4", memory="1Gi"), container("side", cpu="100m", memory="64Mi")),
        {"c": 4},
    ),
    "an idle one beside": ((container("c", cpu="4", memory="1Gi"), Container("side")), {}),
    "only a device": ((Container("c", limits={"example.com/gpu": Quantity.of(1)}),), {}),
}


@pytest.mark.parametrize(
    "text", [STATIC, *([real("kubeletconfig-eks-numa.yaml")] if REAL else [])], ids=lambda text: text[-30:]
)
@pytest.mark.parametrize("name", B44)
def test_b44_who_gets_cpus_of_its_own_on_a_configured_kubelet(name: str, text: str) -> None:
    containers, owned = B44[name]
    driver = Driver(new_kubelet(Node("n", capacity=BIG, allocatable=BIG), "/dir", of(text)))
    driver.feed(k.PodBound(Pod("p", uid="p", containers=containers)))
    own = driver.state.cpus.assignments.get("p", {})
    assert {name: len(cpus) for name, cpus in own.items()} == owned


@needs_real
@pytest.mark.parametrize(
    ("file", "whole"),
    [
        ("intel-dlb-dpdk-pod.yaml", True),  # a CPU and memory, request = limit, in both containers
        ("intel-dlb-libdlb-pod.yaml", True),
        ("sriov-dpdk-testpmd.yaml", False),  # no CPU is asked for, though it polls
        ("hami-neuron-multi-containers.yaml", False),  # limits above the requests
        ("website-qos-pod-4.yaml", False),
    ],
)
def test_b44_pods_that_people_run(file: str, whole: bool) -> None:
    pod = load(real(file)).pods[0]
    driver = Driver(new_kubelet(Node("n", capacity=BIG, allocatable=BIG), "/dir", of(STATIC)))
    driver.feed(k.PodBound(pod))
    assert bool(driver.state.cpus.assignments) is whole


@pytest.mark.parametrize("switches", [frozenset[str](), frozenset({"129078"})], ids=["v1.32", "129078"])
@pytest.mark.parametrize(
    "text",
    [PINNED, *([real("kubelet-config-microshift-pinning.yaml")] if REAL else [])],
    ids=lambda text: text[-30:],
)
def test_b45_a_running_pod_after_a_restart_on_both_sides_of_the_switch(
    text: str, switches: frozenset[str]
) -> None:
    """16 CPUs, of which 0 and 1 are reserved: 6 whole cores of 2 CPUs are left, and the pod has them all."""
    config = replace(of(text), switches=switches, topology_manager_policy="none")
    driver = Driver(new_kubelet(Node("n", capacity=BIG, allocatable=BIG), "/dir", config))
    pod = Pod("p", uid="p", containers=(container("c", cpu="12", memory="1Gi"),))
    driver.feed(k.PodBound(pod))
    assert driver.state.cpus.assigned("p", "c") == parse_cpus("2-7,10-15")
    driver.feed(k.KubeletRestarted(None))
    driver.feed(k.PodBound(pod))
    record: PodRecord = driver.state.pods["p"]
    if switches:
        assert record.phase == "Running"
        assert driver.state.cpus.assigned("p", "c") == parse_cpus("2-7,10-15")
    else:
        assert (record.phase, record.reason) == ("Failed", "SMTAlignmentError")
        assert record.message == (
            "Pod was rejected: SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 0, "
            "requested CPUs = 12, CPUs per core = 2"
        )


# KubeletConfiguration


@needs_real
def test_a_real_configuration_sets_up_cpus_memory_and_topology() -> None:
    found = load_kubelet_configuration(real("kubelet-config-microshift-pinning.yaml"))
    assert found.notes == (
        "a kubelet honours these, kubedev's has no use for them: cpuManagerReconcilePeriod",
    )
    state = new_kubelet(Node("n"), "/dir", found.config)
    assert state.topology.policy == "single-numa-node"
    assert state.cpus.policy is not None
    assert state.cpus.policy.reserved == {0, 1}
    assert state.cpus.policy.options.full_pcpus_only
    assert state.memory.machine[0].memory_map["memory"].system_reserved == 1100 << 20


CONFIGS = [
    KubeletConfig(),
    KubeletConfig(
        topology_manager_policy="restricted",
        topology_manager_scope="pod",
        topology_manager_policy_options=(("max-allowable-numa-nodes", "34"),),
        cpu_manager_policy="static",
        cpu_manager_policy_options=(("align-by-socket", "true"),),
        reserved_system_cpus=frozenset({0, 2}),
        feature_gates=(("CPUManagerPolicyAlphaOptions", True),),
    ),
    KubeletConfig(
        memory_manager_policy="Static",
        reserved_memory=(MemoryReservation(1, {"memory": Quantity.parse("1Gi")}),),
        kube_reserved=(("cpu", "500m"), ("memory", "1Gi")),
        system_reserved=(("cpu", "1"),),
        eviction_hard=(),
        eviction_pressure_transition_period="30s",
        eviction_max_pod_grace_period=7,
    ),
]


@pytest.mark.parametrize("config", CONFIGS, ids=["default", "cpus", "memory"])
def test_the_file_and_the_python_value_are_one_thing(config: KubeletConfig) -> None:
    document = document_of(config)
    assert (document["apiVersion"], document["kind"]) == CONFIGURATION
    assert kubelet_configuration_reader()(document).config == config


def test_the_machine_is_not_in_the_file_and_stays() -> None:
    machine = KubeletConfig(NUMAInfo((0, 1, 2)), numa_memory=(NUMAMemory(0, 1 << 30),))
    config = load_kubelet_configuration(STATIC, machine=machine).config
    assert (config.numa, config.numa_memory) == (machine.numa, machine.numa_memory)
    assert config.cpu_manager_policy == "static"


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (
            "topologyManagerPolicy: best",
            'topologyManagerPolicy: unknown policy: "best": write one of none, best-',
        ),
        ("topologyManagerScope: node", 'topologyManagerScope: unknown scope: "node"'),
        (
            "topologyManagerPolicy: restricted\ntopologyManagerPolicyOptions: {max-allowable-numa-nodes: '7'}",
            'topologyManagerPolicyOptions: the minimum value of "max-allowable-numa-nodes" should not be less than 8',
        ),
        (
            "cpuManagerPolicy: static\ncpuManagerPolicyOptions: {align-by-socket: 'true'}",
            'CPU Manager Policy Alpha-level Options not enabled, but option "align-by-socket" provided',
        ),
        (
            "memoryManagerPolicy: static",
            'memoryManagerPolicy: unknown policy: "static": write one of None, Static',
        ),
        (
            "reservedSystemCPUs: 3-1",
            "reservedSystemCPUs: unable to parse reservedSystemCPUs (--reserved-cpus) 3-1",
        ),
        (
            "kubeReserved: {disk: 1Gi}",
            '--kube-reserved value failed to parse: cannot reserve "disk" resource',
        ),
        ("systemReserved: {memory: 1}", "systemReserved.memory: expected a text, got 1: put it in quotes"),
        ("evictionHard: {memory: 1Gi}", "evictionHard: unsupported eviction signal memory"),
        (
            "evictionSoft: {memory.available: 1Gi}",
            "evictionSoft: grace period must be specified for the soft eviction threshold memory.available",
        ),
        ("evictionPressureTransitionPeriod: 90", "expected a text, got 90"),
        ("evictionPressureTransitionPeriod: '90'", 'time: missing unit in duration "90"'),
        (
            "reservedMemory: [{numaNode: 0, limits: {cpu: 1}}]",
            'the limit type "cpu" for NUMA node 0 is not supported, only [memory hugepages-<HugePageSize>] is',
        ),
        (
            "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}, {numaNode: 0, limits: {memory: 1Gi}}]",
            'the reserved memory has a duplicate value for NUMA node 0 and resource "memory"',
        ),
        (
            "featureGates: {SidecarContainers: 'yes'}",
            "featureGates.SidecarContainers: expected true or false",
        ),
        ("a: b: c", "error converting YAML to JSON: yaml: "),
    ],
)
def test_bad_values_get_a_text_that_names_the_field(lines: str, text: str) -> None:
    with pytest.raises(KubeletConfigurationError) as caught:
        load_kubelet_configuration(HEADER + lines + "\n", "node.yaml")
    assert str(caught.value).startswith("node.yaml: ")
    assert text in str(caught.value)


@pytest.mark.parametrize("text", ["", "kind: KubeletConfiguration", "apiVersion: v1\nkind: Pod", "[]"])
def test_another_document_is_refused(text: str) -> None:
    with pytest.raises(KubeletConfigurationError, match="expected "):
        load_kubelet_configuration(text)


def test_what_counts_for_nothing_is_named() -> None:
    found = load_kubelet_configuration(
        HEADER + "maxPods: 5\ntopologyManagerPolciy: restricted\nfeatureGates: {NodeSwap: true}\n"
    )
    assert found.config == KubeletConfig(feature_gates=(("NodeSwap", True),))
    assert found.notes == (
        "a kubelet honours these, kubedev's has no use for them: maxPods, featureGates.NodeSwap",
        'unknown field "topologyManagerPolciy": a kubelet goes on without it: did you mean topologyManagerPolicy?',
    )


def test_a_feature_gate_in_the_file_is_a_switch() -> None:
    config = of(HEADER + "featureGates: {KubeletPodResourcesGet: true, ResourceHealthStatus: false}\n")
    assert config.all_switches == {"KubeletPodResourcesGet"}


# A lab and the command


def test_a_lab_is_configured_by_a_file_and_by_what_is_pasted(tmp_path: Path) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text(f"{PINNED}registerNode: true\n")
    with Lab("configured", nodes=1, transport="memory", config=file) as lab:
        assert lab.notes == ("a kubelet honours these, kubedev's has no use for them: registerNode",)
        (agent,) = lab.state.kubelets.values()
        assert agent.config.cpu_manager_policy == "static"
        loaded = lab.apply(HEADER + "topologyManagerPolicy: restricted\nmaxPods: 9\n")
        assert any("maxPods" in note for note in loaded.notes)
        (agent,) = lab.state.kubelets.values()
        assert (agent.topology.policy, agent.cpus.policy) == ("restricted", None)


def test_what_is_pasted_and_does_not_start_changes_nothing() -> None:
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: pinned}\nspec:\n  containers:\n  - name: c\n    image: x\n"
        "    resources: {limits: {cpu: 2, memory: 1Gi}}\n"
    )
    with Lab("not configured", nodes=1, transport="memory", config=STATIC) as lab:
        lab.apply(pod)
        before = lab.state
        with pytest.raises(
            ValueError, match='configured policy "none" differs from state checkpoint policy "static"'
        ):
            lab.apply(HEADER + "cpuManagerPolicy: none\n")
        assert lab.state == before


def test_b43_a_lab_on_34_numa_nodes_runs_pods_and_says_that_kubernetes_would_not() -> None:
    config = KubeletConfig(
        NUMAInfo(tuple(range(34))),
        topology_manager_policy="best-effort",
        topology_manager_policy_options=(("max-allowable-numa-nodes", "34"),),
    )
    with Lab("a tray", nodes=1, transport="memory", config=config) as lab:
        assert "Kubernetes would try them all, and would not answer" in "".join(lab.notes)
        lab.plugin("nvidia.com/gpu", 68, numa=34)
        loaded = lab.apply("two-gpus")
        (pod,) = loaded.pods
        assert lab.pod(pod.name).phase == "Running"
        devices = {d.id: d.numa_nodes for p in lab.state.plugins.values() for d in p.devices}
        assert len({devices[id_] for id_ in lab.devices_of(pod.name)}) == 1, "both on one node"


def test_a_flag_wins_over_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from argparse import ArgumentParser

    from kubedev.tools.kubelet_flags import add_flags, configured

    file = tmp_path / "kubelet.yaml"
    file.write_text(PINNED + "topologyManagerPolicy: restricted\n")
    parser = ArgumentParser()
    add_flags(parser)

    def config(*arguments: str) -> KubeletConfig:
        return configured(parser.parse_args(["--config", str(file), *arguments])).config

    assert config().topology_manager_policy == "restricted"
    assert config("--topology-manager-policy", "best-effort").topology_manager_policy == "best-effort"
    assert config("--reserved-cpus", "0-3").reserved_system_cpus == {0, 1, 2, 3}
    assert config("--numa", "4").numa.nodes == (0, 1, 2, 3)
    assert config("--numa", "4", "--topology-manager-policy", "none").topology_manager_policy == "none"
    file.write_text(HEADER + "cpuManagerPolicy: static\n")
    assert kubelet_main(["--dir", str(tmp_path / "dir"), "--config", str(file)]) == 1
    assert (
        "kubedev kubelet: the kubelet does not start: [cpumanager] unable to determine reserved CPU resources"
        in capsys.readouterr().err
    )
    assert not (tmp_path / "dir").exists()
    assert kubelet_main(["--dir", str(tmp_path / "dir"), "--config", str(tmp_path / "none.yaml")]) == 1
    error = capsys.readouterr().err
    assert "--config: cannot be read: " in error
    assert "none.yaml: No such file or directory" in error
