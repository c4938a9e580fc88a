"""A short soak: threads and descriptors end where they were, memory is flat once the history is full."""

import pytest

from tests.bench.soak import soak


@pytest.mark.slow
def test_a_short_soak_in_memory_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubedev.cluster.history.ROOM", 60_000)
    figures = list(soak(20, 4, "memory"))
    assert len({f.threads for f in figures}) == 1
    assert len({f.descriptors for f in figures}) == 1
    assert figures[-1].memory < 1.3 * figures[1].memory
