"""A node that runs short: who is evicted, when, and what the kubelet says."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubedev.api.objects import Pod
from kubedev.api.quantity import Quantity
from kubedev.kubelet.pressure.critical import is_critical_pod
from kubedev.kubelet.pressure.eviction import (
    EvictionConfig,
    EvictionRound,
    EvictionState,
    Outcome,
    admit_under_pressure,
    new_eviction_manager,
    synchronize,
)
from kubedev.kubelet.pressure.ranking import RankBy, rank
from kubedev.kubelet.pressure.settings import parse_threshold_config
from kubedev.kubelet.pressure.usage import ContainerStats, FsStats, FsUsage, MemoryStats, PodStats, Summary

MI, GI = 1 << 20, 1 << 30


def pod(name: str, request: str = "", priority: int | None = None, limit: str = "", **spec: Any) -> Pod:
    resources: dict[str, Any] = {"requests": {"memory": request} if request else {}}
    if limit:
        resources = {"requests": {"cpu": "1", "memory": limit}, "limits": {"cpu": "1", "memory": limit}}
    container = {"name": "c", "resources": resources}
    return Pod.parse(
        {"metadata": {"name": name}, "spec": {"containers": [container], "priority": priority, **spec}}
    )


def uses(of: Pod, memory: int) -> PodStats:
    return PodStats(of.uid, memory, containers=(ContainerStats("c", memory),))


def config(hard: Mapping[str, str] | None = None, **more: Any) -> EvictionConfig:
    soft, grace, reclaim = (more.pop(key, {}) for key in ("soft", "grace", "reclaim"))
    return EvictionConfig(parse_threshold_config([], hard or {}, soft, grace, reclaim), **more)


def look(
    settings: EvictionConfig,
    available: int,
    pods: Sequence[tuple[Pod, int]] = (),
    now: float = 10.0,
    state: EvictionState | None = None,
) -> EvictionRound:
    stats = tuple(uses(each, memory) for each, memory in pods)
    summary = Summary(now, MemoryStats(available, 8 * GI - available), pods=stats)
    before = state or new_eviction_manager(settings)
    return synchronize(settings, before, summary, [each for each, _ in pods], now, lambda _: summary)


def test_b65_the_class_of_service_is_no_key() -> None:
    a, b = pod("a", limit="1Gi", priority=0), pod("b", "100Mi", 0)
    c, d, e = pod("c", "100Mi", 1000), pod("d", priority=0), pod("e", "1Gi", 0)
    memory = {"a": 900, "b": 500, "c": 300, "d": 50, "e": 900}
    stats = {each.uid: uses(each, memory[each.name] * MI) for each in (a, b, c, d, e)}
    for order in ([a, b, c, d, e], [e, d, c, b, a], [c, a, e, b, d]):
        ranking = rank(order, stats, RankBy("memory"))
        assert [{each.pod.name for each in group} for group in ranking.groups()] == [
            {"b"},
            {"d"},
            {"c"},
            {"a", "e"},
        ]
        keys = [each.key for each in ranking.comparisons()]
        assert keys == ["amount over request", "priority", "over request", ""]


def test_b65_critical_pods_are_spared_and_one_goes_a_round() -> None:
    crit = pod("crit", priority=2_000_000_000)
    found = look(config({"memory.available": "1Gi"}), 500 * MI, [(crit, 4 * GI), (pod("d"), 50 * MI)])
    assert found.evicted == ("default/d",)
    assert found.outcome is Outcome.EVICTED
    alone = look(config({"memory.available": "1Gi"}), 500 * MI, [(crit, 4 * GI)])
    assert (alone.evicted, alone.outcome) == ((), Outcome.ALL_CRITICAL)


def test_a_soft_threshold_shows_its_condition_before_anybody_goes() -> None:
    settings = config(soft={"memory.available": "1Gi"}, grace={"memory.available": "30s"})
    pods = [(pod("d"), 50 * MI)]
    first = look(settings, 500 * MI, pods, now=10)
    assert (first.state.conditions, first.evicted) == (("MemoryPressure",), ())
    second = look(settings, 500 * MI, pods, now=39.9, state=first.state)
    assert second.evicted == ()
    third = look(settings, 500 * MI, pods, now=40, state=second.state)
    assert third.evicted == ("default/d",)


def test_a_break_starts_the_grace_period_again() -> None:
    settings = config(soft={"memory.available": "1Gi"}, grace={"memory.available": "30s"})
    pods = [(pod("d"), 50 * MI)]
    state = look(settings, 500 * MI, pods, now=10).state
    state = look(settings, 2 * GI, pods, now=20, state=state).state
    again = look(settings, 500 * MI, pods, now=41, state=state)
    assert again.evicted == ()


def test_a_condition_lasts_for_less_than_the_transition_period() -> None:
    settings = config({"memory.available": "1Gi"}, transition_period=300.0)
    state = look(settings, 500 * MI, now=10).state
    assert look(settings, 2 * GI, now=309, state=state).state.conditions == ("MemoryPressure",)
    assert look(settings, 2 * GI, now=310, state=state).state.conditions == ()


def test_the_minimum_reclaim_keeps_evicting_until_it_is_reached() -> None:
    settings = config({"memory.available": "1Gi"}, reclaim={"memory.available": "500Mi"})
    pods = [(pod("d"), 50 * MI)]
    state = look(settings, 900 * MI, pods, now=10).state
    above = look(settings, 1200 * MI, pods, now=20, state=state)
    assert above.evicted == ("default/d",)
    assert look(settings, 1600 * MI, pods, now=30, state=above.state).evicted == ()


def test_without_new_figures_nobody_else_goes() -> None:
    settings = config({"memory.available": "1Gi"})
    pods = (pod("d"), pod("e"))
    summary = Summary(10.0, MemoryStats(5, GI), pods=tuple(uses(each, 50 * MI) for each in pods))
    first = synchronize(settings, new_eviction_manager(settings), summary, pods, 10.0, lambda _: None)
    second = synchronize(settings, first.state, summary, pods, 20.0, lambda _: None)
    assert (len(first.evicted), second.evicted) == (1, ())
    assert second.state.conditions == ("MemoryPressure",)


def test_dead_containers_and_images_go_before_pods() -> None:
    settings = config({"nodefs.available": "10%"})
    before = Summary(10.0, nodefs=FsStats(5 * GI, 100 * GI), pods=(PodStats("default/d"),))
    after = replace(before, nodefs=FsStats(20 * GI, 100 * GI))
    asked: list[tuple[str, ...]] = []

    def reclaim(collectors: tuple[str, ...]) -> Summary:
        asked.append(collectors)
        return after

    found = synchronize(settings, new_eviction_manager(settings), before, (pod("d"),), 10.0, reclaim)
    assert (found.outcome, found.evicted, asked) == (Outcome.RECLAIMED, (), [("containers", "images")])


def test_local_limits_take_several_pods_in_one_round() -> None:
    volumes = [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}]
    pods = tuple(pod(name, volumes=volumes) for name in "abc")
    used = {"a": 2 * GI, "b": GI, "c": GI + 1}
    stats = tuple(PodStats(p.uid, volumes=(("v", FsUsage(used[p.name])),)) for p in pods)
    settings = config()
    found = synchronize(
        settings, new_eviction_manager(settings), Summary(10.0, pods=stats), pods, 10.0, lambda _: None
    )
    assert found.evicted == ("default/a", "default/c")
    assert found.kills[0].message == 'Usage of EmptyDir volume "v" exceeds the limit "1Gi". '


def test_memory_pressure_alone_keeps_out_only_best_effort_pods() -> None:
    assert admit_under_pressure(("MemoryPressure",), pod("d"))
    assert not admit_under_pressure(("MemoryPressure",), pod("b", "1Mi"))
    toleration = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}
    tolerant = pod("t", tolerations=[toleration])
    assert not admit_under_pressure(("MemoryPressure",), tolerant)
    refused = admit_under_pressure(("DiskPressure", "MemoryPressure"), tolerant)
    assert refused == "The node had condition: [DiskPressure MemoryPressure]. "
    assert not admit_under_pressure(("DiskPressure",), pod("crit", priority=2_000_000_000))


PODS = st.lists(
    st.tuples(
        st.sampled_from(["", "100Mi", "1Gi"]),
        st.sampled_from([None, 0, 1000, 2_000_000_000]),
        st.one_of(st.none(), st.integers(0, 2 * GI)),
    ),
    max_size=8,
)


@given(PODS, st.integers(0, 2 * GI))
def test_nobody_goes_who_ranks_behind_one_that_stays(
    given: list[tuple[str, int | None, int | None]], available: int
) -> None:
    settings = config({"memory.available": "1Gi"})
    pods = [pod(f"p{i}", request, priority) for i, (request, priority, _) in enumerate(given)]
    stats = tuple(
        uses(each, memory) for each, (_, _, memory) in zip(pods, given, strict=True) if memory is not None
    )
    summary = Summary(10.0, MemoryStats(available, 8 * GI), pods=stats)
    found = synchronize(settings, new_eviction_manager(settings), summary, pods, 10.0, lambda _: None)
    assert len(found.evicted) <= 1
    if found.evicted:
        assert found.ranking is not None
        before = [each.pod for each in found.ranking.ranked]
        at = [each.uid for each in before].index(found.evicted[0])
        assert all(is_critical_pod(each) for each in before[:at])
        assert available < GI


def before(first: Pod, second: Pod, used: Mapping[str, int | None]) -> int:
    """What the kubelet compares two pods by under memory pressure, in its own words: -1 if `first` goes first."""
    figures = [used[each.uid] for each in (first, second)]
    if None in figures:
        return cmp(figures[0] is not None, figures[1] is not None) or (
            cmp(first.priority or 0, second.priority or 0)
        )
    amounts = [each.containers[0].requests.get("memory", Quantity()).value() for each in (first, second)]
    over = [memory - amount for memory, amount in zip(figures, amounts, strict=True)]  # type: ignore[operator]
    return (
        cmp(over[0] <= 0, over[1] <= 0)
        or cmp(first.priority or 0, second.priority or 0)
        or cmp(over[1], over[0])
    )


def cmp(left: int, right: int) -> int:
    return (left > right) - (left < right)


@given(PODS)
def test_the_order_is_that_of_comparing_two_by_two(given: list[tuple[str, int | None, int | None]]) -> None:
    pods = [pod(f"p{i}", request, priority) for i, (request, priority, _) in enumerate(given)]
    used = {each.uid: memory for each, (_, _, memory) in zip(pods, given, strict=True)}
    stats = {each.uid: uses(each, memory) for each in pods if (memory := used[each.uid]) is not None}
    ordered = [each.pod for each in rank(pods, stats, RankBy("memory")).ranked]
    assert sorted(each.uid for each in ordered) == sorted(used)
    for i, first in enumerate(ordered):
        assert all(before(first, second, used) <= 0 for second in ordered[i + 1 :])
