"""The scheduler driven at random: pods, nodes, failures and the clock come in any order, and its promises hold.

Everything that is told to the scheduler goes through one log, so that the whole history can be told again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kubedev.api.objects import Condition, Node, Pod
from kubedev.api.requests import Resource
from kubedev.api.selectors import Taint
from kubedev.scheduler.cache.cache import Cache
from kubedev.scheduler.events import Bind, ClearNomination, DeleteVictim, Effect, PatchPodStatus, WatchEvent
from kubedev.scheduler.node_info import PodInfo
from kubedev.scheduler.queue.queue_transitions import Place
from kubedev.scheduler.scheduler import SchedulerState, bind_finished, observe, schedule_next, tick
from tests.unit.scheduler_world import make_node, make_pod

BY_SCHEDULER = Condition("DisruptionTarget", "True", "PreemptionByScheduler")
TAINT = Taint("maintenance", "", "NoSchedule")
CPUS = st.sampled_from(["500m", "1", "2", "4"])
LONGEST_WAIT = 300 + 30  # seconds: five minutes, looked at every thirty seconds

Call = Callable[[SchedulerState], tuple[Any, ...]]


@dataclass
class ApiServer:
    """The objects as they are, and what is under way."""

    nodes: dict[str, Node] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    bindings: list[Bind] = field(default_factory=list)
    unseen: list[WatchEvent] = field(default_factory=list)
    version: int = 0


class SchedulerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.state = self.first = SchedulerState(cache=Cache(ttl=60))
        self.api = ApiServer()
        self.log: list[Call] = []
        self.now = 0.0
        self.names = 0

    # What is told to the scheduler

    def told(self, call: Call) -> Any:
        """Let the scheduler do a step, and keep it for the replay."""
        self.log.append(call)
        self.state, *rest = call(self.state)
        effects: tuple[Effect, ...] = rest[-1]
        for effect in effects:
            self.obey(effect)
        return rest[0]

    def write(self, thing: Node | Pod, deleted: bool = False) -> None:
        """Change the store; the watch shows pods and nodes in the order of the changes, perhaps late."""
        known: dict[str, Any] = self.api.nodes if isinstance(thing, Node) else self.api.pods
        old = known.get(thing.name)
        if deleted:
            self.api.unseen.append(WatchEvent("DELETED", known.pop(thing.name)))
            return
        if isinstance(thing, Pod):
            self.api.version += 1
            thing = replace(thing, resource_version=str(self.api.version))
        known[thing.name] = thing
        self.api.unseen.append(WatchEvent("MODIFIED" if old else "ADDED", thing, old))

    def obey(self, effect: Effect) -> None:
        match effect:
            case Bind():
                self.api.bindings.append(effect)
            case PatchPodStatus(pod, _, _, nominated) if pod.name in self.api.pods and nominated is not None:
                current = self.api.pods[pod.name]
                if current.nominated_node_name != nominated and not current.node_name:
                    self.write(replace(current, nominated_node_name=nominated))
            case ClearNomination(pod) if pod.name in self.api.pods:
                self.write(replace(self.api.pods[pod.name], nominated_node_name=""))
            case DeleteVictim(victim, preemptor):
                assert (victim.priority or 0) < (preemptor.priority or 0)
                if victim.name in self.api.pods:
                    current = self.api.pods[victim.name]
                    self.write(replace(current, deletion_timestamp=self.now, conditions=(BY_SCHEDULER,)))

    # What can happen

    @initialize(cpus=st.lists(st.sampled_from(["1", "2", "4"]), min_size=1, max_size=3))
    def some_nodes(self, cpus: list[str]) -> None:
        for cpu in cpus:
            self.node_comes(cpu)
        self.watch_shows(len(cpus))

    @rule(cpu=st.sampled_from(["1", "2", "4"]))
    def node_comes(self, cpu: str) -> None:
        self.names += 1
        self.write(make_node(f"n{self.names}", cpu=cpu))

    @precondition(lambda self: self.api.nodes)
    @rule(data=st.data(), cpu=st.sampled_from(["1", "4", "8"]), taint=st.booleans())
    def node_changes(self, data: st.DataObject, cpu: str, taint: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.api.nodes)))
        self.write(replace(make_node(name, cpu=cpu), taints=(TAINT,) if taint else ()))

    @precondition(lambda self: self.api.nodes)
    @rule(data=st.data())
    def node_goes(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.api.nodes)))
        self.write(self.api.nodes[name], deleted=True)

    @rule(pods=st.lists(st.tuples(CPUS, st.integers(-1, 3)), min_size=1, max_size=4))
    def pods_come_and_the_scheduler_works(self, pods: list[tuple[str, int]]) -> None:
        """What mostly happens: everything is seen, and most bindings end well."""
        for cpu, priority in pods:
            self.pod_comes(cpu, priority, False)
        self.watch_shows(len(self.api.unseen))
        for _ in pods:
            self.scheduler_has_its_turn()
        for bind in self.api.bindings[1:]:
            self.end_binding(bind, fails=False)

    @rule(cpu=CPUS, priority=st.integers(-1, 3), gated=st.booleans())
    def pod_comes(self, cpu: str, priority: int, gated: bool) -> None:
        self.names += 1
        spec = {"schedulingGates": [{"name": "wait"}]} if gated else {}
        self.write(make_pod(f"p{self.names}", cpu=cpu, priority=priority, spec=spec))

    @precondition(lambda self: self.api.pods)
    @rule(data=st.data())
    def pod_loses_its_gates_or_gets_a_label(self, data: st.DataObject) -> None:
        pod = self.api.pods[data.draw(st.sampled_from(sorted(self.api.pods)))]
        labels = {"changed": str(self.api.version)}
        self.write(
            replace(pod, scheduling_gates=(), labels=labels if not pod.scheduling_gates else pod.labels)
        )

    @precondition(lambda self: self.api.pods)
    @rule(data=st.data())
    def pod_goes(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.api.pods)))
        self.write(self.api.pods[name], deleted=True)

    @precondition(lambda self: self.api.pods)
    @rule(data=st.data())
    def pod_finishes(self, data: st.DataObject) -> None:
        pod = self.api.pods[data.draw(st.sampled_from(sorted(self.api.pods)))]
        if pod.node_name:
            self.write(replace(pod, phase="Failed"))

    @precondition(lambda self: self.api.unseen)
    @rule(number=st.integers(1, 20))
    def watch_shows(self, number: int) -> None:
        for _ in range(min(number, len(self.api.unseen))):
            change, now = self.api.unseen.pop(0), self.now
            self.told(lambda state, change=change, now=now: observe(state, change, now))  # type: ignore[misc]

    @rule()
    def scheduler_has_its_turn(self) -> None:
        now = self.now
        self.told(lambda state: schedule_next(state, now))

    @precondition(lambda self: self.api.bindings)
    @rule(data=st.data(), fails=st.booleans())
    def binding_ends(self, data: st.DataObject, fails: bool) -> None:
        self.end_binding(data.draw(st.sampled_from(self.api.bindings)), fails)

    def end_binding(self, bind: Bind, fails: bool) -> None:
        self.api.bindings.remove(bind)
        pod = self.api.pods.get(bind.pod.name)
        error = "not found" if pod is None else "the API server is away" if fails else ""
        if pod is not None and not error:
            self.write(replace(pod, node_name=bind.node_name))
        now = self.now
        self.told(lambda state: bind_finished(state, bind.pod, bind.node_name, error, now))

    @rule(seconds=st.sampled_from([0.5, 1, 3, 10, 29, 400]))
    def time_passes(self, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end:
            self.now = now = min(self.now + 5, end)
            self.told(lambda state, now=now: tick(state, now))  # type: ignore[misc]

    # What always holds

    @invariant()
    def a_pod_is_in_exactly_one_place(self) -> None:
        queue, cache = self.state.queue, self.state.cache
        in_flight = [queued.key for queued in queue.pods_in_flight()]
        waiting = [*queue.active, *queue.backoff, *queue.unschedulable]
        assert len(set(waiting + in_flight)) == len(waiting + in_flight)
        confirmed = {f"{pod.namespace}/{pod.name}" for pod in cache.pods.values()}
        confirmed -= {f"{one.pod.namespace}/{one.pod.name}" for one in cache.assumed.values()}
        assert not confirmed & set(waiting)
        for queued in queue.unschedulable.values():
            assert queue.place_of(queued.key) is (Place.GATED if queued.gated else Place.UNSCHEDULABLE)

    @invariant()
    def every_pod_that_was_seen_is_somewhere(self) -> None:
        if self.api.unseen:
            return
        queue, cache = self.state.queue, self.state.cache
        for key in (*queue.active, *queue.backoff, *queue.unschedulable):
            assert key.removeprefix("default/") in self.api.pods, "a pod that is gone does not wait"
        for pod in self.api.pods.values():
            bound = pod.uid in cache.pods
            place = queue.place_of(f"{pod.namespace}/{pod.name}")
            if pod.phase == "Failed":
                assert not bound
            elif pod.node_name:
                assert bound
                assert place in (Place.OUTSIDE, Place.IN_FLIGHT)
            elif pod.deletion_timestamp is None:
                # One on its way out, such as a victim that was not bound yet, is taken from the queue and not tried.
                assert bound or place is not Place.OUTSIDE

    @invariant()
    def the_cache_requests_what_its_pods_request(self) -> None:
        cache = self.state.cache
        for name, info in cache.nodes.items():
            total = Resource()
            for one in info.pods:
                assert one.pod.node_name == name
                total = total.plus(PodInfo.of(one.pod).resource)
            assert info.requested == total
        on_nodes = {one.pod.uid for info in cache.nodes.values() for one in info.pods}
        assert on_nodes == set(cache.pods)
        assert set(cache.assumed) <= on_nodes

    @invariant()
    def nothing_waits_longer_than_the_flush_allows(self) -> None:
        for queued in self.state.queue.unschedulable.values():
            if not queued.gated:
                assert self.now - queued.timestamp <= LONGEST_WAIT + 5, "looked at every five seconds here"
        for queued in self.state.queue.backoff.values():
            assert self.now <= self.state.queue.backoff_until(queued) + 5

    def teardown(self) -> None:
        """The history told again gives the same state."""
        state = self.first
        for call in self.log:
            state = call(state)[0]
        assert state == self.state


SchedulerMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestScheduler = SchedulerMachine.TestCase
