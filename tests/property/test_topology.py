"""Two ways of counting and two mergers, one answer each; and what every merge keeps to."""

from collections.abc import Sequence
from functools import reduce

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kubedev.api.messages import Device
from kubedev.kubelet.topology.bitmask import (
    iterate_bit_masks,
    mask_of,
    nodes_of,
    numbered_masks,
    superset_differences,
    superset_sums,
)
from kubedev.kubelet.topology.hints import (
    TopologyHint,
    count_at_once,
    count_mask_by_mask,
    device_hints,
    generate_topology_hints,
    hint_count,
    wide_topology_hints,
    written_out,
)
from kubedev.kubelet.topology.merge import (
    FilteredHints,
    Merge,
    NUMAInfo,
    filter_providers_hints,
    merge_at_once,
    merge_by_permutation,
    merge_wide,
    permutation_count,
    permutations,
)
from kubedev.kubelet.topology.wide import Cover, WideHints, holds, smallest_size

# Machines whose NUMA node ids need not be 0, 1, 2: a node may be off line.


@st.composite
def machines(draw: st.DrawFn, largest: int) -> NUMAInfo:
    count = draw(st.integers(1, largest))
    nodes = tuple(draw(st.lists(st.integers(0, 20), min_size=count, max_size=count, unique=True)))
    distance = st.integers(10, 40)
    rows = {node: draw(st.lists(distance, min_size=21, max_size=21)) for node in nodes}
    return NUMAInfo(nodes, rows)


@st.composite
def merges(draw: st.DrawFn, largest: int, most: int) -> tuple[tuple[FilteredHints, ...], NUMAInfo, bool]:
    """Hints of up to four resources, `most` hints each, some of them for any node or beyond the machine."""
    numa = draw(machines(largest))
    everything = numa.default_affinity_mask
    masks = st.one_of(
        st.none(),
        st.lists(st.sampled_from(numa.nodes), unique=True).map(mask_of),
        st.just(everything | 1 << 30),
    )
    hints = st.lists(st.builds(TopologyHint, masks, st.booleans()), max_size=most).map(tuple)
    answers = st.lists(st.one_of(st.none(), hints), min_size=1, max_size=4)
    providers = [{str(i): answer} for i, answer in enumerate(draw(answers))]
    return filter_providers_hints(providers), numa, draw(st.booleans())


# Counting


@st.composite
def device_lists(draw: st.DrawFn) -> tuple[dict[str, Device], set[str], set[str], tuple[int, ...], int]:
    numa = draw(machines(5))
    nodes = st.one_of(st.none(), st.lists(st.sampled_from((*numa.nodes, -1, 25)), max_size=3).map(tuple))
    devices = {
        f"d{i}": Device(f"d{i}", numa_nodes=on) for i, on in enumerate(draw(st.lists(nodes, max_size=8)))
    }
    ids = st.sets(st.sampled_from((*devices, "gone")))
    available = draw(ids)
    return devices, available, draw(ids) - available, numa.nodes, draw(st.integers(0, 6))


@given(device_lists())
def test_both_ways_of_counting_agree(
    case: tuple[dict[str, Device], set[str], set[str], tuple[int, ...], int],
) -> None:
    devices, available, reusable, nodes, request = case
    places = {id_: device.numa_nodes for id_, device in devices.items()}
    assert count_at_once(places, available, reusable, nodes) == count_mask_by_mask(
        places, available, reusable, nodes
    )
    by_mask, at_once = (
        device_hints("r", request, devices, available, nodes, reusable=reusable, count=count)
        for count in (count_mask_by_mask, count_at_once)
    )
    assert by_mask == at_once


@given(device_lists())
def test_hints_are_places_that_suffice_and_preferred_ones_are_smallest(
    case: tuple[dict[str, Device], set[str], set[str], tuple[int, ...], int],
) -> None:
    devices, available, reusable, nodes, request = case
    answer = device_hints("r", request, devices, available, nodes, reusable=reusable)
    for hint in answer.hints or ():
        mask, preferred = hint.numa_node_affinity, hint.preferred
        assert mask is not None
        within = {d.id for d in devices.values() if set(nodes_of(mask)) & set(d.numa_nodes or ())}
        assert len(within & (available | reusable)) >= request
        assert preferred == (mask.bit_count() == answer.min_affinity_size)


@given(st.integers(0, 6).flatmap(lambda n: st.lists(st.integers(-5, 5), min_size=2**n, max_size=2**n)))
def test_superset_sums_are_what_they_say_and_can_be_undone(values: list[int]) -> None:
    sums = superset_sums(values)
    assert sums == [
        sum(value for larger, value in enumerate(values) if larger & mask == mask)
        for mask in range(len(values))
    ]
    assert superset_differences(sums) == values


@given(st.lists(st.integers(0, 63), unique=True, max_size=6))
def test_every_mask_comes_once_small_ones_first(nodes: list[int]) -> None:
    masks = list(iterate_bit_masks(nodes))
    assert len(masks) == len(set(masks)) == 2 ** len(nodes) - 1
    assert [m.bit_count() for m in masks] == sorted(m.bit_count() for m in masks)
    assert sorted(numbered_masks(nodes)) == sorted([0, *masks])


# The merge


@settings(max_examples=300)
@given(merges(largest=5, most=6))
def test_both_mergers_agree(case: tuple[tuple[FilteredHints, ...], NUMAInfo, bool]) -> None:
    filtered, numa, closest = case
    by_permutation, at_once = (
        merge_by_permutation(filtered, numa, closest),
        merge_at_once(filtered, numa, closest),
    )
    assert by_permutation == at_once
    assert by_permutation.candidates == at_once.candidates
    assert by_permutation.permutations == permutation_count(filtered)


@settings(max_examples=300)
@given(merges(largest=5, most=6))
def test_ranks_decide_as_kubernetes_comparisons_do(
    case: tuple[tuple[FilteredHints, ...], NUMAInfo, bool],
) -> None:
    filtered, numa, closest = case
    merge = merge_at_once(filtered, numa, closest)
    merged = [p.merged for p in permutations(filtered, numa)]
    best = reduce(lambda current, candidate: better(merge, current, candidate), merged, None)
    assert merge.hint == (best or TopologyHint(numa.default_affinity_mask, False))


def better(merge: Merge, current: TopologyHint | None, candidate: TopologyHint) -> TopologyHint | None:
    """One comparison of `policy.go: HintMerger.compare`, case by case."""
    if not candidate.numa_node_affinity:
        return current
    if current is None:
        return candidate
    if current.preferred != candidate.preferred:
        return current if current.preferred else candidate
    aim = merge.best_non_preferred_affinity_count
    now, then = (size(hint) for hint in (current, candidate))
    if current.preferred or now > aim or now == then:
        return fitter(merge, current, candidate)
    if now == aim or then > aim:
        return current
    return candidate if then > now else current


def size(hint: TopologyHint) -> int:
    return (hint.numa_node_affinity or 0).bit_count()


def fitter(merge: Merge, current: TopologyHint, candidate: TopologyHint) -> TopologyHint:
    """One comparison of `numa_info.go: Narrowest, Closest`."""
    one, other = current.numa_node_affinity or 0, candidate.numa_node_affinity or 0
    if size(current) != size(candidate):
        return min(current, candidate, key=size)
    if merge.prefer_closest:
        near, nearer = (merge.numa.average_distance(mask) for mask in (one, other))
        if near != nearer:
            return current if near < nearer else candidate
    return current if one <= other else candidate


@settings(max_examples=60, deadline=None)
@given(merges(largest=16, most=40))
def test_what_every_merge_keeps_to_up_to_sixteen_nodes(
    case: tuple[tuple[FilteredHints, ...], NUMAInfo, bool],
) -> None:
    filtered, numa, closest = case
    merge = merge_at_once(filtered, numa, closest)
    everything = numa.default_affinity_mask
    assert merge.permutations == permutation_count(filtered)
    mask, preferred = merge.hint.numa_node_affinity, merge.hint.preferred
    assert mask is not None
    if not merge.candidates:
        assert merge.hint == TopologyHint(everything, False)
    for candidate in (*merge.candidates[:5], *merge.candidates[-5:]):
        assert is_and_of_one_hint_each(filtered, candidate.hint.numa_node_affinity or 0, everything)
        assert candidate.rank >= merge.rank(mask, preferred)
    alike = same_preferred_mask(filtered, mask, everything)
    assert preferred == alike if merge.candidates else not preferred


@st.composite
def families(draw: st.DrawFn, nodes: Sequence[int]) -> WideHints | None:
    """Hints as a value, as very wide machines have them, here on a machine whose masks can be listed."""
    masks = st.lists(st.sampled_from(nodes), min_size=1, unique=True).map(mask_of)
    single = st.sampled_from(nodes).map(lambda node: 1 << node)
    amounts = st.dictionaries(st.one_of(single, single, masks), st.integers(1, 3), max_size=5)
    covers = tuple(
        Cover(tuple(sorted(given.items())), draw(st.integers(0, max(1, sum(given.values())))))
        for given in draw(st.lists(amounts, min_size=1, max_size=2))
    )
    within = draw(st.one_of(st.just(mask_of(nodes)), masks))
    if not holds(covers, within):
        return None
    size = draw(st.one_of(st.just(smallest_size(nodes, covers)), st.integers(1, len(nodes))))
    also = tuple(draw(st.lists(masks, max_size=2, unique=True)))
    half = len(nodes) // 2
    sockets = (mask_of(nodes[:half]), mask_of(nodes[half:])) if half and draw(st.booleans()) else ()
    return WideHints(tuple(nodes), within, covers, size, also, sockets, draw(st.integers(1, 2)))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_what_is_searched_for_is_what_permutations_find(data: st.DataObject) -> None:
    numa = data.draw(machines(5))
    masks = st.one_of(st.none(), st.lists(st.sampled_from(numa.nodes), min_size=1, unique=True).map(mask_of))
    listed = st.lists(st.builds(TopologyHint, masks, st.booleans()), max_size=4).map(tuple)
    answers = data.draw(
        st.lists(st.one_of(families(numa.nodes), families(numa.nodes), listed), min_size=1, max_size=3)
    )
    as_lists = [tuple(answer) if isinstance(answer, WideHints) else answer for answer in answers]
    by_value, by_list = (
        filter_providers_hints([{str(i): answer} for i, answer in enumerate(each)])
        for each in (answers, as_lists)
    )
    assume(permutation_count(by_list) <= 20_000)
    closest = data.draw(st.booleans())
    searched, tried = merge_wide(by_value, numa, closest), merge_by_permutation(by_list, numa, closest)
    assert searched.hint == tried.hint
    assert searched.best_non_preferred_affinity_count == tried.best_non_preferred_affinity_count
    assert searched.permutations == tried.permutations


@given(device_lists())
def test_hints_as_a_value_are_the_listed_ones(
    case: tuple[dict[str, Device], set[str], set[str], tuple[int, ...], int],
) -> None:
    devices, available, reusable, nodes, request = case
    places = {id_: device.numa_nodes for id_, device in devices.items()}
    listed = generate_topology_hints("r", request, places, available, reusable, nodes)
    value = wide_topology_hints("r", request, places, available, reusable, nodes)
    assert value.min_affinity_size == listed.min_affinity_size
    assert tuple(value.hints or ()) == listed.hints
    assert hint_count(value.hints) == hint_count(listed.hints)
    assert written_out(value.hints) == written_out(listed.hints)[:64]


def is_and_of_one_hint_each(filtered: Sequence[FilteredHints], wanted: int, everything: int) -> bool:
    """Whether some choice of one hint a resource has exactly this AND: every AND of the resources so far is tried."""
    reached = {everything}
    for resource in filtered:
        masks = {everything if h.numa_node_affinity is None else h.numa_node_affinity for h in resource.hints}
        reached = {so_far & mask for so_far in reached for mask in masks}
    return wanted in reached


def same_preferred_mask(filtered: Sequence[FilteredHints], wanted: int, everything: int) -> bool:
    """Whether every resource has a preferred hint that is anywhere or one common mask that comes to `wanted`."""
    choices = [{h.numa_node_affinity for h in r.hints if h.preferred} for r in filtered]
    common = {
        mask for choice in choices for mask in choice if mask is not None and mask & everything == wanted
    }
    return any(all(mask in choice or None in choice for choice in choices) for mask in common) or (
        wanted == everything and all(None in choice for choice in choices)
    )
