"""The scheduling queue: back-off, order, and scripts of operations. Times are in milliseconds here."""

from typing import Any

from kubedev.api.objects import Node, Pod
from kubedev.scheduler.events import WatchEvent
from kubedev.scheduler.plugins.default_plugins import default_framework
from kubedev.scheduler.queue.queue import SchedulingQueue
from kubedev.scheduler.queue.queue_state import Durations
from kubedev.scheduler.queue.queued_pod import QueuedPod, backoff_duration, less
from kubedev.scheduler.scheduler_state import SchedulerState
from kubedev.scheduler.watch_loop import observe
from tests.vectors.runner import unequal

IN_MILLISECONDS = Durations(initial_backoff=1000, max_backoff=10_000, max_in_unschedulable=300_000)
CHANGES = {"add": "ADDED", "update": "MODIFIED", "delete": "DELETED"}


def differences(case: dict[str, Any]) -> list[str]:
    """Lists that are absent in a recorded step are empty."""
    wanted = dict(case["out"])
    if "steps" in wanted:
        wanted["steps"] = [{"gated": [], "in_flight": []} | step for step in wanted["steps"]]
    return list(unequal(wanted, answer(case["in"]), "out"))


def answer(case_in: dict[str, Any]) -> dict[str, Any]:
    if case_in["kind"] == "backoff":
        seconds = backoff_duration(case_in["attempts"], case_in["initial_s"], case_in["max_s"])
        return {"ms": seconds * 1000}
    if case_in["kind"] == "sort":
        return {"less": less(queued(case_in["a"]), queued(case_in["b"]))}
    state = SchedulerState(SchedulingQueue(default_framework(), IN_MILLISECONDS))
    steps = []
    for op in case_in["ops"]:
        state, step = apply(state, op)
        steps.append(described(state.queue) | step)
    return {"steps": steps}


def queued(given: dict[str, Any]) -> QueuedPod:
    return QueuedPod(Pod("p", priority=given.get("priority")), given.get("at_ms", 0))


def apply(state: SchedulerState, op: dict[str, Any]) -> tuple[SchedulerState, dict[str, Any]]:
    kind, now, queue = op["op"], op["at_ms"], state.queue
    change = CHANGES.get(kind.rpartition("_")[2])
    if change:
        read = Node.parse if kind.startswith("node") else Pod.parse
        new = read(op.get("new") or op.get("pod") or op["node"])
        old = read(op["old"]) if "old" in op else None
        return observe(state, WatchEvent(change, new, old), now)[0], {}
    step: dict[str, Any] = {}
    if kind == "pop":
        queue, popped = queue.pop()
        step = {"popped": popped.key, "attempts": popped.attempts} if popped else {"popped": None}
    elif kind in ("reject", "bound"):
        uid = next(one.pod.uid for one in queue.pods_in_flight() if one.key == op["name"])
        queue = queue.done(uid) if kind == "bound" else queue.add_unschedulable(uid, op["plugins"], (), now)
    elif kind == "activate":
        known = {**queue.unschedulable, **queue.backoff, **{one.key: one for one in queue.pods_in_flight()}}
        queue = queue.activate([known[name].pod for name in op["names"] if name in known], now)
    else:
        queue = getattr(queue, kind)(now)
    return SchedulerState(queue, state.cache), step


def described(queue: SchedulingQueue) -> dict[str, Any]:
    waiting = queue.unschedulable.values()
    return {
        "activeQ": [one.key for one in queue.pop_order()],
        "backoffQ": {one.key: queue.backoff_until(one) for one in queue.backoff.values()},
        "unschedulable": sorted(one.key for one in waiting if not one.gated),
        "gated": sorted(one.key for one in waiting if one.gated),
        "in_flight": sorted(one.key for one in queue.pods_in_flight()),
    }
