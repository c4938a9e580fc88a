"""Every built family of vectors agrees in full."""

import pytest

from tests.vectors import runner


@pytest.mark.parametrize("family", [f for f in runner.FAMILIES if runner.is_built(f)])
def test_family(family: str) -> None:
    result = runner.run(runner.HERE / f"{family}.json", family)
    assert result.total > 0
    assert result.differences == []
