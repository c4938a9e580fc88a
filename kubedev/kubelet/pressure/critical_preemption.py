"""A critical pod at a full kubelet: which pods are evicted to let it in.

Go source: `pkg/kubelet/preemption/preemption.go`. The set is found from above: first the guaranteed pods that are
needed even if all others went, then burstable, then best effort ones. In each class the pod goes that leaves the least
to be found, by the sum of the squared fractions still missing; then the one with the smaller request of memory, of CPU,
then the later one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kubedev.api.int64 import wrap_int64
from kubedev.api.names import CPU, MEMORY, PODS
from kubedev.api.objects import Pod
from kubedev.api.qos import BEST_EFFORT, BURSTABLE, GUARANTEED, get_pod_qos
from kubedev.kubelet.pressure.critical import is_critical_pod, preemptable
from kubedev.kubelet.pressure.messages import Kill
from kubedev.kubelet.pressure.usage import request_quantity
from kubedev.scheduler.plugins.fits import InsufficientResource

__all__ = [
    "PREEMPTED",
    "PREEMPTING",
    "Handled",
    "PredicateFailure",
    "Preemption",
    "PreemptionChoice",
    "Requirement",
    "handle_admission_failure",
    "pods_to_preempt",
]

PREEMPTING = "Preempting"
PREEMPTED = "Preempted in order to admit critical pod"
DISRUPTION_TARGET = "Pod was preempted by Kubelet to accommodate a critical pod."


@dataclass(frozen=True, slots=True)
class Requirement:
    """An amount that is still missing: CPU in milli-units, all else in whole ones."""

    resource: str
    quantity: int


@dataclass(frozen=True, slots=True)
class PreemptionChoice:
    """One pod that was chosen: what was missing before it, and how far it was from all of that (0 is enough)."""

    pod: Pod
    qos_class: str
    missing: tuple[Requirement, ...]
    distance: float


@dataclass(frozen=True, slots=True)
class Preemption:
    """The pods to evict in their order, the choices in the order they were made, or why there is no such set."""

    victims: tuple[Pod, ...] = ()
    choices: tuple[PreemptionChoice, ...] = ()
    error: str = ""

    @property
    def kills(self) -> tuple[Kill, ...]:
        """How the victims end; each with its own grace period."""
        return tuple(
            Kill(pod.uid, PREEMPTING, PREEMPTED, disruption_target=DISRUPTION_TARGET) for pod in self.victims
        )


@dataclass(frozen=True, slots=True)
class PredicateFailure:
    """A check of the scheduler's that a pod fails, for anything else than a resource."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class Handled:
    """What is left of the reasons, and what was done about those that are gone."""

    remaining: tuple[InsufficientResource | PredicateFailure, ...] = ()
    preemption: Preemption = field(default_factory=Preemption)


def handle_admission_failure(
    pod: Pod, reasons: Sequence[InsufficientResource | PredicateFailure], pods: Iterable[Pod]
) -> Handled:
    """A critical pod that lacks nothing but resources has other pods evicted; any other reason stands.

    An eviction that then fails does not stop the admission, nor is the fit looked at again.
    """
    if not is_critical_pod(pod):
        return Handled(tuple(reasons))
    others = tuple(reason for reason in reasons if isinstance(reason, PredicateFailure))
    if others:
        return Handled(others)
    missing = [
        Requirement(r.resource_name, wrap_int64(r.requested - r.free))
        for r in reasons
        if isinstance(r, InsufficientResource)
    ]
    return Handled(preemption=pods_to_preempt(pod, pods, missing))


def pods_to_preempt(pod: Pod, pods: Iterable[Pod], missing: Sequence[Requirement]) -> Preemption:
    """Which of the running pods go so that nothing is missing for `pod` (`getPodsToPreempt`)."""
    by_class: dict[str, list[Pod]] = {BEST_EFFORT: [], BURSTABLE: [], GUARANTEED: []}
    for other in pods:
        qos = get_pod_qos(other).qos_class
        if preemptable(pod, other) and qos in by_class:
            by_class[qos].append(other)
    best_effort, burstable = by_class[BEST_EFFORT], by_class[BURSTABLE]
    try:
        _check(subtract(missing, best_effort + burstable + by_class[GUARANTEED]))
        guaranteed = _by_distance(
            by_class[GUARANTEED], subtract(missing, best_effort + burstable), GUARANTEED
        )
        taken = [choice.pod for choice in guaranteed]
        middle = _by_distance(burstable, subtract(missing, best_effort + taken), BURSTABLE)
        taken = [choice.pod for choice in middle] + taken
        last = _by_distance(best_effort, subtract(missing, taken), BEST_EFFORT)
    except _NotEnoughError as error:
        return Preemption(error=str(error))
    victims = tuple(choice.pod for choice in (*last, *middle, *guaranteed))
    return Preemption(victims, (*guaranteed, *middle, *last))


class _NotEnoughError(Exception):
    pass


def _check(missing: Sequence[Requirement]) -> None:
    if missing:
        found = "".join(f"(res: {m.resource}, q: {m.quantity}), " for m in missing)
        raise _NotEnoughError(f"no set of running pods found to reclaim resources: [{found}]")


def _by_distance(
    pods: Sequence[Pod], missing: Sequence[Requirement], qos_class: str
) -> tuple[PreemptionChoice, ...]:
    """Pods until nothing is missing, the nearest one first; the last pod takes the place of one that was taken."""
    left, choices = list(pods), []
    while missing:
        if not left:
            _check(missing)
        best, best_distance = 0, float(len(missing) + 1)
        for i, pod in enumerate(left):
            distance = distance_of(pod, missing)
            nearer = distance < best_distance
            if nearer or (distance == best_distance and _smaller(pod, left[best])):
                best, best_distance = i, distance
        choices.append(PreemptionChoice(left[best], qos_class, tuple(missing), best_distance))
        missing = subtract(missing, [left[best]])
        left[best] = left[-1]
        left.pop()
    return tuple(choices)


def distance_of(pod: Pod, missing: Iterable[Requirement]) -> float:
    """The sum of the squared fractions of what would still be missing without this pod."""
    distance = 0.0
    for requirement in missing:
        left = float(wrap_int64(requirement.quantity - resource_request(pod, requirement.resource)))
        if left > 0:
            fraction = left / float(requirement.quantity)
            distance += fraction * fraction
    return distance


def subtract(missing: Iterable[Requirement], pods: Sequence[Pod]) -> tuple[Requirement, ...]:
    """What would still be missing without these pods."""
    rest = []
    for requirement in missing:
        quantity = requirement.quantity
        for pod in pods:
            quantity = wrap_int64(quantity - resource_request(pod, requirement.resource))
            if quantity <= 0:
                break
        if quantity > 0:
            rest.append(Requirement(requirement.resource, quantity))
    return tuple(rest)


def resource_request(pod: Pod, resource: str) -> int:
    """What a pod's end gives back: milli-CPUs, bytes or counts; one place among the pods (`GetResourceRequest`)."""
    if resource == PODS:
        return 1
    quantity = request_quantity(pod, resource)
    return quantity.milli_value() if resource == CPU else quantity.value()


def _smaller(pod: Pod, other: Pod) -> bool:
    def amounts(of: Pod) -> tuple[int, int]:
        return resource_request(of, MEMORY), resource_request(of, CPU)

    return amounts(pod) <= amounts(other)
