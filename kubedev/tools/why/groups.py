"""Which nodes refuse a pod for which reason, how far the closest of them is from taking it, and what holds it there."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kubedev.api.names import PODS
from kubedev.api.objects import Node, Pod
from kubedev.api.selectors import Taint
from kubedev.scheduler.cycle import Decision
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.fits import InsufficientResource
from kubedev.scheduler.queue.queued_pod import key_of
from kubedev.scheduler.status import Status
from kubedev.tools.why.details import about_claims, details_of
from kubedev.tools.why.world import World

__all__ = ["Cause", "Group", "Holder", "cause_of", "groups_of", "statuses_of", "unhealthy"]


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a resource falls short: `kind` is absent, none, unhealthy, too small, or in use."""

    resource: str
    kind: str


TOLD_OF_EACH = ("InterPodAffinity", "NodePorts", "PodTopologySpread")
"""Plugins whose refusals have another story on each node, and on how many of them it is told."""
TOLD = 4
Kind = tuple[str, tuple[str, ...], tuple[Cause, ...]]


@dataclass(frozen=True, slots=True)
class Holder:
    """A pod that takes so much of a resource."""

    pod: str
    resource: str
    amount: int


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that refuse the pod in the same words, for the same causes.

    `closest` is the one that lacks the least, with the sums that do not work out there and who holds what is
    missing, largest first. `taint` is the one that is not tolerated; `details` are sentences about the closest node, or
    about the first ones where other pods are in the way.
    """

    plugin: str
    reasons: tuple[str, ...]
    nodes: tuple[str, ...]
    causes: tuple[Cause, ...] = ()
    closest: str = ""
    sums: tuple[InsufficientResource, ...] = ()
    holders: tuple[Holder, ...] = ()
    taint: Taint | None = None
    details: tuple[str, ...] = ()


def statuses_of(decision: Decision, world: World) -> Mapping[str, Status]:
    """What each node was refused with; empty where the pod was refused before any was looked at."""
    if decision.found is None or not decision.found.pre_filtered.status.is_success:
        return {}
    statuses = decision.found.statuses
    explicit = dict(statuses.explicit)
    return {info.name: explicit.get(info.name, statuses.absent) for info in world.nodes}


def groups_of(decision: Decision, world: World) -> tuple[Group, ...]:
    """The nodes by reason, the largest group first."""
    members: dict[Kind, list[tuple[NodeInfo, Status]]] = {}
    statuses = statuses_of(decision, world)
    if not statuses and decision.found is not None:  # refused before any node was looked at
        status, names = decision.found.pre_filtered.status, tuple(sorted(info.name for info in world.nodes))
        return (
            Group(status.plugin, status.reasons, names, details=tuple(about_claims(world, decision.pod))),
        )
    for info in world.nodes if statuses else ():
        status = statuses[info.name]
        causes = tuple(cause_of(lack, info.node) for lack in lacks_of(status))
        members.setdefault((status.plugin, status.reasons, causes), []).append((info, status))
    found = [group(world, decision.pod, *key, there) for key, there in members.items()]
    return tuple(
        sorted(found, key=lambda one: (-len(one.nodes), one.reasons, one.causes and one.causes[0].kind))
    )


def group(
    world: World,
    pod: Pod,
    plugin: str,
    reasons: tuple[str, ...],
    causes: tuple[Cause, ...],
    members: list[tuple[NodeInfo, Status]],
) -> Group:
    """One group with its closest node."""
    info, status = min(members, key=lambda member: distance(lacks_of(member[1])))
    sums = lacks_of(status)
    return Group(
        plugin,
        reasons,
        tuple(sorted(member[0].name for member in members)),
        causes,
        info.name,
        sums,
        tuple(holders(info, (lack.resource_name for lack in sums))),
        next((why for why in status.why if isinstance(why, Taint)), None),
        tuple(told(world, pod, members if plugin in TOLD_OF_EACH else [(info, status)])),
    )


def told(world: World, pod: Pod, members: Sequence[tuple[NodeInfo, Status]]) -> Iterator[str]:
    """Sentences about the first of these nodes, each once."""
    first = members[:TOLD]
    yield from dict.fromkeys(line for info, status in first for line in details_of(world, pod, info, status))
    if len(members) > TOLD:
        yield f"and so on, on {len(members) - TOLD} nodes more"


def lacks_of(status: Status) -> tuple[InsufficientResource, ...]:
    """The resources that fall short."""
    return tuple(why for why in status.why if isinstance(why, InsufficientResource))


def distance(lacks: Iterable[InsufficientResource]) -> float:
    """How much is missing, as shares of what is asked for."""
    return sum((lack.requested - lack.free) / lack.requested for lack in lacks if lack.requested)


def cause_of(lack: InsufficientResource, node: Node) -> Cause:
    """Why a resource falls short on a node."""
    name = lack.resource_name
    if name != PODS and name not in node.allocatable:
        return Cause(name, "absent")
    if unhealthy(name, node) and lack.requested <= node.capacity[name].value() - lack.used:
        return Cause(name, "unhealthy")
    if lack.capacity <= 0:
        return Cause(name, "none")
    return Cause(name, "too small" if lack.requested > lack.capacity else "in use")


def unhealthy(name: str, node: Node) -> int:
    """How many devices of an extended resource the node has and cannot give: capacity 8, allocatable 7."""
    if "/" not in name or name not in node.capacity or name not in node.allocatable:
        return 0
    return max(node.capacity[name].value() - node.allocatable[name].value(), 0)


def holders(info: NodeInfo, resources: Iterable[str]) -> Iterator[Holder]:
    """The pods that take what is missing, largest first."""
    for name in resources:
        taking = [
            Holder(key_of(one.pod), name, 1 if name == PODS else one.resource.get(name)) for one in info.pods
        ]
        yield from sorted((one for one in taking if one.amount > 0), key=lambda one: (-one.amount, one.pod))
