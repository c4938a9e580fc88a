"""The eviction manager: every ten seconds it looks at the node, says what is short, and evicts at most one pod.

`synchronize` is one look: from the state and the figures to the state after and everything that was decided on the
way. Go source: `pkg/kubelet/eviction/eviction_manager.go`. Times are seconds on one clock.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from kubedev.api.fields import Fields
from kubedev.api.objects import Pod
from kubedev.api.qos import BEST_EFFORT, get_pod_qos
from kubedev.api.selectors import Taint
from kubedev.kubelet.pressure import thresholds as t
from kubedev.kubelet.pressure.critical import is_critical_pod
from kubedev.kubelet.pressure.local_limits import broken_limit
from kubedev.kubelet.pressure.messages import EVICTED, EvictionEvent, Kill, eviction_message
from kubedev.kubelet.pressure.ranking import Ranking, rank, rank_by_signal
from kubedev.kubelet.pressure.usage import PodStats, Summary, observe
from kubedev.scheduler.plugins.taint_toleration import tolerates

__all__ = [
    "EvictionConfig",
    "EvictionRound",
    "EvictionState",
    "Outcome",
    "Reclaim",
    "admit_under_pressure",
    "new_eviction_manager",
    "synchronize",
]

MONITORING_INTERVAL = 10.0
IMMEDIATE = 1  # seconds a pod gets to end when it has to go at once
CONTAINERS, IMAGES = "containers", "images"

Reclaim = Callable[[tuple[str, ...]], Summary | None]
"""Runs the collectors (`containers`, `images`) and gives the figures after it, None where they cannot be had."""


class Outcome(StrEnum):
    """How a look ended."""

    NOTHING_WATCHED = "no threshold is set and local storage is not watched"
    FAILED = "the file systems of the node could not be told"
    NO_STATS = "there were no figures"
    LOCAL_LIMITS = "pods that broke a limit of local storage were evicted"
    NOTHING_SHORT = "no threshold was met for its grace period with new figures"
    RECLAIMED = "dead containers and unused images were enough"
    NOT_RANKED = "pods are not ranked by this signal"
    NO_PODS = "no pod runs"
    ALL_CRITICAL = "every pod is critical"
    EVICTED = "the first pod of the ranking was evicted"


@dataclass(frozen=True, slots=True)
class EvictionConfig:
    """The settings, and whether images and containers have file systems of their own.

    `transition_period` is evictionPressureTransitionPeriod, `max_pod_grace_period` evictionMaxPodGracePeriod, both in
    seconds. `image_fs` with `split_fs`: only images are elsewhere. `image_fs_error`: it cannot be told.
    """

    thresholds: tuple[t.Threshold, ...] = ()
    transition_period: float = 300.0
    max_pod_grace_period: int = 0
    local_storage_isolation: bool = True
    image_fs: bool = False
    split_fs: bool = False
    image_fs_error: str = ""


@dataclass(frozen=True, slots=True)
class EvictionState:
    """What the manager keeps between two looks.

    `thresholds` are those of the settings and, once file systems are known, those of containerfs. `conditions` are
    shown in node.status; `observed_at` says when each was last seen, `first_observed` since when each threshold has
    been met, `met` which have been for their grace period.
    """

    thresholds: tuple[t.Threshold, ...] = ()
    started: bool = False
    conditions: tuple[str, ...] = ()
    observed_at: Mapping[str, float] = field(default_factory=dict)
    first_observed: t.FirstObserved = ()
    met: tuple[t.Threshold, ...] = ()
    observations: t.Observations = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EvictionRound:
    """One look and all it decided. The state after it is `state`.

    `observations` are the signals, `crossed` the thresholds met now (grace aside), with those whose minimum reclaim is
    not reached; `acting` those that drive eviction, in the order they are looked at, `threshold` the first.
    `reclaimed` are the collectors that ran, `ranking` who was compared with whom, `evicted` uids.
    """

    state: EvictionState
    at: float
    outcome: Outcome
    observations: t.Observations = field(default_factory=dict)
    crossed: tuple[t.Threshold, ...] = ()
    acting: tuple[t.Threshold, ...] = ()
    threshold: t.Threshold | None = None
    reclaimed: tuple[str, ...] = ()
    ranking: Ranking | None = None
    events: tuple[EvictionEvent, ...] = ()
    kills: tuple[Kill, ...] = ()
    error: str = ""

    @property
    def evicted(self) -> tuple[str, ...]:
        """The pods that go."""
        return tuple(kill.uid for kill in self.kills)

    @property
    def resource(self) -> str:
        """What is short; empty where nothing drives eviction."""
        return "" if self.threshold is None else t.SIGNALS[self.threshold.signal].resource


def new_eviction_manager(config: EvictionConfig) -> EvictionState:
    """A manager that has not looked yet."""
    return EvictionState(config.thresholds)


def synchronize(
    config: EvictionConfig,
    state: EvictionState,
    summary: Summary | None,
    pods: Sequence[Pod],
    now: float,
    reclaim: Reclaim,
) -> EvictionRound:
    """One look at the node. `summary` is None where there are no figures; `pods` are the active ones."""
    if not state.thresholds and not config.local_storage_isolation:
        return EvictionRound(state, now, Outcome.NOTHING_WATCHED)
    watched = state.thresholds
    if not state.started:
        if config.image_fs_error:
            text = f"eviction manager: failed to get HasDedicatedImageFs: {config.image_fs_error}"
            return EvictionRound(state, now, Outcome.FAILED, error=text)
        added, _ = t.with_container_fs(watched, config.image_fs, config.split_fs)
        watched = added[: len(watched)]  # thresholds that were added are not looked at this time
        state = replace(state, thresholds=added, started=True)
    if summary is None:
        return EvictionRound(state, now, Outcome.NO_STATS)
    look = _observed(config, state, watched, summary, now)
    stats = {each.uid: each for each in summary.pods}
    if config.local_storage_isolation:
        kills = tuple(filter(None, (_over_limit(config, pod, stats) for pod in pods)))
        if kills:
            events = tuple(_event(pod, kill) for pod in pods for kill in kills if kill.uid == pod.uid)
            return replace(look, outcome=Outcome.LOCAL_LIMITS, kills=kills, events=events)
    first = t.reclaimable(look.acting)
    if first is None:
        return look
    return _drive(config, look, first, stats, pods, reclaim)


def _observed(
    config: EvictionConfig,
    state: EvictionState,
    watched: Sequence[t.Threshold],
    summary: Summary,
    now: float,
) -> EvictionRound:
    """What is short, for how long, and which conditions the node has because of it."""
    observations = observe(summary)
    crossed = t.thresholds_met(watched, observations)
    crossed = t.merge_thresholds(crossed, t.thresholds_met(state.met, observations, enforce_min_reclaim=True))
    first_observed = t.first_observed_at(crossed, state.first_observed, now)
    observed_at = t.add_conditions(t.node_conditions(crossed), state.observed_at, now)
    met = t.thresholds_met_grace_period(first_observed, now)
    acting = t.by_eviction_priority(t.thresholds_updated_stats(met, observations, state.observations))
    after = replace(
        state,
        conditions=t.conditions_since(observed_at, config.transition_period, now),
        observed_at=observed_at,
        first_observed=first_observed,
        met=met,
        observations=observations,
    )
    return EvictionRound(after, now, Outcome.NOTHING_SHORT, observations, crossed, acting)


def _over_limit(config: EvictionConfig, pod: Pod, stats: Mapping[str, PodStats]) -> Kill | None:
    if pod.uid not in stats or is_critical_pod(pod):
        return None
    message = broken_limit(pod, stats[pod.uid], config.image_fs)
    return None if message is None else Kill(pod.uid, EVICTED, message, IMMEDIATE)


def _drive(
    config: EvictionConfig,
    look: EvictionRound,
    threshold: t.Threshold,
    stats: Mapping[str, PodStats],
    pods: Sequence[Pod],
    reclaim: Reclaim,
) -> EvictionRound:
    """Reclaim what no pod needs, or else evict the first pod that may go."""
    signal, resource = threshold.signal, t.SIGNALS[threshold.signal].resource
    attempt = EvictionEvent("node", "EvictionThresholdMet", f"Attempting to reclaim {resource}")
    collectors = reclaim_collectors(signal, config.image_fs, config.split_fs)
    look = replace(look, threshold=threshold, events=(attempt,), reclaimed=collectors)
    if collectors:
        after = reclaim(collectors)
        if after is not None and not t.thresholds_met(look.state.thresholds, observe(after), True):
            return replace(look, outcome=Outcome.RECLAIMED)
    by = rank_by_signal(signal, config.image_fs, config.split_fs)
    if by is None:
        return replace(look, outcome=Outcome.NOT_RANKED)
    if not pods:
        return replace(look, outcome=Outcome.NO_PODS)
    ranking = rank(pods, stats, by)
    look = replace(look, ranking=ranking)
    victim = next((each.pod for each in ranking.ranked if not is_critical_pod(each.pod)), None)
    if victim is None:
        return replace(look, outcome=Outcome.ALL_CRITICAL)
    blame = eviction_message(resource, victim, stats.get(victim.uid), look.acting, look.observations)
    grace = _grace_period(config, threshold, victim)
    kill = Kill(victim.uid, EVICTED, blame.message, grace, blame.message)
    event = replace(_event(victim, kill), annotations=blame.annotations)
    return replace(look, outcome=Outcome.EVICTED, kills=(kill,), events=(attempt, event))


def reclaim_collectors(signal: str, image_fs: bool, split_fs: bool) -> tuple[str, ...]:
    """What may make room before a pod has to go; only for disks (`buildSignalToNodeReclaimFuncs`)."""
    filesystem = signal.partition(".")[0]
    if filesystem not in ("nodefs", "imagefs", "containerfs"):
        return ()
    if not image_fs:
        return (CONTAINERS, IMAGES)
    if split_fs:
        return (IMAGES,) if filesystem == "imagefs" else (CONTAINERS,)
    return () if filesystem == "nodefs" else (CONTAINERS, IMAGES)


def _grace_period(config: EvictionConfig, threshold: t.Threshold, pod: Pod) -> int:
    if threshold.hard:
        return IMMEDIATE
    own = Fields.of(pod.manifest).child("spec").optional_integer("terminationGracePeriodSeconds")
    return config.max_pod_grace_period if own is None else min(config.max_pod_grace_period, own)


def _event(pod: Pod, kill: Kill) -> EvictionEvent:
    return EvictionEvent(f"pod {pod.namespace}/{pod.name}", EVICTED, kill.message)


def admit_under_pressure(conditions: Sequence[str], pod: Pod) -> str:
    """Why a node with these conditions does not take a pod; empty where it does (`managerImpl.Admit`).

    Critical pods always come in. Memory pressure alone keeps out only best effort pods that do not tolerate its
    taint; any other condition keeps out everybody.
    """
    if not conditions or is_critical_pod(pod):
        return ""
    if tuple(conditions) == (t.MEMORY_PRESSURE,):
        taint = Taint("node.kubernetes.io/memory-pressure", "", "NoSchedule")
        tolerated = any(tolerates(toleration, taint) for toleration in pod.tolerations)
        if get_pod_qos(pod).qos_class != BEST_EFFORT or tolerated:
            return ""
    return f"The node had condition: [{' '.join(conditions)}]. "
