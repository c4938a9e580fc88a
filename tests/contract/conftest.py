"""What all contract tests have: a short, private directory, and an end for what a failed test left."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubedev.wire.sockets import private_directory
from tests.contract.program import STARTED


@pytest.fixture
def directory() -> Iterator[Path]:
    """A socket directory."""
    path = Path(private_directory())
    yield path
    shutil.rmtree(path)


@pytest.fixture(autouse=True)
def _end_what_a_failed_test_left() -> Iterator[None]:
    yield
    while STARTED:
        STARTED.pop().kill()
