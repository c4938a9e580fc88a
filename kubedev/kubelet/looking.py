"""The eviction manager at work in its kubelet: a look at the figures, and what follows from it.

Source: `pkg/kubelet/eviction/eviction_manager.go: Start`, `pkg/kubelet/nodestatus/setters.go: MemoryPressureCondition,
DiskPressureCondition, PIDPressureCondition`.
"""

from collections.abc import Collection
from dataclasses import replace

from kubedev.api.objects import Condition, Node
from kubedev.kubelet.events import FiguresTaken, NodeConditions, Reclaimed
from kubedev.kubelet.kubelet_state import Effects, KubeletState, Stepped
from kubedev.kubelet.pod_status import evict
from kubedev.kubelet.pressure.eviction import new_eviction_manager, synchronize
from kubedev.kubelet.pressure.thresholds import CONDITIONS, elapsed
from kubedev.kubelet.registered_node import HEALTHY

__all__ = ["look"]

POD_CLEANUP_TIMEOUT = 30.0
"""So many seconds the manager waits for the pods it evicted before it looks again."""

WORDS = {(name, False): (reason, message) for name, _, reason, message in HEALTHY} | {
    ("MemoryPressure", True): ("KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
    ("DiskPressure", True): ("KubeletHasDiskPressure", "kubelet has disk pressure"),
    ("PIDPressure", True): ("KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
}
"""Reason and message of each condition."""


def look(state: KubeletState, event: FiguresTaken, now: float) -> Stepped:
    """The state after a look, which keeps all that was decided, and what is to be done because of it."""
    last = state.look
    if (
        last is not None
        and elapsed(now, last.at) < POD_CLEANUP_TIMEOUT * 1e9
        and _ending(state, last.evicted)
    ):
        return state, ()
    config = state.config.eviction()
    before = new_eviction_manager(config) if last is None else last.state
    pods = [record.pod for record in state.pods.values() if record.active and record.phase != "Admitting"]
    found = synchronize(config, before, event.summary, pods, now, lambda _: event.after_reclaim)
    state = replace(state, look=found)
    effects: Effects = (Reclaimed(found.reclaimed),) if found.reclaimed else ()
    conditions = pressure_conditions(state.node, found.state.conditions, now)
    if conditions != state.node.conditions:
        state = replace(state, node=replace(state.node, conditions=conditions))
        effects += (NodeConditions(tuple(c for c in conditions if c.type in CONDITIONS)),)
    state, kills = evict(state, found.kills)
    return state, effects + kills


def _ending(state: KubeletState, uids: Collection[str]) -> bool:
    """Whether one of the pods that were evicted has not ended yet."""
    return any(uid in state.pods and state.pods[uid].phase == "Evicting" for uid in uids)


def pressure_conditions(node: Node, pressure: Collection[str], now: float) -> tuple[Condition, ...]:
    """The node's conditions with those of pressure; a time changes only when its status does."""
    known = {condition.type: condition for condition in node.conditions}
    for name in CONDITIONS:
        status = "True" if name in pressure else "False"
        if name not in known or known[name].status != status:
            known[name] = Condition(name, status, *WORDS[name, name in pressure], now)
    return tuple(known.values())
