"""A small world around the scheduler for tests: a store of objects, a clock, and somebody who obeys.

Terminating pods end when the test says so (`finish`), as there is no kubelet.
"""

from dataclasses import replace
from typing import Any

from kubedev.api.objects import Condition, Node, Pod
from kubedev.api.pod_groups import PodDisruptionBudget
from kubedev.scheduler.cycle import Decision
from kubedev.scheduler.events import Bind, ClearNomination, DeleteVictim, Effect, PatchPodStatus, WatchEvent
from kubedev.scheduler.queue.queue_transitions import Place
from kubedev.scheduler.scheduler import SchedulerState, bind_finished, observe, schedule_next, tick

GPU = "nvidia.com/gpu"
CANCELLED = Condition("DisruptionTarget", "True", "PreemptionByScheduler")


def make_node(name: str, cpu: str = "4", labels: dict[str, str] | None = None, **more: str) -> Node:
    """A node with that many CPUs, room for 110 pods, and further resources by keyword (`gpu` for the GPU)."""
    allocatable = {"cpu": cpu, "memory": "32Gi", "pods": "110"} | resources(more)
    labels = {"kubernetes.io/hostname": name} | (labels or {})
    return Node.parse({"metadata": {"name": name, "labels": labels}, "status": {"allocatable": allocatable}})


def make_pod(
    name: str, cpu: str = "1", priority: int = 0, spec: dict[str, Any] | None = None, **more: Any
) -> Pod:
    """A pending pod that asks for that many CPUs; `labels`, and further resources by keyword."""
    metadata = {"name": name, "labels": more.pop("labels", {})}
    requests = {"cpu": cpu} | resources(more)
    container = {"name": "c", "image": "img", "resources": {"requests": requests}}
    return Pod.parse(
        {"metadata": metadata, "spec": {"containers": [container], "priority": priority} | (spec or {})}
    )


def resources(more: dict[str, str]) -> dict[str, str]:
    return {GPU if name == "gpu" else name: value for name, value in more.items()}


class World:
    """The objects as the API server has them, the scheduler, and the time in seconds."""

    def __init__(self, state: SchedulerState | None = None) -> None:
        self.state = state or SchedulerState()
        self.now = 0.0
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.versions = 0
        self.bind_error = ""
        self.messages: dict[str, str] = {}

    def node(self, node: Node) -> None:
        """Create or change a node."""
        old = self.nodes.get(node.name)
        self.nodes[node.name] = node
        self.tell(node, old)

    def pod(self, pod: Pod) -> None:
        """Create or change a pod."""
        self.versions += 1
        pod = replace(pod, resource_version=str(self.versions))
        old = self.pods.get(pod.name)
        self.pods[pod.name] = pod
        self.tell(pod, old)

    def running(self, pod: Pod, node_name: str, start_time: float = 0) -> None:
        """A pod that already runs."""
        self.pod(replace(pod, node_name=node_name, start_time=start_time, phase="Running"))

    def budget(self, budget: PodDisruptionBudget) -> None:
        self.tell(budget, None)

    def tell(self, new: Any, old: Any) -> None:
        change = WatchEvent("ADDED" if old is None else "MODIFIED", new, old)
        self.state, effects = observe(self.state, change, self.now)
        self.obey(effects)

    def finish(self, name: str) -> None:
        """A pod is gone."""
        change = WatchEvent("DELETED", self.pods.pop(name))
        self.state, effects = observe(self.state, change, self.now)
        self.obey(effects)

    def remove_node(self, name: str) -> None:
        change = WatchEvent("DELETED", self.nodes.pop(name))
        self.state, effects = observe(self.state, change, self.now)
        self.obey(effects)

    def turn(self) -> Decision | None:
        """One scheduling cycle, and what comes of it."""
        self.state, decision, effects = schedule_next(self.state, self.now)
        if decision is not None:
            self.messages[decision.pod.name] = decision.message
        self.obey(effects)
        return decision

    def run(self) -> list[Decision]:
        """Cycles until no pod is to be scheduled now."""
        decisions = []
        while decision := self.turn():
            decisions.append(decision)
        return decisions

    def wait(self, seconds: float) -> list[Decision]:
        """Let time pass, a second at a time, and schedule what becomes due."""
        decisions, end = [], self.now + seconds
        while self.now < end:
            self.now += 1
            self.state, effects = tick(self.state, self.now)
            self.obey(effects)
            decisions += self.run()
        return decisions

    def place(self, name: str) -> Place:
        """Where the queue has the pod."""
        return self.state.queue.place_of(f"default/{name}")

    def obey(self, effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            if isinstance(effect, PatchPodStatus):
                self.messages[effect.pod.name] = effect.message
            match effect:
                case Bind(pod, node_name):
                    if not self.bind_error:
                        self.pod(replace(self.pods[pod.name], node_name=node_name))
                    self.state, more = bind_finished(self.state, pod, node_name, self.bind_error, self.now)
                    self.obey(more)
                case PatchPodStatus(pod, _, _, nominated) if pod.name in self.pods and nominated is not None:
                    self.pod(replace(self.pods[pod.name], nominated_node_name=nominated))
                case ClearNomination(pod):
                    self.pod(replace(self.pods[pod.name], nominated_node_name=""))
                case DeleteVictim(pod):
                    victim = self.pods[pod.name]
                    self.pod(replace(victim, deletion_timestamp=self.now, conditions=(CANCELLED,)))
