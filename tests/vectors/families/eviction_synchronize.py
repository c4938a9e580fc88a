"""Whole time lines of one eviction manager."""

from typing import Any

from kubedev.api.objects import Pod
from kubedev.kubelet.pressure import eviction as m
from kubedev.kubelet.pressure import usage as u
from kubedev.kubelet.pressure.settings import parse_threshold_config
from kubedev.kubelet.pressure.thresholds import Threshold

Answer = dict[str, Any]


def answer(case: Answer) -> Answer:
    if case["kind"] == "admit":
        return {"admit": admitted(tuple(sorted(case["conditions"])), case["pods"])}
    given = case["config"]
    config = m.EvictionConfig(
        parse_threshold_config(
            ["pods"] if given["enforce_pods"] else [],
            given["hard"],
            given["soft"],
            given["soft_grace"],
            given["min_reclaim"],
        ),
        given["transition_seconds"],
        given["max_pod_grace_seconds"],
        given["local_storage_isolation"],
        given["image_fs"],
        given["split_fs"],
        given.get("image_fs_error", ""),
    )
    state, steps = m.new_eviction_manager(config), []
    for step in case["steps"]:
        pods = list(map(Pod.parse, step["pods"]))
        after = step.get("stats_after_reclaim", step["stats"])
        look = m.synchronize(
            config, state, summary(step["stats"]), pods, step["at"], lambda _, after=after: summary(after)
        )
        state = look.state
        steps.append(
            shown(look) | ({"admit": admitted(state.conditions, step["admit"])} if "admit" in step else {})
        )
    return {"steps": steps}


def admitted(conditions: tuple[str, ...], pods: list[Answer]) -> list[Answer]:
    found = []
    for pod in map(Pod.parse, pods):
        message = m.admit_under_pressure(conditions, pod)
        reason = "Evicted" if message else ""
        found.append({"pod": pod.uid, "admit": not message, "reason": reason, "message": message})
    return found


def shown(look: m.EvictionRound) -> Answer:
    conditions = look.state.conditions
    return {
        "conditions": list(conditions),
        "met": sorted(map(kind, look.state.met)),
        "first_observed": sorted(f"{kind(t)} since {at:g}" for t, at in look.state.first_observed),
        "reclaim_calls": list(look.reclaimed),
        "events": list(map(event, look.events)),
        "kills": list(map(kill, look.kills)),
        "evicted": list(look.evicted) or None,
        "error": look.error or None,
        "under_pressure": {
            name: f"{condition}Pressure" in conditions
            for name, condition in (("memory", "Memory"), ("disk", "Disk"), ("pid", "PID"))
        },
    }


def kind(threshold: Threshold) -> str:
    return f"{threshold.signal} {'hard' if threshold.hard else 'soft'}"


def event(found: m.EvictionEvent) -> Answer:
    name = "node node" if found.object == "node" else found.object
    shown = {"object": name, "type": "Warning", "reason": found.reason, "message": found.message}
    return shown if found.annotations is None else shown | {"annotations": dict(found.annotations)}


def kill(found: m.Kill) -> Answer:
    target = {
        "status": "True",
        "reason": "TerminationByKubelet",
        "same_message": found.disruption_target == found.message,
    }
    return {
        "pod": found.uid,
        "grace_seconds": found.grace_seconds,
        "phase": "Failed",
        "reason": found.reason,
        "message": found.message,
        "disruption_target": target if found.disruption_target else None,
    }


def summary(given: Answer) -> u.Summary | None:
    if "error" in given:
        return None
    memory, fs = u.MemoryStats, u.FsStats
    return u.Summary(
        given.get("time"),
        read(memory, given.get("memory")),
        read(memory, given.get("pods_memory")),
        read(fs, given.get("nodefs")),
        read(fs, given.get("imagefs")),
        read(fs, given.get("containerfs")),
        read(u.PidStats, given.get("pid")),
        tuple(map(pod_stats, given.get("pods") or [])),
    )


def read(kind: Any, given: Answer | None) -> Any:
    return None if given is None else kind(**given)


def pod_stats(given: Answer) -> u.PodStats:
    return u.PodStats(
        given["uid"],
        working_set(given),
        given.get("process_count"),
        tuple(
            u.ContainerStats(c["name"], working_set(c), layer(c.get("rootfs")), layer(c.get("logs")))
            for c in given.get("containers") or []
        ),
        tuple(
            (v["name"], u.FsUsage(v.get("used"), v.get("inodes_used"))) for v in given.get("volumes") or []
        ),
        (given.get("ephemeral_storage") or {}).get("used"),
    )


def working_set(given: Answer) -> int | None:
    return (given.get("memory") or {}).get("working_set")


def layer(given: Answer | None) -> u.FsUsage | None:
    return None if given is None else u.FsUsage(given.get("used"), given.get("inodes_used"))
