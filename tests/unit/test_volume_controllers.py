"""Claims in a lab: bound, provisioned on the simulated clock, waited for by the pods that use them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from kubedev.api.manifests import ManifestError, load
from kubedev.api.storage import PersistentVolume, PersistentVolumeClaim
from kubedev.cluster.cluster import ClusterError
from kubedev.cluster.events import ObjectApplied, PodCreated
from kubedev.cluster.history import History
from kubedev.cluster.volumes import PROVISION_SECONDS
from kubedev.lab.session import Lab

CLASSES = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: made}
provisioner: csi.example.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: at-once}
provisioner: csi.example.com
"""


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab("volumes", transport="memory", plugins="thread") as made:
        made.apply(CLASSES)
        yield made


def a_volume(name: str, storage: str = "10Gi", node: str = "", **spec: Any) -> str:
    terms = f"[{{matchExpressions: [{{key: kubernetes.io/hostname, operator: In, values: [{node}]}}]}}]"
    affinity = f", nodeAffinity: {{required: {{nodeSelectorTerms: {terms}}}}}" if node else ""
    return (
        f"---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {name}}}\nspec: {{capacity: {{storage: "
        f"{storage}}}, accessModes: [ReadWriteOnce], storageClassName: {spec.get('of', 'local')}, "
        f"local: {{path: /x}}{affinity}}}\n"
    )


def a_claim(name: str, of: str = "local", storage: str = "5Gi") -> str:
    return (
        f"---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {name}}}\nspec: {{accessModes: "
        f"[ReadWriteOnce], storageClassName: {of}, resources: {{requests: {{storage: {storage}}}}}}}\n"
    )


def a_pod(name: str, *claims: str) -> str:
    volumes = ", ".join(f"{{name: {one}, persistentVolumeClaim: {{claimName: {one}}}}}" for one in claims)
    return (
        f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\n"
        f"spec: {{containers: [{{name: c, image: i}}], volumes: [{volumes}]}}\n"
    )


def claim_of(lab: Lab, name: str) -> PersistentVolumeClaim:
    return lab.state.store.storage.claims[f"default/{name}"]


def volume_of(lab: Lab, name: str) -> PersistentVolume:
    return lab.state.store.storage.volumes[name]


def test_a_local_volume_is_bound_with_the_pod_and_takes_it_to_its_node(lab: Lab) -> None:
    lab.apply(a_volume("disk", node="gpu-node-2") + a_claim("data"))
    assert (volume_of(lab, "disk").phase, claim_of(lab, "data").phase) == ("Available", "Pending")
    lab.apply(a_pod("p", "data"))
    assert lab.pod("p").node_name == "gpu-node-2"
    assert lab.pod("p").phase == "Running"
    assert (volume_of(lab, "disk").phase, claim_of(lab, "data").phase) == ("Bound", "Bound")
    assert claim_of(lab, "data").volume_name == "disk"
    assert History.from_json(lab.history.to_json()).state == lab.state


def test_the_smallest_volume_that_fits_is_taken_and_the_next_claim_gets_another(lab: Lab) -> None:
    lab.apply(
        a_volume("large", "20Gi") + a_volume("small", "5Gi") + a_claim("a") + a_claim("b") + a_claim("c")
    )
    lab.apply(a_pod("p", "a", "b"))
    assert {claim_of(lab, name).volume_name for name in "ab"} == {"small", "large"}
    lab.apply(a_pod("q", "c"))
    assert (
        lab.pod("q")
        .conditions[0]
        .message.startswith(
            "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind."
        )
    )
    lab.apply(a_volume("third"))
    assert lab.pod("q").node_name != ""


def test_a_volume_is_made_on_the_simulated_clock_and_the_pod_waits_for_it(lab: Lab) -> None:
    lab.apply(a_claim("data", "made"))
    before = lab.state.now
    assert not lab.state.provisioning
    lab.apply(a_pod("p", "data"))
    assert lab.state.now == before + PROVISION_SECONDS
    claim = claim_of(lab, "data")
    assert claim.annotations["volume.kubernetes.io/selected-node"] == lab.pod("p").node_name
    assert volume_of(lab, claim.volume_name).storage_class_name == "made"
    assert lab.pod("p").phase == "Running"


def test_while_a_volume_is_made_the_pod_has_its_room_but_is_not_bound(lab: Lab) -> None:
    lab.apply(a_claim("data", "made"))
    lab.post(PodCreated(lab_pod("p", "data")))
    lab.cluster.wait()
    state = lab.state
    assert set(state.provisioning) == {"default/data"}
    assert lab.pod("p").node_name == ""
    (binding,) = state.scheduler.bindings
    assert state.scheduler.cache.is_assumed(binding.pod)
    lab.delete("p")
    assert not lab.state.scheduler.bindings
    assert not lab.state.scheduler.listers.storage.assumed_claims


def lab_pod(name: str, claim: str) -> Any:
    return load(a_pod(name, claim)).pods[0]


def test_a_class_that_does_not_wait_makes_its_volume_without_any_pod(lab: Lab) -> None:
    lab.apply(a_claim("data", "at-once"))
    lab.wait()
    assert claim_of(lab, "data").phase == "Bound"
    lab.apply(a_pod("p", "data"))
    assert lab.pod("p").node_name != ""


def test_a_claim_without_a_class_gets_the_default_one_and_an_empty_class_is_none(lab: Lab) -> None:
    default = "annotations: {storageclass.kubernetes.io/is-default-class: 'true'}"
    plain = a_claim("plain", "local").replace("storageClassName: local, ", "")
    lab.apply(plain + a_claim("none", "''"))
    assert claim_of(lab, "plain").storage_class == ""
    lab.apply(CLASSES.replace("metadata: {name: at-once}", f"metadata: {{name: at-once, {default}}}"))
    lab.wait()
    assert (claim_of(lab, "plain").storage_class, claim_of(lab, "plain").phase) == ("at-once", "Bound")
    assert (claim_of(lab, "none").storage_class, claim_of(lab, "none").phase) == ("", "Pending")


def test_a_pod_before_its_claim_waits_for_it(lab: Lab) -> None:
    lab.apply(a_pod("p", "data"))
    assert (
        lab.pod("p")
        .conditions[0]
        .message.startswith('0/2 nodes are available: persistentvolumeclaim "data" not found. preemption:')
    )
    lab.apply(a_claim("data", "made"))
    assert lab.pod("p").node_name != ""


def test_an_ephemeral_volume_comes_and_goes_with_its_pod(lab: Lab) -> None:
    spec = "{accessModes: [ReadWriteOnce], storageClassName: made, resources: {requests: {storage: 1Gi}}}"
    volume = f"{{name: scratch, ephemeral: {{volumeClaimTemplate: {{spec: {spec}}}}}}}"
    lab.apply(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
        f"spec: {{containers: [{{name: c, image: i}}], volumes: [{volume}]}}\n"
    )
    assert claim_of(lab, "p-scratch").phase == "Bound"
    assert lab.pod("p").node_name != ""
    lab.delete("p")
    assert not lab.state.store.storage.claims
    assert not lab.state.store.storage.volumes


def test_a_volume_that_is_gone_leaves_its_claim_lost(lab: Lab) -> None:
    bound = a_claim("data").replace(
        "metadata: {", "metadata: {annotations: {pv.kubernetes.io/bind-completed: 'yes'}, "
    )
    lab.apply(bound.replace("spec: {", "spec: {volumeName: gone, "))
    assert claim_of(lab, "data").phase == "Lost"


def test_a_volume_that_somebody_keeps_for_a_claim_is_bound_to_it(lab: Lab) -> None:
    kept = a_volume("kept").replace("spec: {", "spec: {claimRef: {namespace: default, name: data}, ")
    lab.apply(a_volume("free", "5Gi") + kept + a_claim("data"))
    assert claim_of(lab, "data").volume_name == "kept"
    assert volume_of(lab, "kept").claim_ref is not None
    assert volume_of(lab, "free").phase == "Available"


def test_applying_a_bound_claim_again_changes_nothing_and_another_one_of_its_name_is_refused(
    lab: Lab,
) -> None:
    text = a_volume("disk") + a_claim("data") + a_pod("p", "data")
    lab.apply(text)
    before = claim_of(lab, "data")
    lab.apply(text)
    assert claim_of(lab, "data") == before
    with pytest.raises(ClusterError, match='another one of persistentvolumeclaims "data" already exists'):
        lab.apply(a_claim("data", storage="6Gi"))


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        (
            "kind: PersistentVolumeClaim\nmetadata: {name: c}\nspec: {storageClasName: x}\napiVersion: v1\n",
            [
                "spec.storageClasName: unknown field",
                "spec.accessModes: Required value: at least 1 access mode is required",
                "spec.resources[storage]: Required value",
            ],
        ),
        (
            "kind: PersistentVolume\nmetadata: {name: v}\napiVersion: v1\n"
            "spec: {accessModes: [ReadWriteOncePod, ReadOnlyMany], capacity: {storage: 0}}\n",
            [
                "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
                'spec.capacity[storage]: Invalid value: "0": must be greater than zero',
                "spec: Required value: must specify a volume type",
            ],
        ),
        (
            "kind: StorageClass\nmetadata: {name: s}\napiVersion: storage.k8s.io/v1\nvolumeBindingMode: Later\n",
            [
                "provisioner: Required value",
                'volumeBindingMode: Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"',
            ],
        ),
    ],
)
def test_what_the_api_server_refuses_of_storage_is_refused_in_its_words(
    lab: Lab, text: str, texts: list[str]
) -> None:
    with pytest.raises(ManifestError) as caught:
        lab.apply(text)
    for one in texts:
        assert one in str(caught.value)


def test_a_claim_whose_volume_cannot_be_written_any_more_is_tried_again(lab: Lab) -> None:
    """Somebody takes the volume away from under the scheduler: it is told so, and another one is found."""
    lab.apply(a_volume("disk") + a_claim("data", "made"))
    lab.post(PodCreated(lab_pod("p", "data")))
    lab.cluster.wait()
    claim = claim_of(lab, "data")
    annotations = {key: value for key, value in claim.annotations.items() if "selected" not in key}
    lab.post(ObjectApplied(replace(claim, annotations=annotations)))
    lab.cluster.wait()
    assert lab.pod("p").conditions[0].message == (
        'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "data"'
    )
    lab.advance(1)
    lab.wait()
    assert lab.pod("p").node_name != ""
