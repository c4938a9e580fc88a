"""A whole cluster is walked through at random, events cutting into one another; what must hold at rest, holds."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from kubedev.api.manifests import load
from kubedev.api.messages import HEALTHY, UNHEALTHY, DevicePluginOptions
from kubedev.api.objects import Container, Node, Pod
from kubedev.api.quantity import Quantity
from kubedev.api.selectors import Taint
from kubedev.cluster import events as e
from kubedev.cluster.controllers.tainteviction import seconds_tolerated
from kubedev.cluster.history import History
from kubedev.cluster.serialise import encode
from kubedev.cluster.state import ClusterState
from kubedev.cluster.usage import MachineUsage, Usage
from kubedev.deviceplugin.plugin import make_devices
from kubedev.kubelet import events as k
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.pods import api_phase
from kubedev.kubelet.pressure.critical import is_critical_pod
from kubedev.kubelet.pressure.eviction import Outcome
from kubedev.scheduler.node_info import NodeInfo, PodInfo
from kubedev.scheduler.plugins.fits import fits
from kubedev.scheduler.plugins.taint_toleration import (
    DO_NOT_SCHEDULE_EFFECTS,
    find_matching_untolerated_taint,
)
from kubedev.scheduler.queue.queue_transitions import Place
from kubedev.scheduler.queue.queued_pod import key_of

from .cluster_run import Run, a_run

GPU, NIC = "example.com/gpu", "example.com/nic"
NODES = ("n1", "n2")
MENDED = frozenset({"121994", "130145"})
ALL = 1000
GI = 1 << 30
POLICIES = ("Always", "OnFailure", "Never")
taints = st.builds(
    Taint, st.sampled_from(("a", "b")), st.just(""), st.sampled_from(("NoSchedule", "NoExecute"))
)

steps = st.sampled_from((0, 1, 2, 4, 8, 16, ALL, ALL, ALL))
few = st.sampled_from((0, 1, 1, 2))
containers = st.lists(st.tuples(few, st.sampled_from((0, 0, 0, 1))), min_size=1, max_size=2)
inits = st.lists(st.tuples(few, st.booleans()), max_size=2)


def container(name: str, gpus: int, nics: int = 0, more: str = "") -> str:
    return f"{{name: {name}, image: i, {more} resources: {{limits: {{{GPU}: {gpus}, {NIC}: {nics}}}}}}}"


def a_pod(name: str, asks: list[tuple[int, int]], init: list[tuple[int, bool]], policy: str) -> Pod:
    own = [container(f"c{i}", gpus, nics) for i, (gpus, nics) in enumerate(asks)]
    before = [
        container(f"i{i}", gpus, more="restartPolicy: Always," if sidecar else "")
        for i, (gpus, sidecar) in enumerate(init)
    ]
    text = f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec: {{restartPolicy: {policy}, initContainers: [{", ".join(before)}], containers: [{", ".join(own)}]}}
"""
    return load(text).pods[0]


class Walk(RuleBasedStateMachine):
    """Posts events as they come, applies a few steps between them, and looks closely when all is at rest."""

    @initialize(
        mended=st.booleans(),
        policy=st.sampled_from(("none", "single-numa-node")),
        pods=st.lists(st.tuples(containers, inits, st.sampled_from(POLICIES)), min_size=2, max_size=4),
    )
    def start(
        self,
        mended: bool,
        policy: str,
        pods: list[tuple[list[tuple[int, int]], list[tuple[int, bool]], str]],
    ) -> None:
        self.mended = mended
        switches = MENDED if mended else frozenset()
        self.run = a_run(len(NODES), KubeletConfig(topology_manager_policy=policy, switches=switches))
        for node in NODES:
            self.run.post(e.PluginLaunched(node, GPU, make_devices(4, 2)))
        self.run.settle()
        self.begun = len(self.run.history) - 1
        self.names = count(1)
        self.left: list[tuple[Run, str]] = []
        for asks, init, restart_policy in pods:
            self.create(asks, init, restart_policy, "", 0, 0, ALL)

    @property
    def state(self) -> ClusterState:
        return self.run.state

    def happens(self, event: e.Event, steps: int) -> None:
        """Post an event, and go on for so many steps."""
        self.run.post(event)
        self.go_on(steps)

    def go_on(self, steps: int) -> None:
        for _ in range(steps):
            self.run.step()

    # What happens

    @rule(
        node=st.sampled_from(NODES),
        resource=st.sampled_from((GPU, GPU, NIC, NIC, f"{GPU}#new", "gpu")),
        devices=st.integers(0, 5),
        options=st.builds(DevicePluginOptions, st.booleans(), st.booleans()),
        again=st.sampled_from((True, True, True, False)),
        steps=steps,
    )
    def launch(
        self, node: str, resource: str, devices: int, options: DevicePluginOptions, again: bool, steps: int
    ) -> None:
        self.happens(e.PluginLaunched(node, resource, make_devices(devices, 2), options, again), steps)

    @rule(data=st.data(), listed=st.booleans(), steps=steps)
    def list_device(self, data: st.DataObject, listed: bool, steps: int) -> None:
        known = [
            (*key, d.id, listed)
            for key, p in self.state.plugins.items()
            if p.alive
            for d in (p.left_out if listed else p.devices)
        ]
        if known:
            self.happens(e.DeviceListed(*data.draw(st.sampled_from(known))), steps)

    @rule(data=st.data(), steps=steps)
    def kill(self, data: st.DataObject, steps: int) -> None:
        alive = [key for key, plugin in self.state.plugins.items() if plugin.alive]
        if alive:
            self.happens(e.PluginKilled(*data.draw(st.sampled_from(alive))), steps)

    @rule(data=st.data(), health=st.sampled_from((HEALTHY, UNHEALTHY)), steps=steps)
    def set_health(self, data: st.DataObject, health: str, steps: int) -> None:
        known = [(*key, d.id) for key, p in self.state.plugins.items() if p.alive for d in p.devices]
        if known:
            self.happens(e.HealthSet(*data.draw(st.sampled_from(known)), health), steps)

    @rule(
        asks=containers,
        init=inits,
        policy=st.sampled_from(POLICIES),
        node=st.sampled_from(("", "", "", "", *NODES)),
        again=st.integers(0, 3),
        priority=st.sampled_from((0, 0, 10)),
        steps=steps,
    )
    def create(
        self,
        asks: list[tuple[int, int]],
        init: list[tuple[int, bool]],
        policy: str,
        node: str,
        again: int,
        priority: int,
        steps: int,
    ) -> None:
        kind = "bound" if node else "p"
        name = f"{kind}{next(self.names)}"
        gone = sorted(
            uid
            for uid in self.state.store.uids.keys() - self.state.store.pods.keys()
            if uid.startswith(f"default/{kind}")
        )
        if gone and again and not self.run.inbox:  # a name that was there before, as people do it
            name = gone[again % len(gone)].partition("/")[2].partition("#")[0]
        if any(pod.name == name for pod in self.state.store.pods.values()):
            return
        pod = replace(a_pod(name, asks, init, policy), node_name=node, priority=priority)
        self.happens(e.PodCreated(replace(pod, creation_timestamp=self.state.now)), steps)

    @rule(node=st.sampled_from(NODES), between=steps, steps=steps)
    def critical_pod_finds_the_node_full(self, node: str, between: int, steps: int) -> None:
        for priority, after in ((0, between), (2_000_001_000, steps)):
            name = f"cpu{next(self.names)}"
            half = Container("c", requests={"cpu": Quantity.of(5)})
            pod = Pod(name, uid=name, containers=(half,), node_name=node, priority=priority)
            self.happens(e.PodCreated(replace(pod, creation_timestamp=self.state.now)), after)

    @rule(data=st.data(), gigabytes=st.sampled_from((9, 15)), steps=steps)
    def run_short(self, data: st.DataObject, gigabytes: int, steps: int) -> None:
        """A container uses much, and its kubelet looks."""
        if known := sorted(self.state.containers):
            key = data.draw(st.sampled_from(known))
            machine = e.MachineUsageSet(self.state.containers[key].node, MachineUsage(memory=8 * GI))
            self.happens(e.UsageSet(*key, Usage(memory=gigabytes * GI)), steps)
            self.happens(machine, steps)
            self.happens(e.ClockAdvanced(10), steps)

    @rule(data=st.data(), grace=st.sampled_from((None, None, 1, 0)), steps=steps)
    def delete(self, data: st.DataObject, grace: int | None, steps: int) -> None:
        if uids := sorted(self.state.store.pods):
            self.happens(e.PodDeletionAsked(data.draw(st.sampled_from(uids)), grace), steps)

    @rule(
        node=st.sampled_from(NODES),
        unschedulable=st.sampled_from((None, True, False)),
        add=st.lists(taints, max_size=1),
        remove=st.lists(taints, max_size=1),
        steps=steps,
    )
    def patch_node(
        self, node: str, unschedulable: bool | None, add: list[Taint], remove: list[Taint], steps: int
    ) -> None:
        self.happens(e.NodePatched(node, unschedulable, tuple(add), tuple(remove)), steps)

    @rule(node=st.sampled_from(NODES), steps=steps)
    def delete_node(self, node: str, steps: int) -> None:
        self.happens(e.NodeDeleted(node), steps)

    @rule(node=st.sampled_from(NODES), silent=st.booleans(), steps=steps)
    def silence(self, node: str, silent: bool, steps: int) -> None:
        self.happens(e.KubeletSilenced(node, silent), steps)

    @rule(data=st.data(), number=st.integers(5, 30), steps=steps)
    def flood(self, data: st.DataObject, number: int, steps: int) -> None:
        """A plugin that sends one list after another."""
        known = [(*key, d.id) for key, p in self.state.plugins.items() if p.alive for d in p.devices]
        if known:
            device = data.draw(st.sampled_from(known))
            for i in range(number):
                self.run.post(e.HealthSet(*device, HEALTHY if i % 2 else UNHEALTHY))
            self.go_on(steps)

    @rule(seconds=st.sampled_from((1, 10, 60, 301)), steps=steps)
    def advance(self, seconds: float, steps: int) -> None:
        self.happens(e.ClockAdvanced(seconds), steps)

    @rule(data=st.data(), gigabytes=st.sampled_from((0, 4)), steps=steps)
    def use(self, data: st.DataObject, gigabytes: int, steps: int) -> None:
        if known := sorted(self.state.containers):
            usage = Usage(memory=gigabytes * GI)
            self.happens(e.UsageSet(*data.draw(st.sampled_from(known)), usage), steps)

    @rule(node=st.sampled_from(NODES), reboot=st.booleans(), steps=steps)
    def restart(self, node: str, reboot: bool, steps: int) -> None:
        self.happens(e.KubeletStopped(node, reboot), steps)

    @rule(data=st.data(), code=st.sampled_from((0, 1, 137)), steps=steps)
    def container_ends(self, data: st.DataObject, code: int, steps: int) -> None:
        if running := sorted(self.run.running()):
            self.run.end_container(data.draw(st.sampled_from(running)), code)
            self.go_on(steps)

    # History

    @rule(back=st.integers(0, 40))
    def fork(self, back: int) -> None:
        self.left.append((self.run, str(encode(self.state))))
        self.run = self.run.fork(max(len(self.run.history) - 1 - back, self.begun))

    @rule(back=st.integers(0, 40), data=st.data(), steps=steps)
    def change_after_stepping_back(self, back: int, data: st.DataObject, steps: int) -> None:
        """What is changed happens at that moment, whatever was on its way there."""
        step = max(len(self.run.history) - 1 - back, self.begun)
        change = data.draw(self.changes(self.run.history[step].state))
        self.left.append((self.run, str(encode(self.state))))
        self.run = self.run.fork(step, change)
        assert self.run.history[step + 1].event == change
        self.go_on(steps)

    def changes(self, state: ClusterState) -> st.SearchStrategy[e.Event]:
        """What a reader may change in a state."""
        name = f"p{next(self.names)}"
        pod = replace(a_pod(name, [(1, 0)], [], "Always"), creation_timestamp=state.now)
        found: list[e.Event] = [
            *(e.KubeletStopped(node, reboot) for node in NODES for reboot in (False, True)),
            *(e.PluginLaunched(node, GPU, make_devices(3, 2)) for node in NODES),
            *(e.PodDeletionAsked(uid, grace) for uid in state.store.pods for grace in (None, 0)),
            *(e.NodePatched(node, unschedulable) for node in NODES for unschedulable in (True, False)),
            *(e.NodePatched(node, add=(Taint("a", "", "NoExecute"),)) for node in NODES),
            *(e.NodePatched(node, remove=(Taint("a", "", "NoExecute"),)) for node in NODES),
            *(e.NodeDeleted(node) for node in NODES),
            *(e.KubeletSilenced(node, silent) for node in NODES for silent in (True, False)),
            *(e.PluginKilled(*key) for key, plugin in state.plugins.items() if plugin.alive),
            *(
                e.HealthSet(*key, device.id, health)
                for key, plugin in state.plugins.items()
                if plugin.alive
                for device in plugin.devices
                for health in (HEALTHY, UNHEALTHY)
            ),
            *(e.UsageSet(*key, Usage(memory=20 * GI)) for key in state.containers),
            e.ClockAdvanced(10),
            e.ClockAdvanced(301),
            e.PodCreated(pod),
        ]
        return st.sampled_from(found)

    @precondition(lambda self: self.left)
    @rule()
    def back_to_live(self) -> None:
        self.run, before = self.left.pop()
        assert str(encode(self.state)) == before, "a fork has changed the run that it left"

    # What holds at rest

    @rule()
    def rest(self) -> None:
        self.run.settle()
        state = self.state
        assert state.idle, state.under_way()
        problems = [*broken(state), *started_too_often(self.run.history), *wrongly_evicted(self.run.history)]
        if self.mended:
            problems += twice(state)
        actual = {key for key, c in state.containers.items() if c.phase == "running"}
        if actual != self.run.running():
            problems.append(f"containers {sorted(actual)}, processes {sorted(self.run.running())}")
        assert not problems, problems

    @rule()
    def no_pod_is_forgotten(self) -> None:
        """What fits is scheduled, at the latest when all that wait have been tried again, and no node is short."""
        for key in self.state.usage:
            self.run.post(e.UsageSet(*key, Usage()))
        for node in self.state.machine_usage:
            self.run.post(e.MachineUsageSet(node, MachineUsage()))
        self.rest()
        for seconds in (301, 30, 30):
            self.run.post(e.ClockAdvanced(seconds))
            self.run.settle()
        nodes = [NodeInfo.of(n, self.state.store.pods_on(n.name)) for n in self.state.store.nodes.values()]
        for pod in self.state.store.pods.values():
            if not pod.node_name:
                assert all(
                    fits(PodInfo.of(pod).resource, node)
                    or find_matching_untolerated_taint(
                        node.node.taints, pod.tolerations, DO_NOT_SCHEDULE_EFFECTS
                    )
                    for node in nodes
                ), f"{pod.name} fits and waits"

    def teardown(self) -> None:
        if hasattr(self, "run"):
            self.rest()
            assert History.from_json(self.run.history.to_json()).state == self.state


def broken(state: ClusterState) -> Iterator[str]:
    for name, agent in state.kubelets.items():
        if agent.waiting or agent.talks:
            yield f"{name}: the kubelet waits: {agent.waiting} {agent.talks}"
        gone = agent.pods.keys() - state.store.pods.keys()
        if gone and name not in state.silent:
            yield f"{name}: knows pods that are gone: {gone}"
    for name, node in state.store.nodes.items():
        agent = state.kubelets[name]
        yield from broken_taints(state, node)
        if name in state.silent:
            continue
        if (node.capacity, node.allocatable) != (agent.node.capacity, agent.node.allocatable):
            yield f"{name}: the store and the kubelet count differently"
        for resource, amount in node.allocatable.items():
            if amount.value() > node.capacity[resource].value():
                yield f"{name}: more {resource} allocatable than there are"
        if agent.making_room:
            yield f"{name}: {agent.making_room} waits for pods that do not end"
    for pod in state.store.pods.values():
        yield from broken_pod(state, pod)
    for uid, name in state.containers:
        if uid not in state.store.pods and state.containers[uid, name].node not in state.silent:
            yield f"container {name} of {uid}, which is gone"


def broken_taints(state: ClusterState, node: Node) -> Iterator[str]:
    """Taints and what they are for agree; nobody stays who does not tolerate them."""
    keys = {(taint.key.rpartition("/")[2], taint.effect) for taint in node.taints}
    if (("unschedulable", "NoSchedule") in keys) != node.unschedulable:
        yield f"{node.name}: unschedulable is {node.unschedulable}, its taints are {node.taints}"
    unknown = any(c.type == "Ready" and c.status == "Unknown" for c in node.conditions)
    if ({("unreachable", "NoSchedule"), ("unreachable", "NoExecute")} <= keys) != unknown:
        yield f"{node.name}: conditions {node.conditions}, taints {node.taints}"
    if unknown and node.name not in state.silent:
        yield f"{node.name}: heard of, and unknown"
    evicting = tuple(taint for taint in node.taints if taint.effect == "NoExecute")
    for pod in state.store.pods_on(node.name):
        seconds = seconds_tolerated(pod, evicting)
        if (
            seconds is not None
            and pod.deletion_timestamp is None
            and pod.uid not in state.evictions
            and evicting
        ):
            yield f"{pod.name}: stays {seconds} s on {node.name}, and nobody counts them"


def broken_pod(state: ClusterState, pod: Pod) -> Iterator[str]:
    uid = pod.uid
    if not pod.node_name:
        if state.scheduler.queue.place_of(key_of(pod)) in (Place.OUTSIDE, Place.IN_FLIGHT):
            yield f"{pod.name}: pending, and in no queue"
        return
    if pod.node_name in state.silent:
        return
    record = state.kubelets[pod.node_name].pods.get(uid)
    if record is None:
        if pod.phase not in ("Succeeded", "Failed"):
            yield f"{pod.name}: bound, {pod.phase}, and not known to its kubelet"
    elif api_phase(record) != pod.phase:
        yield f"{pod.name}: {pod.phase} in the store, {record.phase} for its kubelet"
    running = {name for (owner, name), c in state.containers.items() if owner == uid and c.phase == "running"}
    if record is not None and record.running != running:
        yield f"{pod.name}: the kubelet knows {sorted(record.running)}, there run {sorted(running)}"
    if pod.phase in ("Succeeded", "Failed"):
        if running:
            yield f"{pod.name}: {pod.phase}, and {sorted(running)} run"
        return
    if pod.phase == "Running":
        wanted = {c.name for c in pod.containers}
        ended = {n for (owner, n), c in state.containers.items() if owner == uid and c.phase == "ended"}
        if pod.restart_policy == "Always" and not (wanted <= running or pod.reason):
            yield f"{pod.name}: Running without {sorted(wanted - running)}"
        if not wanted <= running | ended:
            yield f"{pod.name}: Running, and {sorted(wanted - running - ended)} never started"
        held = state.kubelets[pod.node_name].devices.pod_devices.get(uid, {})
        for c in pod.containers:
            for resource, amount in c.limits.items():
                got = held.get(c.name, {}).get(resource)
                if got is None and pod.name.startswith("bound"):
                    continue  # its kubelet did not know the resource, and let it run without
                if amount.value() and (got is None or len(got.devices) != amount.value()):
                    yield f"{pod.name}: {c.name} asked for {amount} {resource}, has {got}"


def started_too_often(history: History) -> Iterator[str]:
    """Containers that began anew though none of their processes had ended, and no machine had gone down."""
    events = history.events_after(0)
    ends = Counter((x.pod_uid, x.container) for x in events if isinstance(x, e.ContainerEnded))
    reboots = Counter(x.node for x in events if isinstance(x, e.KubeletStopped) and x.reboot)
    for key, container in history.state.containers.items():
        if container.attempt > ends[key] + reboots[container.node]:
            yield f"{key}: started {container.attempt + 1} times, ended {ends[key]} times"


def wrongly_evicted(history: History) -> Iterator[str]:
    """Looks that took a pod before one that ranks ahead of it, or more than one where no local limit broke."""
    for entry in history:
        match entry.event:
            case e.OnKubelet(node, k.FiguresTaken()):
                look = entry.state.kubelets[node].look
            case _:
                continue
        if look is None or not look.evicted or look.outcome is Outcome.LOCAL_LIMITS:
            continue
        if len(look.evicted) > 1 or look.ranking is None:
            yield f"{node}: one look at {look.at:g} took {look.evicted}"
            continue
        for ranked in look.ranking.ranked:
            if ranked.pod.uid == look.evicted[0]:
                break
            if not is_critical_pod(ranked.pod):
                yield f"{node}: {look.evicted[0]} went, and {ranked.pod.uid} stayed"
                break


def twice(state: ClusterState) -> Iterator[str]:
    """Devices that two pods hold, or two containers that run side by side."""
    for node, agent in state.kubelets.items():
        for resource in (GPU, NIC):
            holders = Counter(
                device
                for uid, held in agent.devices.pod_devices.items()
                if uid in agent.pods and agent.pods[uid].active
                for device in {
                    d for c in held.values() for r, info in c.items() if r == resource for d in info.devices
                }
            )
            for device, holding in holders.items():
                if holding > 1:
                    yield f"{node}: {holding} pods hold {device} of {resource}"


Walk.TestCase.settings = settings(max_examples=30, stateful_step_count=40)
test_a_walk_through_a_cluster = Walk.TestCase


@pytest.mark.parametrize("before", [0, 1, 2, 4])
@pytest.mark.parametrize("after", [4, 8, 16])
def test_plugins_that_register_side_by_side_with_one_socket_both_end(before: int, after: int) -> None:
    """Each registration has a stream of its own, so a killed plugin's end is heard on all of them."""
    run = a_run(1, KubeletConfig())
    for devices, steps in ((4, ALL), (2, before), (5, 16)):
        run.post(e.PluginLaunched("n1", GPU, make_devices(devices, 2)))
        for _ in range(steps):
            run.step()
    run.post(e.PluginKilled("n1", GPU))
    for _ in range(after):
        run.step()
    run.settle()
    assert run.state.idle, run.state.under_way()
