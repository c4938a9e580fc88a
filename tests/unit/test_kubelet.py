"""The kubelet as one state machine: plugins in memory, events by hand."""

from dataclasses import dataclass, field, replace

import pytest

from kubedev.api.messages import Device, RpcError
from kubedev.api.objects import Container, Node, Pod
from kubedev.api.quantity import Quantity
from kubedev.deviceplugin.plugin import Plugin, answer, make_devices
from kubedev.kubelet import events as k
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.cpu.cpu_topology import CPUTopology
from kubedev.kubelet.kubelet import KubeletState, new_kubelet, step
from kubedev.kubelet.topology.merge import NUMAInfo

GPU = "example.com/gpu"


def amounts(**texts: str) -> dict[str, Quantity]:
    return {
        name.replace("_", "/").replace("example/com", "example.com"): Quantity.parse(t)
        for name, t in texts.items()
    }


NODE = Node(
    "n1",
    capacity=amounts(cpu="8", memory="8Gi", pods="110"),
    allocatable=amounts(cpu="8", memory="8Gi", pods="110"),
)


def pod(name: str, gpus: int, **more: object) -> Pod:
    wants = {GPU: Quantity.of(gpus)}
    return Pod(
        name,
        uid=f"uid-{name}",
        node_name="n1",
        containers=(Container("c", requests=wants, limits=wants),),
        **more,
    )  # type: ignore[arg-type]


@dataclass
class Driver:
    """Feeds a kubelet; answers its calls from `plugin` unless `hold` is set."""

    state: KubeletState = field(default_factory=lambda: new_kubelet(NODE, "/dir"))
    plugin: Plugin = Plugin(GPU, make_devices(4, 2))
    hold: bool = False
    now: float = 0.0
    done: list[k.Effect] = field(default_factory=list)
    held: list[k.Ask] = field(default_factory=list)

    def feed(self, event: k.KubeletEvent) -> list[k.Effect]:
        start = len(self.done)
        events: list[k.KubeletEvent] = [event]
        while events:
            self.state, effects = step(self.state, events.pop(0), self.now)
            self.done += effects
            for effect in effects:
                if isinstance(effect, k.Ask) and self.hold:
                    self.held.append(effect)
                elif isinstance(effect, k.Ask):
                    events.append(k.Answered(effect.call_id, self.answer(effect)))
                elif isinstance(effect, k.OpenStream):
                    events.append(k.ListReceived(effect.client, self.plugin.devices))
                elif isinstance(effect, k.StopContainer):
                    events.append(k.ContainerExited(effect.pod_uid, effect.container, 0))
        return self.done[start:]

    def answer(self, ask: k.Ask) -> object:
        from kubedev.api.messages import Empty

        return Empty() if ask.call.method == "Dial" else answer(self.plugin, ask.call.request)

    def register(self) -> list[k.Effect]:
        from kubedev.api.messages import RegisterRequest

        return self.feed(k.PluginRegistering(1, RegisterRequest(endpoint="gpu.sock", resource_name=GPU)))


def phases(effects: list[k.Effect]) -> list[tuple[str, str]]:
    return [(e.phase, e.reason) for e in effects if isinstance(e, k.PodStatus)]


def test_register_makes_devices_visible_on_the_node() -> None:
    driver = Driver()
    effects = driver.register()
    assert [type(e).__name__ for e in effects if not isinstance(e, k.Ask)] == [
        "Reply",
        "OpenStream",
        "NodeStatus",
    ]
    status = effects[-1]
    assert isinstance(status, k.NodeStatus)
    assert status.capacity[GPU] == status.allocatable[GPU] == Quantity.of(4)
    assert status.capacity["cpu"] == Quantity.parse("8")


def test_a_pod_gets_devices_and_its_container_the_plugins_answer() -> None:
    driver = Driver()
    driver.register()
    effects = driver.feed(k.PodBound(pod("web", 2)))
    started = [e for e in effects if isinstance(e, k.StartContainer)]
    assert [s.container for s in started] == ["c"]
    assert started[0].envs == (("KUBEDEV_EXAMPLE_COM_GPU", "d0,d1"),)
    assert phases(effects) == [("Running", "")]
    capacity = driver.feed(k.NodeStatusDue())
    assert capacity == [], "allocation changes neither capacity nor allocatable"


def test_too_many_devices_are_refused_with_kubernetes_text() -> None:
    driver = Driver()
    driver.register()
    driver.feed(k.PodBound(pod("web", 3)))
    effects = driver.feed(k.PodBound(pod("late", 2)))
    status = effects[-1]
    assert isinstance(status, k.PodStatus)
    assert (status.phase, status.reason) == ("Failed", "UnexpectedAdmissionError")
    assert status.message == (
        "Pod was rejected: Allocate failed due to requested number of devices unavailable for example.com/gpu. "
        "Requested: 2, Available: 1, which is unexpected"
    )


def test_a_resource_the_node_has_at_zero_is_out_and_one_it_does_not_know_runs() -> None:
    """Question Q5: 0 says that a plugin managed it and is gone, absent that somebody else counts it."""
    driver = Driver()
    assert phases(driver.feed(k.PodBound(pod("absent", 1)))) == [("Running", "")]
    driver.feed(
        k.NodeUpdated(
            replace(
                NODE,
                capacity={**NODE.capacity, GPU: Quantity.of(0)},
                allocatable={**NODE.allocatable, GPU: Quantity.of(0)},
            )
        )
    )
    effects = driver.feed(k.PodBound(pod("zero", 1)))
    assert phases(effects) == [("Failed", "OutOfexample.com/gpu")]
    assert effects[-1].message == (  # type: ignore[union-attr]
        "Pod was rejected: Node didn't have enough resource: example.com/gpu, requested: 1, used: 1, capacity: 0"
    )


def test_deleting_a_pod_stops_its_container_and_frees_its_devices_at_the_next_allocation() -> None:
    driver = Driver()
    driver.register()
    driver.feed(k.PodBound(pod("web", 4)))
    effects = driver.feed(k.PodDeleted("uid-web"))
    assert [type(e).__name__ for e in effects] == ["StopContainer", "PodTerminated"]
    assert phases(driver.feed(k.PodBound(pod("next", 4)))) == [("Running", "")]


def test_a_plugin_that_never_answers_holds_up_the_pods_behind() -> None:
    driver = Driver()
    driver.register()
    driver.hold = True
    driver.feed(k.PodBound(pod("first", 1)))
    waiting = pod("second", 0)
    assert driver.feed(k.PodBound(waiting)) == []
    driver.hold = False
    ask = driver.held.pop()
    while ask:
        effects = driver.feed(k.Answered(ask.call_id, driver.answer(ask)))  # type: ignore[arg-type]
        ask = driver.held.pop() if driver.held else None  # type: ignore[assignment]
    assert phases(effects) == [("Running", ""), ("Running", "")]


def test_init_containers_run_one_after_another_and_their_devices_are_reused() -> None:
    driver = Driver()
    driver.register()
    wants = {GPU: Quantity.of(3)}
    init = Container("init", requests=wants, limits=wants)
    driver.feed(k.PodBound(replace(pod("web", 2), init_containers=(init,))))
    assert driver.state.pods["uid-web"].running == {"init"}
    effects = driver.feed(k.ContainerExited("uid-web", "init", 0))
    assert [e.container for e in effects if isinstance(e, k.StartContainer)] == ["c"]
    assert phases(effects) == [("Running", "")]
    assert driver.state.devices.allocated_devices[GPU] == {"d0", "d1", "d2"}


def test_each_container_of_a_pod_is_started_once() -> None:
    driver = Driver()
    driver.register()
    web = pod("web", 1)
    effects = driver.feed(
        k.PodBound(replace(web, containers=tuple(replace(web.containers[0], name=n) for n in "abc")))
    )
    assert [e.container for e in effects if isinstance(e, k.StartContainer)] == ["a", "b", "c"]
    assert phases(effects) == [("Running", "")]


def test_a_failed_allocate_refuses_the_pod_and_gives_its_devices_back() -> None:
    driver = Driver()
    driver.register()
    driver.hold = True
    driver.feed(k.PodBound(pod("web", 4)))
    effects = driver.feed(k.Answered(driver.held.pop().call_id, RpcError("Unknown", "no such GPU")))
    assert phases(effects) == [("Failed", "UnexpectedAdmissionError")]
    assert driver.state.devices.allocated_devices.get(GPU, frozenset()) == frozenset()


def guaranteed(name: str, cpus: int, gpus: int) -> Pod:
    wants = {**amounts(cpu=str(cpus), memory="1Gi"), GPU: Quantity.of(gpus)}
    return replace(pod(name, gpus), containers=(Container("c", requests=wants, limits=wants),))


@pytest.mark.parametrize(
    ("policy", "admitted"),
    [("none", True), ("best-effort", True), ("restricted", False), ("single-numa-node", False)],
)
def test_cpus_and_devices_are_aligned_or_the_pod_is_refused(policy: str, admitted: bool) -> None:
    """Two NUMA nodes of 4 CPUs and 2 devices: 3 CPUs and a device fit on one node, and then on neither."""
    config = KubeletConfig(
        topology_manager_policy=policy,
        cpu_manager_policy="static",
        cpu_topology=CPUTopology.regular(numa_nodes=2, cores=2),
        system_reserved=(("cpu", "1"),),
    )
    driver = Driver(new_kubelet(NODE, "/dir", config))
    driver.register()
    driver.feed(k.PodBound(guaranteed("first", 2, 2)))
    driver.feed(k.PodBound(guaranteed("second", 3, 1)))
    effects = driver.feed(k.PodBound(guaranteed("third", 2, 1)))
    status = next(e for e in reversed(effects) if isinstance(e, k.PodStatus))
    held = driver.state.devices.pod_devices
    if admitted:
        assert status.phase == "Running"
        assert len(driver.state.cpus.assigned("uid-third", "c") or ()) == 2
    else:
        assert (status.phase, status.reason) == ("Failed", "TopologyAffinityError")
        assert status.message == "Pod was rejected: Resources cannot be allocated with Topology locality"
        first, second = (held[f"uid-{n}"]["c"][GPU].devices for n in ("first", "second"))
        assert (first, second) == ({"d0", "d1"}, {"d2"})
        cpus = driver.state.cpus.assigned("uid-second", "c")
        assert cpus is not None
        assert len(cpus) == 3


def test_a_kubelet_does_not_start_on_a_machine_with_too_many_numa_nodes() -> None:
    config = KubeletConfig(numa=NUMAInfo(tuple(range(9))), topology_manager_policy="best-effort")
    with pytest.raises(ValueError, match="unsupported on machines with more than 8 NUMA Nodes"):
        new_kubelet(NODE, "/dir", config)


def test_health_reaches_the_pods_status_behind_its_switch() -> None:
    for switches, told in ((frozenset(), []), ({"ResourceHealthStatus"}, [(("c", GPU, "d0", "Unhealthy"),)])):
        driver = Driver(new_kubelet(NODE, "/dir", KubeletConfig(switches=frozenset(switches))))
        driver.register()
        driver.feed(k.PodBound(pod("web", 1)))
        sick = tuple(replace(d, health="Unhealthy") if d.id == "d0" else d for d in driver.plugin.devices)
        effects = driver.feed(k.ListReceived(1, sick))
        assert [e.device_health for e in effects if isinstance(e, k.PodStatus)] == told


def test_lists_of_a_connection_that_is_gone_change_nothing() -> None:
    driver = Driver()
    before = driver.state
    driver.feed(k.ListReceived(17, (Device("x"),)))
    assert driver.state == before
