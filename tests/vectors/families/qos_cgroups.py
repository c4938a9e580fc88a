"""The cgroup tree between kubepods and the pods."""

from typing import Any

from kubedev.api.objects import Pod
from kubedev.api.quantity import Quantity
from kubedev.kubelet.pressure import qos_cgroups as q
from kubedev.kubelet.pressure.settings import SettingsError
from tests.vectors.families._cgroups import shown

Answer = dict[str, Any]


def answer(case: Answer) -> Answer:
    return globals()[f"of_{case['kind']}"](case)  # type: ignore[no-any-return]


def pods(case: Answer) -> list[Pod]:
    manifests = [
        {**pod, "metadata": {"uid": f"{pod['metadata']['name']}-uid", **pod["metadata"]}}
        for pod in case["pods"]
    ]
    return [Pod.parse(manifest) for manifest in manifests]


def of_update(case: Answer) -> Answer:
    gates, allocatable = case["gates"], case["allocatable_memory"]
    reserved = q.QOSReserved(
        case["qos_reserved"].get("memory") if gates.get("QOSReserved") else None,
        bool(gates.get("MemoryQoS")) and case["cgroup_v2"],
        Quantity.parse(allocatable).value() if allocatable else None,
    )
    tree = q.CgroupTree(case["cgroup_root"], case["driver"])
    configs = q.update_cgroups(pods(case), reserved)
    return {
        "error": None,
        "cgroups": {tree.path(tree.of_class(qos)): shown(config) for qos, config in configs.items()},
    }


def of_pod_cgroup(case: Answer) -> Answer:
    tree = q.CgroupTree(case["cgroup_root"], case["driver"])
    found = []
    for pod in pods(case):
        path = tree.path(tree.of_pod(pod))
        uid = tree.pod_uid(path)
        found.append(
            {
                "name": list(tree.of_pod(pod)),
                "path": path,
                "is_pod_cgroup": uid is not None,
                "uid_back": uid or "",
            }
        )
    return {"node_allocatable_root": tree.path(tree.kubepods), "pods": found}


def of_parse_reserved(case: Answer) -> Answer:
    try:
        return {"error": None, "reserved": q.parse_qos_reserved(case["flags"])}
    except SettingsError as error:
        return {"error": str(error)}
