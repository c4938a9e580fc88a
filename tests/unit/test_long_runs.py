"""Nothing of a run grows without bound: its history, its messages."""

import gc
import sys

import pytest

from kubedev.api.messages import HEALTHY, UNHEALTHY
from kubedev.cluster import events as e
from kubedev.cluster import history, journal
from kubedev.cluster.history import History
from kubedev.cluster.journal import Journal
from kubedev.lab.session import Lab

GPU = "example.com/gpu"


def test_a_longer_journal_shares_what_stands_before_it_and_leaves_it_alone() -> None:
    first = Journal([1, 2])
    second, third = first.with_more([3]), first.with_more([4, 5])
    assert (list(first), list(second), list(third)) == ([1, 2], [1, 2, 3], [1, 2, 4, 5])
    assert (second[-1], third[1:3], len(third)) == (3, (2, 4), 4)
    assert first.with_more([3]) == second != third
    assert list(reversed(third)) == [5, 4, 2, 1]
    with pytest.raises(IndexError):
        second[3]


def test_a_very_long_journal_keeps_its_newest_items_and_their_indices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(journal, "KEPT", 10)
    items: Journal[int] = Journal()
    for number in range(1000):
        items = items.with_more([number])
    assert len(items) == 1000
    assert items[-1] == items[999] == 999
    assert 10 <= len(list(items)) <= 21
    assert list(items) == list(range(1000 - len(list(items)), 1000))
    assert items.dropped == 1000 - len(list(items))
    with pytest.raises(IndexError, match="expected an index from"):
        items[3]


def test_a_very_long_history_drops_its_oldest_steps_and_can_still_be_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(history, "ROOM", 300 * history.BESIDES)
    with Lab("long", nodes=1, transport="memory") as lab:
        lab.plugin(GPU, 2)
        early = lab.run()
        for number in range(120):
            lab.set_health("d0", healthy=number % 2 == 1)
        steps = lab.history
        assert len(steps) > 400
        assert steps.first > early.start
        assert len(steps) - steps.first <= 300
        assert lab.message_steps()[0] == steps.first
        lab.back()
        lab.back()
        at = lab.position
        lab.set_health("d1", healthy=False)
        assert isinstance(lab.history[at + 1].event, e.HealthSet)
        lab.back_to_live()
        with pytest.raises(IndexError, match="expected a step from"):
            lab.seek(0)
        again = History.from_json(steps.to_json())
        assert (again.state, len(again), again.first) == (steps.state, len(steps), steps.first)
        health = lab.state.plugins["gpu-node-1", GPU].devices[0].health
        assert health == (HEALTHY if lab.state.idle and number % 2 == 1 else UNHEALTHY)


def test_r1_a_lab_lets_go_of_messages_that_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubedev.cluster.history.ROOM", 3_000)
    monkeypatch.setattr("kubedev.cluster.journal.KEPT", 20)
    with Lab("long", nodes=1, transport="memory") as lab:
        lab.plugin("example.com/gpu", 1)
        first = lab.state.messages[0]
        for _ in range(60):
            for healthy in (False, True):
                lab.set_health("d0", healthy)
        assert lab.state.messages.dropped > 0 < lab.history.first
        gc.collect()
        assert sys.getrefcount(first) == 2, "nobody but this test holds it"
