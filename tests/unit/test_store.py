"""The store: an object is found by its kind, its namespace and its name, and replaced by none of another namespace."""

from collections.abc import Callable

import pytest

from kubedev.api.claims import ResourceClaim
from kubedev.api.pod_groups import PodDisruptionBudget, Service, Workload
from kubedev.api.storage import CSIStorageCapacity, PersistentVolumeClaim
from kubedev.cluster.store import Object, Store, deleted, find, listed, put
from kubedev.lab.session import Lab

NAMESPACED: dict[str, Callable[[str], Object]] = {
    "Service": lambda namespace: Service("one", namespace),
    "PodDisruptionBudget": lambda namespace: PodDisruptionBudget("one", namespace),
    "ReplicaSet": lambda namespace: Workload("ReplicaSet", "one", namespace),
    "PersistentVolumeClaim": lambda namespace: PersistentVolumeClaim("one", namespace),
    "ResourceClaim": lambda namespace: ResourceClaim("one", namespace),
    "CSIStorageCapacity": lambda namespace: CSIStorageCapacity("one", namespace),
}


@pytest.mark.parametrize("kind", NAMESPACED)
def test_r13_one_name_in_two_namespaces_is_two_objects(kind: str) -> None:
    here, there = NAMESPACED[kind]("here"), NAMESPACED[kind]("there")
    store = Store()
    for obj in (here, there):
        store, change = put(store, obj)
        assert (change.type, change.old) == ("ADDED", None)
    assert (find(store, here), find(store, there)) == (here, there)
    assert [change.object for change in listed(store)] == [here, there]
    store, change = put(store, here)
    assert change.type == "MODIFIED"
    store, change = deleted(store, here)
    assert (find(store, here), find(store, there), change.object) == (None, there, here)
    with pytest.raises(KeyError):
        deleted(store, here)


def test_r13_budgets_and_services_of_two_namespaces_all_reach_the_scheduler() -> None:
    with Lab("namespaces", nodes=1, transport="memory") as lab:
        lab.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: team}")
        for namespace in ("default", "team"):
            lab.apply(
                f"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: one, namespace: {namespace}}}\n"
                "spec: {maxUnavailable: 1, selector: {matchLabels: {a: b}}}"
            )
            lab.apply(
                f"apiVersion: v1\nkind: Service\nmetadata: {{name: one, namespace: {namespace}}}\n"
                "spec: {selector: {a: b}}"
            )
        assert len(lab.state.store.services) == len(lab.state.store.pod_disruption_budgets) == 2
        listers = lab.state.scheduler.listers
        assert [one.namespace for one in listers.services] == ["default", "team"]
        assert [one.namespace for one in listers.budgets] == ["default", "team"]
