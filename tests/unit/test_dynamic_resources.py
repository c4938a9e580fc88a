"""Claims for devices in scheduler and cluster: waited for, allocated, reserved, and given back."""

from collections.abc import Iterator

import pytest

from kubedev.api.claims import DeviceClass, ResourceClaim
from kubedev.api.objects import Pod
from kubedev.api.resource_slices import ResourceSlice
from kubedev.api.switches import CLAIMS_GATE
from kubedev.cluster.history import History
from kubedev.lab.session import Lab
from kubedev.scheduler.configuration.loading import load_configuration
from kubedev.scheduler.configuration.own_plugins import own_plugins
from kubedev.scheduler.cycle import Decision, Outcome
from kubedev.scheduler.events import Bind, BindClaims, Effect, UnreserveClaims, WatchEvent
from kubedev.scheduler.queue.queue_transitions import Place
from kubedev.scheduler.scheduler import (
    SchedulerState,
    bind_finished,
    claims_finished,
    observe,
    schedule_next,
)
from kubedev.scheduler.status import Code, Status
from tests.unit.claims_world import (
    CONFIG,
    DRIVER,
    GPU,
    a_claim,
    a_class,
    a_pod,
    a_slice,
    a_template,
    claimed,
    devices,
    message,
    written,
)
from tests.unit.scheduler_world import make_node

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab("claims", nodes=2, transport="memory", plugins="thread", config=CONFIG) as made:
        made.apply(written(a_class(), a_slice("gpu-node-1", "A100", "40Gi", 2)))
        yield made


def users(lab: Lab, claim: str) -> list[str]:
    return [one.name for one in lab.state.store.resource_claims[f"default/{claim}"].reserved_for]


# In a cluster


def test_a_pod_waits_for_a_claim_that_is_not_there(lab: Lab) -> None:
    lab.apply(written(a_pod("p", claim="c")))
    queue = lab.state.scheduler.queue
    assert queue.place_of("default/p") is Place.GATED
    assert queue.framework.pre_enqueue(lab.pod("p")).message == 'could not find ResourceClaim "default/c"'
    lab.apply(written(a_claim("c", claimed())))
    assert lab.pod("p").node_name == "gpu-node-1"
    assert (devices(lab, "c"), users(lab, "c")) == (["gpu-0"], ["p"])


def test_a_pod_waits_for_a_template_and_gets_a_claim_of_its_own(lab: Lab) -> None:
    lab.apply(written(a_pod("p", template="t")))
    queue = lab.state.scheduler.queue
    expected = 'pod "default/p": ResourceClaim not created yet'
    assert queue.framework.pre_enqueue(lab.pod("p")).message == expected
    lab.apply(written(a_template("t", claimed())))
    pod = lab.pod("p")
    assert pod.node_name == "gpu-node-1"
    assert pod.resource_claim_statuses == {"gpu": "p-gpu-1"}
    claim = lab.state.store.resource_claims["default/p-gpu-1"]
    assert claim.annotations == {"resource.kubernetes.io/pod-claim-name": "gpu"}
    assert [(one.kind, one.uid, one.controller) for one in claim.owner_references] == [("Pod", pod.uid, True)]


def test_a_pod_waits_for_a_class_and_for_devices(lab: Lab) -> None:
    spec = claimed()
    spec["devices"]["requests"][0]["deviceClassName"] = "late"
    lab.apply(written(a_claim("c", spec), a_pod("p", claim="c")))
    assert "request gpus: device class late does not exist" in message(lab, "p")
    late = a_class("late")
    late["spec"]["selectors"][0]["cel"]["expression"] = f'{GPU}.model == "H100"'
    lab.apply(written(late))
    lab.advance(20)
    assert "2 cannot allocate all claims." in message(lab, "p")
    lab.apply(written(a_slice("gpu-node-2", "H100", "80Gi")))
    lab.advance(20)
    assert lab.pod("p").node_name == "gpu-node-2"


def test_two_pods_share_a_claim_which_is_free_when_both_are_gone(lab: Lab) -> None:
    lab.apply(written(a_claim("c", claimed(2)), a_pod("p", claim="c"), a_pod("q", claim="c")))
    assert {lab.pod(name).node_name for name in "pq"} == {"gpu-node-1"}
    assert sorted(users(lab, "c")) == ["p", "q"]
    lab.apply(written(a_claim("d", claimed(1)), a_pod("r", claim="d")))
    assert lab.pod("r").node_name == ""
    lab.delete("p")
    lab.advance(60)
    assert (devices(lab, "c"), users(lab, "c")) == (["gpu-0", "gpu-1"], ["q"])
    assert lab.pod("r").node_name == ""
    lab.delete("q")
    lab.advance(60)
    assert (devices(lab, "c"), users(lab, "c")) == ([], [])
    assert (lab.pod("r").node_name, devices(lab, "d")) == ("gpu-node-1", ["gpu-0"])


def test_a_claim_that_was_made_for_a_pod_goes_with_it(lab: Lab) -> None:
    lab.apply(written(a_template("t", claimed()), a_pod("p", template="t")))
    assert list(lab.state.store.resource_claims) == ["default/p-gpu-1"]
    lab.delete("p")
    lab.advance(60)
    assert dict(lab.state.store.resource_claims) == {}
    assert lab.state.scheduler.listers.claims.in_use() == frozenset()


def test_a_claim_that_nobody_uses_is_given_back_for_a_pod_that_has_to_be_elsewhere(lab: Lab) -> None:
    lab.apply(written(a_slice("gpu-node-2", "A100", "40Gi")))
    result = {"request": "gpus", "driver": DRIVER, "pool": "gpu-node-1", "device": "gpu-1"}
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu-node-1"]}]}
    status = {"allocation": {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": [term]}}}
    lab.apply(written(a_claim("c", claimed(), status=status)))
    wants = {"kubernetes.io/hostname": "gpu-node-2"}
    lab.apply(written(a_pod("p", claim="c", nodeSelector=wants)))
    lab.advance(20)
    said = " ".join(value for one in lab.state.messages for _, value in one.values)
    assert "1 resourceclaim not available on the node" in said
    assert "deallocation of ResourceClaim completed, preemption: 0/2 nodes are available" in said
    assert (lab.pod("p").node_name, devices(lab, "c")) == ("gpu-node-2", ["gpu-0"])


def test_an_allocated_claim_brings_its_pods_to_its_node(lab: Lab) -> None:
    lab.apply(written(a_claim("c", claimed(2)), a_pod("p", claim="c")))
    wants = {"kubernetes.io/hostname": "gpu-node-2"}
    lab.apply(written(a_pod("q", claim="c", nodeSelector=wants)))
    assert "1 resourceclaim not available on the node" in message(lab, "q")
    assert "still not schedulable" in message(lab, "q")
    assert devices(lab, "c") == ["gpu-0", "gpu-1"]


def test_a_pod_without_claims_is_scheduled_as_ever(lab: Lab) -> None:
    pod = a_pod("p", claim="c")
    del pod["spec"]["resourceClaims"], pod["spec"]["containers"][0]["resources"]
    lab.apply(written(pod))
    assert lab.pod("p").node_name


def test_applying_a_claim_again_keeps_what_it_got(lab: Lab) -> None:
    lab.apply(written(a_claim("c", claimed()), a_pod("p", claim="c")))
    lab.apply(written(a_claim("c", claimed()), a_class()))
    assert devices(lab, "c") == ["gpu-0"]


def test_a_history_with_claims_is_exported_and_imported(lab: Lab) -> None:
    lab.apply(written(a_template("t", claimed(0)), a_pod("p", template="t"), a_pod("q", template="t")))
    assert History.from_json(lab.history.to_json()).state == lab.state


def test_a_claim_of_a_pod_with_a_long_name_has_both_names_cut(lab: Lab) -> None:
    name = "p" * 80
    lab.apply(written(a_template("t", claimed()), a_pod(name, template="t")))
    (claim,) = lab.state.store.resource_claims.values()
    assert len(claim.name) <= 63
    assert claim.name.startswith("ppp")
    assert claim.name.endswith("-gp-1")
    assert lab.pod(name).node_name


# The scheduler alone


def a_scheduler(*pods: Pod, gpus: int = 1) -> SchedulerState:
    """A scheduler that has seen a node with GPUs, two claims for one each, c and d, and these pods."""
    profile = load_configuration(HEADER, gates=[CLAIMS_GATE]).profiles[0]
    state = SchedulerState().with_profiles(profile)
    objects = [
        make_node("n1"),
        DeviceClass.parse(a_class()),
        ResourceSlice.parse(a_slice("n1", "A100", "40Gi", gpus)),
        *(ResourceClaim.parse(a_claim(name, counted())) for name in "cd"),
        *pods,
    ]
    for obj in objects:
        state, _ = observe(state, WatchEvent("ADDED", obj), 0)
    return state


def counted() -> dict[str, object]:
    spec = claimed()
    spec["devices"]["requests"][0] |= {"allocationMode": "ExactCount"}
    return spec


def pod(name: str, claim: str) -> Pod:
    return Pod.parse(a_pod(name, claim=claim))


def turn(state: SchedulerState) -> tuple[SchedulerState, Decision, tuple[Effect, ...]]:
    state, decision, effects = schedule_next(state, 0)
    assert decision is not None
    return state, decision, effects


def test_devices_that_are_chosen_are_nobody_elses_before_they_are_written() -> None:
    state, first, effects = turn(a_scheduler(pod("p", "c"), pod("q", "c"), pod("r", "d")))
    assert first.outcome is Outcome.SCHEDULED
    assert [type(one) for one in effects] == [BindClaims]
    state, second, _ = turn(state)
    assert "resource claim default/c is in the process of being allocated" in second.message
    _, third, _ = turn(state)
    assert "1 cannot allocate all claims." in third.message


def written_claim(effect: Effect) -> ResourceClaim:
    assert isinstance(effect, BindClaims)
    (one,) = effect.reservations
    assert one.allocation is not None
    manifest = a_claim("c", counted())
    users = [{"resource": "pods", "name": effect.pod.name, "uid": effect.pod.uid}]
    result = vars_of(one.allocation.devices[0])
    manifest["status"] = {"allocation": {"devices": {"results": [result]}}, "reservedFor": users}
    return ResourceClaim.parse(manifest)


def vars_of(result: object) -> dict[str, object]:
    return {name: getattr(result, name) for name in ("request", "driver", "pool", "device")}


def test_a_claim_that_could_not_be_written_is_free_again() -> None:
    state, _, (effect,) = turn(a_scheduler(pod("p", "c")))
    assert isinstance(effect, BindClaims)
    text = "claim default/c got deleted in the meantime"
    state, effects = claims_finished(state, effect.pod, (), text, 0)
    assert state.listers.claims.in_use() == frozenset()
    assert not state.claim_bindings
    assert not any(isinstance(one, Bind) for one in effects)
    texts = [getattr(one, "text", "") for one in effects]
    assert f'running PreBind plugin "DynamicResources": {text}' in texts


def test_a_pod_that_is_not_bound_after_all_gives_its_reservation_back() -> None:
    state, _, (effect,) = turn(a_scheduler(pod("p", "c")))
    assert isinstance(effect, BindClaims)
    state, (bind,) = claims_finished(state, effect.pod, (written_claim(effect),), "", 0)
    assert isinstance(bind, Bind)
    assert len(state.listers.claims.in_use()) == 1  # assumed, before the watch shows it
    state, effects = bind_finished(state, bind.pod, "n1", "timeout", 0)
    assert [one.keys for one in effects if isinstance(one, UnreserveClaims)] == [("default/c",)]
    assert len(state.listers.claims.in_use()) == 1  # it stays allocated


def test_a_bound_pod_leaves_nothing_behind() -> None:
    state, _, (effect,) = turn(a_scheduler(pod("p", "c")))
    assert isinstance(effect, BindClaims)
    state, (bind,) = claims_finished(state, effect.pod, (written_claim(effect),), "", 0)
    assert isinstance(bind, Bind)
    state, _ = bind_finished(state, bind.pod, "n1", "", 0)
    assert not state.claim_bindings
    assert not state.listers.claims.in_flight


def test_older_news_of_a_claim_do_not_end_what_is_assumed_of_it() -> None:
    """The watch shows changes one after another; the scheduler has just written a newer state of the claim."""
    state, _, (effect,) = turn(a_scheduler(pod("p", "c")))
    assert isinstance(effect, BindClaims)
    written_now = written_claim(effect)
    state, _ = claims_finished(state, effect.pod, (written_now,), "", 0)
    before = effect.reservations[0].claim
    labelled = ResourceClaim.parse(
        a_claim("c", counted()) | {"metadata": {"name": "c", "labels": {"a": "b"}}}
    )
    state, _ = observe(state, WatchEvent("MODIFIED", labelled, before), 0)
    assert len(state.listers.claims.in_use()) == 1
    state, _ = observe(state, WatchEvent("MODIFIED", written_now, labelled), 0)
    assert not state.listers.claims.assumed
    assert len(state.listers.claims.in_use()) == 1


class Later:
    """A Permit plugin that makes every pod wait."""

    def permit(self, pod: Pod, node_name: str) -> Status:
        return Status(Code.WAIT, ("later",), "Later")


def test_a_pod_that_is_deleted_while_it_waits_for_a_permit_plugin_frees_its_devices() -> None:
    enabled = "profiles:\n- plugins: {permit: {enabled: [{name: Later}]}}\n"
    profile = load_configuration(HEADER + enabled, own_plugins(Later), [CLAIMS_GATE]).profiles[0]
    state = a_scheduler(pod("p", "c")).with_profiles(profile)
    state, _, effects = turn(state)
    assert effects == ()
    assert len(state.listers.claims.in_use()) == 1
    state, _ = observe(state, WatchEvent("DELETED", pod("p", "c")), 0)
    assert state.listers.claims.in_use() == frozenset()
    assert not state.claim_bindings


def test_the_plugin_stands_before_preemption_in_the_default_profile_and_only_with_its_gate() -> None:
    points = ("pre_enqueue", "pre_filter", "filter", "post_filter", "reserve", "pre_bind")
    with_gate = load_configuration(HEADER, gates=[CLAIMS_GATE]).profiles[0]
    for point in points:
        assert "DynamicResources" in with_gate.order[point]
    order = with_gate.order["post_filter"]
    assert order.index("DynamicResources") < order.index("DefaultPreemption")
    without = load_configuration(HEADER).profiles[0]
    assert not any("DynamicResources" in without.order[point] for point in points)


def test_hints_wake_a_pod_for_what_may_help_it_alone() -> None:
    state = a_scheduler(pod("p", "c"), gpus=0)
    state, decision, _ = turn(state)
    assert "1 cannot allocate all claims." in decision.message
    unrelated = ResourceClaim.parse(a_claim("e", counted()))
    state, _ = observe(state, WatchEvent("ADDED", unrelated), 10)
    assert state.queue.place_of("default/p") is Place.UNSCHEDULABLE
    more = ResourceSlice.parse(a_slice("n1", "A100", "40Gi", 1))
    state, _ = observe(state, WatchEvent("MODIFIED", more, more), 10)
    assert state.queue.place_of("default/p") is Place.ACTIVE
