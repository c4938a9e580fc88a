"""The search for victims by sums alone, where pods matter to the filters by what they take: the same in less time.

What the readable search notes of each pod that it gives back is made by that search, when somebody reads it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kubedev.api.int64 import wrap_int64
from kubedev.api.objects import Node, Pod
from kubedev.api.pod_groups import PodDisruptionBudget
from kubedev.api.requests import Resource, summed
from kubedev.api.values import Same
from kubedev.scheduler.framework import run_filters
from kubedev.scheduler.later import LaterSequence
from kubedev.scheduler.node_info import NodeInfo, PodInfo
from kubedev.scheduler.plugins.fits import is_ignored, wanted
from kubedev.scheduler.plugins.node_affinity import NodeAffinity
from kubedev.scheduler.plugins.node_name import NodeName
from kubedev.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kubedev.scheduler.plugins.node_unschedulable import NodeUnschedulable
from kubedev.scheduler.plugins.taint_toleration import TaintToleration
from kubedev.scheduler.preemption.victims import (
    NO_VICTIMS,
    NodeTrial,
    Reprieve,
    importance,
    no_victim,
    pods_with_budget_violation,
    select_victims_on_node,
)
from kubedev.scheduler.snapshot import NodeChecker, priority_of

__all__ = ["try_node"]

BY_NODE = (NodeUnschedulable, NodeName, TaintToleration, NodeAffinity)
"""The filters that look at a node's object, and at none of its pods."""


def try_node(checker: NodeChecker, node_info: NodeInfo, budgets: Sequence[PodDisruptionBudget]) -> NodeTrial:
    """What preemption on one node would take: `victims.select_victims_on_node`, by the quickest way."""
    asked = asked_for(Same(checker))
    nominations = checker.nominator.nominations.values()
    if asked is None or any(node == node_info.name for _, node in nominations):
        return select_victims_on_node(checker, node_info, budgets)
    return by_room(checker, node_info, budgets, asked)


@lru_cache(maxsize=2)  # the same for all nodes of a cycle
def asked_for(of_checker: Same[NodeChecker]) -> tuple[tuple[str, int], ...] | None:
    """The resources that have to be there, with their amounts; None where pods matter by more than what they take."""
    checker = of_checker.value
    asked: list[tuple[str, int]] = []
    plugins = {plugin.name: plugin for plugin in checker.framework.at("filter")}
    for name, _, state in checker.calls:
        plugin = plugins[name]
        if type(plugin) is NodeResourcesFit and isinstance(state, Resource):
            ignored = plugin.ignored_resources, plugin.ignored_groups
            asked += [one for one in wanted(state) if not is_ignored(one[0], *ignored)]
        elif type(plugin) not in BY_NODE:
            return None
    return tuple(asked)


@dataclass(frozen=True, slots=True)
class Room:
    """What filters see of a node where some pods are gone; only how many `pods` there are is seen of the others."""

    node: Node
    allocatable: Resource
    requested: Resource
    pods: range


def by_room(
    checker: NodeChecker,
    node_info: NodeInfo,
    budgets: Sequence[PodDisruptionBudget],
    asked: Sequence[tuple[str, int]],
) -> NodeTrial:
    """The search with a number for each resource that is asked for."""
    name, preemptor = node_info.name, priority_of(checker.pod)
    lower = [info for info in node_info.pods if priority_of(info.pod) < preemptor]
    if not lower:
        return NodeTrial(name, NO_VICTIMS)
    given, pods = node_info.allocatable, len(node_info.pods) - len(lower)
    taken = node_info.requested.plus(summed([info.resource for info in lower]), sign=-1)
    lower.sort(key=lambda info: importance(info.pod))
    potential = tuple([info.pod for info in lower])
    room: Any = Room(node_info.node, given, taken, range(pods))
    status = run_filters(checker.calls, checker.pod, room)
    if not status.is_success:
        return NodeTrial(name, status, potential)
    violating = pods_with_budget_violation(potential, budgets)
    order = sorted(lower, key=lambda info: info.pod.uid not in violating) if violating else lower
    left = [given.get(resource) - taken.get(resource) for resource, _ in asked]
    victims = without_room(order, asked, left, given.allowed_pod_number - pods)
    if violating:
        victims.sort(key=importance)
    if not victims:
        status = no_victim(name)
    reprieves: Sequence[Reprieve] = LaterSequence(
        lambda: tuple(select_victims_on_node(checker, node_info, budgets).reprieves), len(lower)
    )
    broken = sum(1 for pod in victims if pod.uid in violating) if violating else 0
    return NodeTrial(name, status, potential, reprieves, tuple(victims), broken)


def without_room(
    order: Sequence[PodInfo], asked: Sequence[tuple[str, int]], left: Sequence[int], pods: int
) -> list[Pod]:
    """Which of these pods cannot be given back, one after another, if the preemptor is to have room.

    `left` is what is left of each resource without them, and `pods` is how many pods there may be more.
    """
    victims: list[Pod] = []
    for info in order:
        after = [amount - info.resource.get(name) for amount, (name, _) in zip(left, asked, strict=True)]
        short = [name for amount, (name, need) in zip(after, asked, strict=True) if need > wrap_int64(amount)]
        if short or pods == 1:
            victims.append(info.pod)
        else:
            left, pods = after, pods - 1
    return victims
