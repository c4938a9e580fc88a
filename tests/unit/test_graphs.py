"""The graphs behind the pictures can be asked with networkx' own functions."""

import subprocess
import sys
from collections.abc import Iterator

import networkx as nx
import pytest

from kubedev.api.messages import Device, DevicePluginOptions, PreferredAllocationResponse, converse
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.cpu.cpu_topology import CPUInfo, CPUTopology
from kubedev.kubelet.devices.allocation import DeviceRequest, devices_to_allocate
from kubedev.kubelet.devices.devices import DeviceManagerState
from kubedev.kubelet.devices.endpoint import PLUGIN_PHASES, Endpoint
from kubedev.kubelet.topology.merge import NUMAInfo
from kubedev.lab import Lab
from kubedev.views.graph_picture import graph_picture
from kubedev.views.graphs import (
    allocation_graph,
    holdings_graph,
    layered,
    life_cycle_graph,
    machine_graph,
    messages_graph,
)
from kubedev.views.picture import Box, Line, Text
from tests.unit.picture_checks import problems

GPU = "example.com/gpu"


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab("graphs", nodes=1, transport="memory") as lab:
        lab.plugin(GPU, devices=4, numa=2)
        lab.apply(
            """
apiVersion: v1
kind: Pod
metadata: {name: pair}
spec:
  containers:
  - {name: a, image: x, resources: {limits: {example.com/gpu: 1}}}
  - {name: b, image: x, resources: {limits: {example.com/gpu: 2}}}
"""
        )
        yield lab


def test_who_holds_what_is_a_path_from_pod_to_numa_node(lab: Lab) -> None:
    graph = holdings_graph(lab.state)
    assert {kind for _, kind in graph.nodes(data="kind")} == {"pod", "container", "device", "numa node"}
    held = {
        graph.nodes[node]["id"] for node in nx.descendants(graph, "pod pair") if "id" in graph.nodes[node]
    }
    assert held == set(lab.devices_of("pair"))
    assert len(held) == 3
    devices = [node for node, kind in graph.nodes(data="kind") if kind == "device"]
    assert len(devices) == 4
    assert [graph.nodes[d]["id"] for d in devices if not graph.in_degree(d)] == [
        d for d in ("d0", "d1", "d2", "d3") if d not in held
    ]
    assert layered(graph)["pod pair"] == 0


def test_a_device_that_is_held_and_no_longer_listed_stays_in_the_graph(lab: Lab) -> None:
    lab.set_health("d0", healthy=False)
    graph = holdings_graph(lab.state)
    assert graph.nodes["device gpu-node-1 d0"]["condition"] == "unhealthy"
    agent = lab.state.kubelets["gpu-node-1"]
    listed = {GPU: {id_: d for id_, d in agent.devices.all_devices[GPU].items() if id_ != "d0"}}
    from dataclasses import replace

    devices = replace(agent.devices, all_devices=listed, unhealthy_devices={})
    state = replace(lab.state, kubelets={"gpu-node-1": replace(agent, devices=devices)})
    assert holdings_graph(state).nodes["device gpu-node-1 d0"]["condition"] == "not listed"


def test_the_life_cycle_graph_has_every_transition_of_the_table() -> None:
    graph = life_cycle_graph(PLUGIN_PHASES)
    assert {(a, e): b for a, b, e in graph.edges(keys=True)} == dict(PLUGIN_PHASES)
    assert nx.has_path(graph, "absent", "connected")


def test_the_sets_of_an_allocation_are_layers_that_a_device_passes() -> None:
    devices = {f"d{i}": Device(f"d{i}", numa_nodes=(i // 2,)) for i in range(4)}
    state = DeviceManagerState(
        all_devices={GPU: devices},
        healthy_devices={GPU: frozenset({"d0", "d1", "d3"})},
        unhealthy_devices={GPU: frozenset({"d2"})},
        allocated_devices={GPU: frozenset({"d0"})},
        connections={1: Endpoint(GPU, "s", "connected", DevicePluginOptions())},
        endpoints={GPU: 1},
    )
    asked = devices_to_allocate(state, DeviceRequest("u", "c", GPU, 1), affinity=0b01)
    _, decision = converse(asked, lambda _: PreferredAllocationResponse(()))
    graph = allocation_graph(decision)
    assert nx.is_directed_acyclic_graph(graph)
    assert graph.nodes["aligned"]["devices"] == {"d1"}
    assert graph.edges["available", "unaligned"]["devices"] == {"d3"}
    assert graph.edges["aligned", "taken"]["devices"] == {"d1"}
    assert not graph.has_edge("unaligned", "taken")


def test_the_machine_is_a_tree_with_distances() -> None:
    cpus = CPUTopology.of((i, CPUInfo(i // 2, i // 4, i // 4, i // 4)) for i in range(8))
    config = KubeletConfig(numa=NUMAInfo((0, 1), {0: (10, 21), 1: (21, 10)}), cpu_topology=cpus)
    devices = DeviceManagerState(all_devices={GPU: {"d0": Device("d0", numa_nodes=(1,))}})
    graph = machine_graph(config, devices)
    assert nx.is_tree(graph)
    assert graph.nodes["NUMA node 0"]["distances"] == (10, 21)
    assert nx.shortest_path(graph, "machine", "CPU 5") == [
        "machine",
        "socket 1",
        "NUMA node 1",
        "core 2",
        "CPU 5",
    ]
    assert "device d0" in nx.descendants(graph, "socket 1")


def test_the_messages_of_a_run_are_edges_in_their_order(lab: Lab) -> None:
    graph = messages_graph(lab.state)
    numbers = [number for _, _, number in graph.edges(keys=True)]
    assert sorted(numbers) == [message.number for message in lab.state.messages]
    assert graph.number_of_edges("kubelet/gpu-node-1", f"plugin/gpu-node-1/{GPU}") >= 2


def test_graphs_need_no_numpy() -> None:
    script = (
        "import sys; sys.modules['numpy'] = None\n"
        "from kubedev.views.graphs import layered, life_cycle_graph\n"
        "from kubedev.kubelet.devices.endpoint import PLUGIN_PHASES\n"
        "assert 'networkx' not in sys.modules\n"
        "print(layered(life_cycle_graph(PLUGIN_PHASES))['connected'])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "3\n"


def test_a_graph_is_drawn_with_all_its_edges_and_says_what_it_leaves_out(lab: Lab) -> None:
    lab.set_health("d3", healthy=False)
    drawn = graph_picture(lab.graph())
    assert problems(drawn) == []
    boxes = {mark.key.removeprefix("at/0/0/"): mark for mark in drawn.marks if isinstance(mark, Box)}
    assert len(boxes) == lab.graph().number_of_nodes()
    assert sum(isinstance(mark, Line) for mark in drawn.marks) == lab.graph().number_of_edges()
    assert [mark.title for mark in boxes.values() if mark.look == "impossible"] == ["d3"]
    lab.plugin(GPU, devices=64)
    many = graph_picture(lab.graph())
    assert any(isinstance(mark, Text) and mark.text == "+46 more" for mark in many.marks)
    assert len(many.tables[0].rows) == lab.graph().number_of_nodes()


def test_any_graph_can_be_drawn() -> None:
    for graph in (
        machine_graph(KubeletConfig(NUMAInfo((0, 1)))),
        life_cycle_graph(PLUGIN_PHASES),
        nx.DiGraph(),
    ):
        assert problems(graph_picture(graph)) == []


def test_the_page_gets_the_graph_behind_the_frame_on_show(lab: Lab) -> None:
    stage = lab.show()
    updates: list[dict[str, object]] = []
    stage.observe(lambda change: updates.append(change["new"]), names="update")
    stage._handle_custom_msg({"graph": len(stage.frames) - 1}, [])
    stage.flush()
    assert [update["graph"]["head"][0] for update in updates if "graph" in update] == ["Who holds what"]  # type: ignore[index]
