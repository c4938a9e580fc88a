"""A cluster whose pods claim devices is walked through at random; what must hold at rest, holds."""

from collections.abc import Sequence
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from kubedev.api.claims import ResourceClaim
from kubedev.api.manifests import Manifests, load
from kubedev.api.messages import HEALTHY, UNHEALTHY, DevicePluginOptions
from kubedev.api.objects import Pod
from kubedev.api.switches import CLAIMS_GATE
from kubedev.cluster import events as e
from kubedev.deviceplugin.driver import described
from kubedev.deviceplugin.plugin import make_devices
from kubedev.scheduler.configuration.loading import load_configuration
from kubedev.scheduler.context import Context
from kubedev.scheduler.plugins.dynamic_resources import DynamicResources
from tests.unit.claims_world import (
    CONFIG,
    GPU,
    a_claim,
    a_class,
    a_pod,
    a_template,
    claimed,
    written,
)

from .cluster_run import Run, a_run

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
RESOURCE = "example.com/gpu"
NODES = ("n1", "n2")
TEMPLATES = ("one", "pair", "all", "strong")
SHARED = ("shared-1", "shared-2")
steps = st.sampled_from((0, 1, 3, 8, 1000, 1000))


@cache
def manifests() -> Manifests:
    strong = claimed(1, f'{GPU}.model == "strong"')
    specs = {"one": claimed(), "pair": claimed(2, switch=True), "all": claimed(0), "strong": strong}
    documents = [a_class(), *(a_template(name, specs[name]) for name in TEMPLATES)]
    documents += [a_claim(SHARED[0], claimed()), a_claim(SHARED[1], claimed(2, switch=True))]
    return load(written(*documents), gates=[CLAIMS_GATE])


@cache
def pod_of(kind: str) -> Pod:
    named = {"claim": kind} if kind in SHARED else {"template": kind}
    return load(written(a_pod("p", **named)), gates=[CLAIMS_GATE]).pods[0]


class Walk:
    """A cluster of two nodes with two devices each, and what is done to it."""

    def __init__(self) -> None:
        self.run = a_run(2, CONFIG)
        self.made = 0
        self.run.post(e.SchedulerConfigured(load_configuration(HEADER, gates=[CLAIMS_GATE]).profiles))
        for obj in manifests().objects:
            self.run.post(e.ObjectApplied(obj))
        for node, model in zip(NODES, ("weak", "strong"), strict=True):
            devices = make_devices(2, 0)
            self.run.post(e.PluginLaunched(node, RESOURCE, devices, DevicePluginOptions()))
            offered = described(devices, {"model": model, "switch": 0}, {"memory": "40Gi"})
            self.run.post(e.DriverLaunched(node, RESOURCE, offered))
        self.run.settle()

    def do(self, what: str, which: int) -> None:
        pods = list(self.run.state.store.pods.values())
        node = NODES[which % 2]
        if what in (*TEMPLATES, *SHARED):
            self.made += 1
            name = f"p{self.made}"
            pod = pod_of(what)
            self.run.post(e.PodCreated(Pod.parse({**pod.manifest, "metadata": {"name": name}})))
        elif what in ("delete", "force") and pods:
            uid = pods[which % len(pods)].uid
            self.run.post(e.PodDeletionAsked(uid, 0 if what == "force" else None))
        elif what in ("sick", "well"):
            health = UNHEALTHY if what == "sick" else HEALTHY
            self.run.post(e.HealthSet(node, RESOURCE, f"d{which % 2}", health))
        elif what == "restart":
            self.run.post(e.KubeletStopped(node))
        elif what == "clock":
            self.run.post(e.ClockAdvanced(which))

    def rest(self) -> None:
        """Let everything come to an end, and every back-off pass; not the five minutes after which all are tried."""
        self.run.settle()
        for _ in range(3):
            self.run.post(e.ClockAdvanced(11))
            self.run.settle()

    def check(self) -> None:
        state = self.run.state
        claims = list(state.store.resource_claims.values())
        taken = [one.id for claim in claims if claim.allocation for one in claim.allocation.devices]
        assert len(taken) == len(set(taken)), "a device belongs to two claims"
        for claim in claims:
            self.check_claim(claim)
        scheduler = state.scheduler
        assert not scheduler.claim_bindings
        assert not scheduler.listers.claims.in_flight
        assert dict(scheduler.listers.claims.claims) == dict(state.store.resource_claims)
        for pod in state.store.pods.values():
            self.check_pod(pod)

    def check_claim(self, claim: ResourceClaim) -> None:
        pods = self.run.state.store.pods
        assert all(one.uid in pods for one in claim.reserved_for), "it is reserved for a pod that is gone"
        assert (claim.allocation is None) == (not claim.reserved_for), "it is kept for nobody"
        assert all(owner.uid in pods for owner in claim.owner_references), "it outlives its pod"

    def check_pod(self, pod: Pod) -> None:
        state = self.run.state
        (named,) = pod.resource_claims
        name = named.resource_claim_name or pod.resource_claim_statuses[named.name]
        claim = state.store.resource_claims[f"default/{name}"]
        if pod.node_name:
            assert pod.phase == "Running"
            assert claim.allocation is not None
            assert pod.uid in [one.uid for one in claim.reserved_for]
            names = tuple(f"k8s.gpu.example.com/gpu={one.device}" for one in claim.allocation.devices)
            assert state.containers[pod.uid, "main"].cdi_devices == names
            assert {one.pool for one in claim.allocation.devices} == {pod.node_name}
            return
        plugin = next(one for one in state.scheduler.framework.plugins if isinstance(one, DynamicResources))
        found, status, _ = plugin.pre_filter(pod, (), Context())
        assert status.is_success
        infos = state.scheduler.cache.snapshot()
        full = [len(info.pods) >= 5 for info in infos]
        fits = [plugin.filter(found, pod, info).is_success for info in infos]
        assert not any(fit and not no for fit, no in zip(fits, full, strict=True)), "nobody woke it"


CREATED = (*TEMPLATES, *SHARED)
OTHERS = ("delete", "delete", "delete", "force", "sick", "well", "restart", "clock")
actions = st.tuples(st.sampled_from((*CREATED, *CREATED, *OTHERS)), st.integers(0, 11), steps)


@settings(max_examples=25, deadline=None)
@given(st.lists(actions, min_size=6, max_size=16))
def test_at_rest_every_device_is_somebodys_and_nobody_waits_in_vain(
    done: Sequence[tuple[str, int, int]],
) -> None:
    walk = Walk()
    for what, which, then in done:
        walk.do(what, which)
        for _ in range(then):
            if not walk.run.step():
                break
    walk.rest()
    walk.check()


def test_the_walk_meets_what_it_is_about() -> None:
    walk = Walk()
    for what in ("one", "pair", "shared-1", "shared-1", "all", "strong"):
        walk.do(what, 0)
    walk.rest()
    walk.check()
    assert any(not pod.node_name for pod in walk.run.state.store.pods.values())
    assert isinstance(walk.run, Run)
