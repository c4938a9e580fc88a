"""Volumes in scheduling, where the recorded cases do not look: old kinds under CSI drivers, hints, matching."""

from typing import Any

import pytest

from kubedev.api.fields import FieldError
from kubedev.api.objects import Pod
from kubedev.api.storage import (
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from kubedev.scheduler.events import WatchEvent
from kubedev.scheduler.plugins.default_plugins import default_framework
from kubedev.scheduler.plugins.volumes import hints
from kubedev.scheduler.plugins.volumes.csi_translation import (
    IN_TREE_PLUGINS,
    TranslationError,
    is_counted,
    is_migrated,
    translate_volume,
)
from kubedev.scheduler.plugins.volumes.topologies import matches_node_affinity
from kubedev.scheduler.plugins.volumes.volume_matching import find_matching_volume
from kubedev.scheduler.queue.queue_transitions import Place
from kubedev.scheduler.scheduler import SchedulerState, observe
from kubedev.scheduler.status import Code, Status
from kubedev.scheduler.storage import Storage
from tests.unit.scheduler_world import World, make_node, make_pod


def volume(name: str = "v", labels: dict[str, str] | None = None, **spec: Any) -> PersistentVolume:
    return PersistentVolume.parse({"metadata": {"name": name, "labels": labels or {}}, "spec": spec})


def claim(name: str = "c", **spec: Any) -> PersistentVolumeClaim:
    return PersistentVolumeClaim.parse({"metadata": {"name": name}, "spec": spec})


def pod_with(*volumes: dict[str, Any], name: str = "p") -> Pod:
    return Pod.parse({"metadata": {"name": name}, "spec": {"volumes": list(volumes)}})


ZONE = "topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("given", "labels", "handle"),
    [
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, {}, "vol-1"),
        ({"awsElasticBlockStore": {"volumeID": "aws://us-east-1a/vol-1"}}, {}, "vol-1"),
        ({"awsElasticBlockStore": {"volumeID": "aws:///vol-2"}}, {}, "vol-2"),
        ({"gcePersistentDisk": {"pdName": "d"}}, {}, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"),
        ({"gcePersistentDisk": {"pdName": "d"}}, {ZONE: "a-b-c"}, "projects/UNSPECIFIED/zones/a-b-c/disks/d"),
        (
            {"gcePersistentDisk": {"pdName": "d"}},
            {ZONE: "eu-west1-a__eu-west1-b"},
            "projects/UNSPECIFIED/regions/eu-west1/disks/d",
        ),
        ({"azureDisk": {"diskURI": "/u", "kind": "MANAGED"}}, {}, "/u"),
        ({"cinder": {"volumeID": "x"}}, {}, "x"),
        ({"portworxVolume": {"volumeID": "y"}}, {}, "y"),
    ],
)
def test_an_old_kind_of_volume_has_the_handle_that_its_driver_knows(
    given: dict[str, Any], labels: dict[str, str], handle: str
) -> None:
    assert translate_volume(volume(labels=labels, **given)).sources["csi"]["volumeHandle"] == handle


@pytest.mark.parametrize(
    ("given", "labels", "text"),
    [
        (
            {"azureDisk": {"diskURI": "/u", "kind": "Dedicated"}},
            {},
            "kind(Dedicated) is not supported in csi migration",
        ),
        (
            {"awsElasticBlockStore": {"volumeID": "aws://z/disk-1"}},
            {},
            "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://z/disk-1)",
        ),
        (
            {"gcePersistentDisk": {"pdName": "d"}},
            {ZONE: "eu-west1-a__us-west1-b"},
            "failed to get region from zones: multiple or no regions gotten from zones, "
            "got: map[eu-west1:{} us-west1:{}]",
        ),
    ],
)
def test_a_volume_that_no_driver_can_take_over_says_so_in_kubernetes_words(
    given: dict[str, Any], labels: dict[str, str], text: str
) -> None:
    with pytest.raises(TranslationError) as caught:
        translate_volume(volume(labels=labels, **given))
    assert str(caught.value) == text


def test_zones_become_the_drivers_label_from_the_affinity_or_else_from_the_labels() -> None:
    by_label = translate_volume(volume(labels={ZONE: "b__a"}, cinder={"volumeID": "x"}))
    key = "topology.cinder.csi.openstack.org/zone"
    assert matches_node_affinity(by_label, {key: "a"})
    assert matches_node_affinity(by_label, {key: "b"})
    assert not matches_node_affinity(by_label, {ZONE: "a"})
    terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["c"]}]}]
    by_affinity = translate_volume(
        volume(
            labels={ZONE: "a"},
            cinder={"volumeID": "x"},
            nodeAffinity={"required": {"nodeSelectorTerms": terms}},
        )
    )
    assert matches_node_affinity(by_affinity, {key: "c"})
    assert not matches_node_affinity(by_affinity, {key: "a"})


def test_limits_count_migrated_kinds_without_an_annotation_except_for_portworx() -> None:
    bare, told = (
        CSINode("n"),
        CSINode("n", {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/portworx-volume"}),
    )
    ebs, portworx = IN_TREE_PLUGINS["awsElasticBlockStore"], IN_TREE_PLUGINS["portworxVolume"]
    assert is_counted(ebs, bare)
    assert not is_counted(ebs, None)
    assert not is_migrated(ebs, bare)
    assert not is_counted(portworx, bare)
    assert is_counted(portworx, told)
    assert is_migrated(portworx, told)
    assert not is_counted(IN_TREE_PLUGINS["azureFile"], told)


def test_without_a_node_a_waiting_claim_gets_only_a_volume_that_is_kept_for_it() -> None:
    free = PersistentVolume.parse({"metadata": {"name": "free"}, "status": {"phase": "Available"}})
    kept = volume("kept", claimRef={"name": "c", "namespace": "default"})
    assert find_matching_volume(claim(), [free], None) is None
    assert find_matching_volume(claim(), [free, kept], None) is kept
    assert find_matching_volume(claim(), [free], None, delay_binding=False) is free


def test_a_hint_looks_at_the_pods_own_claims_and_disks() -> None:
    user = pod_with(
        {"name": "a", "persistentVolumeClaim": {"claimName": "c"}}, {"name": "e", "ephemeral": {}}
    )
    assert hints.after_own_claim(user, None, claim("c")).queue
    assert not hints.after_own_claim(user, None, claim("p-e")).queue
    assert hints.after_any_own_claim(user, None, claim("p-e")).queue
    other = PersistentVolumeClaim.parse({"metadata": {"name": "c", "namespace": "elsewhere"}})
    assert not hints.after_own_claim(user, None, other).queue
    disk = {"name": "d", "gcePersistentDisk": {"pdName": "x"}}
    assert hints.after_user_deleted(pod_with(disk), pod_with(disk, name="q"), None).queue
    assert not hints.after_user_deleted(user, pod_with(disk, name="q"), None).queue


def test_a_hint_looks_at_what_changed_of_a_class_and_a_capacity() -> None:
    def capacity(size: str) -> CSIStorageCapacity:
        return CSIStorageCapacity.parse({"metadata": {"name": "x"}, "capacity": size})

    pod = pod_with()
    assert hints.after_capacity_change(pod, capacity("1Gi"), capacity("2Gi")).queue
    assert not hints.after_capacity_change(pod, capacity("2Gi"), capacity("1Gi")).queue
    waits = StorageClass("s", volume_binding_mode="WaitForFirstConsumer")
    assert hints.after_class_added(pod, None, waits).queue
    assert not hints.after_class_change(pod, waits, waits).queue


def test_what_is_seen_of_an_object_ends_what_was_assumed_of_it() -> None:
    seen, assumed = volume("v"), volume("v", storageClassName="later")
    storage = Storage().with_object(seen).assumed(assumed)
    assert storage.volume("v") is assumed
    assert storage.volumes["v"] is seen
    assert storage.volumes_of_class("later") == (assumed,)
    assert storage.volumes_of_class("") == ()
    assert storage.with_object(seen).volume("v") is seen
    assert storage.restored(seen).volume("v") is seen
    assert storage.without_object(seen).volume("v") is None


def test_the_scheduler_sees_storage_come_and_go() -> None:
    state, _ = observe(SchedulerState(), WatchEvent("ADDED", claim("c")), 0)
    assert set(state.listers.storage.claims) == {"default/c"}
    state, _ = observe(state, WatchEvent("DELETED", claim("c")), 1)
    assert not state.listers.storage.claims


def test_a_capacity_that_is_no_quantity_names_its_field() -> None:
    with pytest.raises(FieldError) as caught:
        CSIStorageCapacity.parse({"metadata": {"name": "x"}, "maximumVolumeSize": "much"})
    assert str(caught.value).startswith('maximumVolumeSize: Invalid value: "much"')


def waiting_world(world: World | None = None) -> World:
    """A pod whose claim waits for a volume that nobody makes."""
    here = world or World()
    here.node(make_node("n"))
    made = StorageClass("made", provisioner="csi.example.com", volume_binding_mode="WaitForFirstConsumer")
    here.tell(made, None)
    here.tell(claim("c", storageClassName="made"), None)
    here.pod(make_pod("p", spec={"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}))
    here.run()
    return here


def test_a_pod_whose_volumes_are_not_bound_in_time_is_tried_again() -> None:
    here = waiting_world()
    assert here.messages["p"] == ""
    assert here.state.listers.storage.assumed_claims
    here.wait(600)
    assert here.messages["p"] == (
        'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
    )
    assert here.place("p") is Place.BACKOFF
    assert not here.state.listers.storage.assumed_claims
    assert not here.state.bindings


def test_another_pod_does_not_get_a_volume_that_is_assumed_to_be_taken() -> None:
    here = World()
    for name in ("n", "m"):
        here.node(make_node(name))
    here.tell(StorageClass("local", volume_binding_mode="WaitForFirstConsumer"), None)
    disk = {"capacity": {"storage": "1Gi"}, "storageClassName": "local"}
    manifest = {"metadata": {"name": "v"}, "spec": disk, "status": {"phase": "Available"}}
    here.tell(PersistentVolume.parse(manifest), None)
    for name in ("a", "b"):
        here.tell(claim(name, storageClassName="local"), None)
        volume_of_pod = {"name": "v", "persistentVolumeClaim": {"claimName": name}}
        here.pod(make_pod(name, spec={"volumes": [volume_of_pod]}))
    here.run()
    assert here.messages["a"] == ""
    assert here.messages["b"].startswith(
        "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind."
    )
    here.wait(600)
    assert here.place("b") is not Place.OUTSIDE


def test_a_node_that_goes_while_volumes_are_made_gives_the_pod_back() -> None:
    here = waiting_world()
    here.remove_node("n")
    assert 'failed to get node "n"' in here.messages["p"]


def test_what_is_assumed_for_a_pod_ends_with_it_while_it_waits_for_a_permit_plugin() -> None:
    class Later:
        name = "Later"

        def permit(self, pod: Pod, node_name: str) -> Status:
            return Status(Code.WAIT)

    here = waiting_world(World(SchedulerState().with_framework(default_framework().with_plugin(Later()))))
    (pod,) = here.state.permit_waiting
    assert here.state.listers.storage.assumed_claims
    here.finish("p")
    assert not here.state.permit_waiting
    assert not here.state.bindings
    assert not here.state.listers.storage.assumed_claims
    assert not here.state.cache.is_assumed(pod)
