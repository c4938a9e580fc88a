"""Values that are changed by making others: the map that shares what did not change, replace, and the active queue."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kubedev.api.objects import Pod
from kubedev.api.requests import Resource, summed
from kubedev.api.values import SharedMap, replace, with_item, without_item
from kubedev.scheduler.queue.active import ActiveQueue
from kubedev.scheduler.queue.queued_pod import QueuedPod, less

keys = st.integers(0, 400)
changes = st.lists(st.tuples(keys, st.booleans()), max_size=300)


def told(
    start: int, ops: list[tuple[int, bool]]
) -> Iterator[tuple[dict[int, object], SharedMap[int, object]]]:
    """A dict and a map of so many items, changed side by side."""
    plain: dict[int, object] = {key: object() for key in range(start)}
    shared = SharedMap(plain)
    yield dict(plain), shared
    for key, comes in ops:
        if comes:
            plain[key] = object()
            shared = shared.with_item(key, plain[key])
        elif key in plain:
            del plain[key]
            shared = shared.without(key)
        yield dict(plain), shared


@given(st.sampled_from([0, 1, 127, 128, 300]), changes)
@example(0, [(key, True) for key in range(300)])
def test_a_shared_map_is_what_a_dict_is_in_the_same_order_and_older_ones_stay(
    start: int, ops: list[tuple[int, bool]]
) -> None:
    seen = list(told(start, ops))
    for plain, shared in seen:
        assert list(shared.items()) == list(plain.items())
        assert (list(shared), list(shared.values()), len(shared)) == (
            list(plain),
            [*plain.values()],
            len(plain),
        )
        assert shared == plain
        assert all(shared[key] is value and shared.get(key) is value for key, value in plain.items())
        assert (500 in shared, shared.get(500), shared.get(500, 1)) == (False, None, 1)
    oldest, newest = seen[0], seen[-1]
    different = {key for key, value in newest[0].items() if oldest[0].get(key) is not value}
    assert set(newest[1].changed_since(oldest[1])) == different


def test_what_is_not_in_a_shared_map_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="'b'"):
        SharedMap({"a": 1})["b"]
    with pytest.raises(KeyError, match="'b'"):
        without_item({"a": 1}, "b")
    assert with_item({"a": 1}, "b", 2) == {"a": 1, "b": 2}


@dataclass(frozen=True, slots=True)
class Thing:
    size: int = 0
    name: str = ""
    double: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "double", 2 * self.size)


@dataclass(frozen=True, slots=True)
class One:
    only: tuple[int, ...] = ()


def test_replace_changes_what_it_is_told_and_works_out_the_rest_again() -> None:
    thing = replace(Thing(2, name="a"), size=3)
    assert (thing.size, thing.name, thing.double) == (3, "a", 6)
    assert replace(One((1, 2))) == One((1, 2))
    assert replace(One(), only=(3,)) == One((3,))
    with pytest.raises(TypeError, match="colour"):
        replace(Thing(), colour=1)  # type: ignore[call-arg]


priorities = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 2), st.integers(0, 2), st.sampled_from("awp"))
)


@given(priorities)
def test_the_active_queue_gives_the_first_by_priority_time_and_arrival(
    ops: list[tuple[int, int, int, str]],
) -> None:
    queue, model, came = ActiveQueue(), dict[str, tuple[int, QueuedPod]](), count()
    for name, priority, at, what in ops:
        queued = QueuedPod(Pod(f"p{name}", priority=priority), at)
        if what == "a":
            queue, _ = queue.with_pod(queued), model.pop(queued.key, None)
            model[queued.key] = next(came), queued
        elif what == "w" and queued.key in model:
            queue, _ = queue.without(queued.key), model.pop(queued.key)
        elif what == "p" and (first := queue.first()) is not None:
            queue, _ = queue.without(first.key), model.pop(first.key)
        assert dict(queue) == {key: one for key, (_, one) in model.items()}
        first = queue.first()
        assert (first is None) == (not model)
        if first is not None:
            mine = model[first.key][0]
            for number, other in model.values():
                assert not less(other, first)
                assert less(first, other) or mine <= number


def test_the_active_queue_forgets_pods_that_left_from_its_middle() -> None:
    queue = ActiveQueue().with_pod(QueuedPod(Pod("first", priority=9), 0))
    for i in range(1000):
        queue = queue.with_pod(QueuedPod(Pod("p"), i))
    assert len(queue) == 2
    assert queue._in_heap <= 2 * 2 + 64 + 1


huge = st.integers(-(2**63), 2**63 - 1)
resources = st.builds(Resource, huge, huge, huge, huge, st.dictionaries(st.sampled_from("ab"), huge))


@given(st.lists(resources, max_size=5))
def test_resources_summed_at_once_are_those_added_one_after_another(given: list[Resource]) -> None:
    one_by_one = Resource()
    for one in given:
        one_by_one = one_by_one.plus(one)
    assert summed(given) == one_by_one
