"""oom_score_adj, and what a pod's spec becomes in cgroups."""

from dataclasses import asdict
from typing import Any

from kubedev.api.objects import Pod
from kubedev.api.quantity import Quantity
from kubedev.kubelet.pressure import cgroups as c
from kubedev.kubelet.pressure import pod_cgroup as p
from kubedev.kubelet.pressure.oom import container_oom_score_adjust
from tests.vectors.families._cgroups import shown

Answer = dict[str, Any]


def answer(case: Answer) -> Answer:
    return globals()[f"of_{case['kind']}"](case)  # type: ignore[no-any-return]


def of_shares(case: Answer) -> Answer:
    shares = [c.milli_cpu_to_shares(value) for value in case["values"]]
    return {"shares": shares, "weights": [c.cpu_shares_to_weight(value) for value in shares]}


def of_quota(case: Answer) -> Answer:
    period = case["period"] if case.get("custom_period_gate") else c.QUOTA_PERIOD
    return {"quotas": [c.milli_cpu_to_quota(value, period) for value in case["values"]]}


def of_weight(case: Answer) -> Answer:
    weights = [c.cpu_shares_to_weight(value) for value in case["values"]]
    return {
        "kubelet_weight": weights,
        "runc_weight": weights,
        "shares_back": [c.cpu_weight_to_shares(weight) for weight in weights],
    }


def of_oom(case: Answer) -> Answer:
    pod = Pod.parse(case["pod"])
    gate = case.get("pod_level_resources_gate", False)
    return {
        "oom_score_adj": {
            each.name: container_oom_score_adjust(pod, each, case["memory_capacity"], gate)
            for each in (*pod.containers, *pod.init_containers)
        }
    }


def of_pod_config(case: Answer) -> Answer:
    settings = p.CgroupSettings(
        case["enforce_cpu_limits"],
        case["period"],
        case.get("custom_period_gate", False),
        memory_qos=case["memory_qos"],
    )
    config = p.resource_config_for_pod(Pod.parse(case["pod"]), settings)
    return {"config": shown(config), "files": c.cgroup_v2_files(config)}


def of_container(case: Answer) -> Answer:
    pod, allocatable = Pod.parse(case["pod"]), case.get("allocatable_memory")
    settings = p.CgroupSettings(
        case["cfs_quota"],
        case["cfs_period_us"],
        case.get("custom_period_gate", False),
        case["cgroup_v2"],
        case.get("single_process_oom_kill") is not False,
        case["memory_qos"],
        case["throttling_factor"],
        case["memory_capacity"],
        Quantity.parse(allocatable).value() if allocatable else None,
    )
    made = {
        each.name: p.container_resources(pod, each, settings)
        for each in (*pod.containers, *pod.init_containers)
    }
    return {
        "containers": {name: asdict(each) for name, each in made.items()},
        "runc_v2_files": {name: c.cgroup_v2_files(each.config(), {}) for name, each in made.items()},
        "sandbox": asdict(p.sandbox_resources(pod, settings)),
        "overhead": asdict(p.overhead_resources(pod, settings)),
    }
