"""Who is evicted first, and the settings and thresholds that lead there."""

from typing import Any

from kubedev.api.names import EPHEMERAL_STORAGE, MEMORY
from kubedev.api.objects import Pod
from kubedev.kubelet.pressure import ranking as r
from kubedev.kubelet.pressure import thresholds as t
from kubedev.kubelet.pressure.usage import ContainerStats, FsUsage, PodStats
from tests.vectors.families import _eviction as e
from tests.vectors.runner import unequal

Answer = dict[str, Any]

SIGNALS = {"all": ("nodefs", False, False), "nodefs": ("nodefs", True, False)}
SIGNALS |= {"imagefs": ("imagefs", True, False), "splitnode": ("nodefs", True, True)}


def differences(case: dict[str, Any]) -> list[str]:
    kind = case["in"]["kind"]
    if kind == "parse":
        return e.parse_differences(case)
    return list(unequal(case["out"], globals()[f"of_{kind}"](case["in"]), "out"))


def of_rank(case: Answer) -> Answer:
    name, _, inodes = case["rank"].partition("-")
    if name in SIGNALS:
        filesystem, image_fs, split_fs = SIGNALS[name]
        signal = f"{filesystem}.{'inodesFree' if inodes else 'available'}"
    else:
        signal, image_fs, split_fs = f"{name}.available", False, False
    by = r.rank_by_signal(signal, image_fs, split_fs)
    assert by is not None
    assert by.resource in (MEMORY, EPHEMERAL_STORAGE, t.INODES, t.PIDS)
    pods = [Pod.parse(manifest(given)) for given in case["pods"]]
    found = {pod.uid: stats(pod, given["stats"]) for pod, given in zip(pods, case["pods"], strict=True)}
    ranking = r.rank(pods, {uid: each for uid, each in found.items() if each is not None}, by)
    return {"groups": [sorted(each.pod.name for each in group) for group in ranking.groups()]}


def manifest(given: Answer) -> Answer:
    spec: Answer = {"containers": [{"name": "c", "resources": {"requests": given["requests"] or {}}}]}
    if given.get("init_requests") is not None:
        spec["initContainers"] = [{"name": "i", "resources": {"requests": given["init_requests"]}}]
    spec["volumes"] = [{"name": name, "emptyDir": {}} for name in given.get("local_volumes") or []]
    spec["priority"] = given["priority"]
    return {"metadata": {"name": given["name"]}, "spec": spec}


def stats(pod: Pod, given: Answer | None) -> PodStats | None:
    if given is None:
        return None
    container = ContainerStats(
        "c", given.get("memory_working_set"), usage(given.get("rootfs")), usage(given.get("logs"))
    )
    volumes = tuple((name, usage(each) or FsUsage()) for name, each in (given.get("volumes") or {}).items())
    return PodStats(
        pod.uid, given.get("memory_working_set"), given.get("process_count"), (container,), volumes
    )


def usage(given: Answer | None) -> FsUsage | None:
    return None if given is None else FsUsage(given.get("used_bytes"), given.get("inodes_used"))


def of_met(case: Answer) -> Answer:
    given, seen = e.thresholds(case["thresholds"]), e.observations(case["observations"])
    met = t.thresholds_met(given, seen, case["enforce_min_reclaim"])
    quantities = []
    for each in given:
        if each.signal not in seen:
            quantities.append(None)
            continue
        quantity = each.value.of(seen[each.signal].capacity)
        if case["enforce_min_reclaim"] and each.min_reclaim is not None:
            quantity += each.min_reclaim.of(seen[each.signal].capacity)
        quantities.append(quantity.value())
    return {"met": [i for i, each in enumerate(given) if each in met], "quantities": quantities}


def of_grace(case: Answer) -> Answer:
    given = e.thresholds(case["thresholds"])
    observed = tuple(
        (each, 1000 - ago) for each, ago in zip(given, case["observed_seconds_ago"], strict=True)
    )
    met = t.thresholds_met_grace_period(observed, 1000)
    return {"met_signals": sorted({each.signal for each in met})}
