"""Every built family of vectors agrees in full."""

import pytest

from tests.vectors import runner

ABSENT = "the recorded vectors are not here: they are in the repository, and too large for the archive of its sources"


FAMILIES = [family for family in runner.FAMILIES if runner.is_built(family)]


@pytest.mark.parametrize("family", FAMILIES or [pytest.param("", marks=pytest.mark.skip(reason=ABSENT))])
def test_family(family: str) -> None:
    result = runner.run(runner.HERE / f"{family}.json", family)
    assert result.total > 0
    assert result.differences == []
