"""What all tests share."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).parents[1]

# A shell starts what is in the background with SIGINT ignored, and what is started from here would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is slow now and then; that says nothing about the code. CI says the same of a commit each time, while
# everybody else's run tries something new.
hypothesis.settings.register_profile("kubedev", deadline=None, derandomize=bool(os.environ.get("CI")))
hypothesis.settings.load_profile("kubedev")


@pytest.fixture(autouse=True)
def _signals_as_before() -> Iterator[None]:
    """A command that a test calls in this process takes the signals, which then are the tests' own again."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTTIN)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)


@pytest.fixture(scope="session")
def real_manifests() -> Path:
    """A folder with manifests that people really use; named by the environment, since it is not part of kubedev."""
    folder = os.environ.get("KUBEDEV_REAL_MANIFESTS")
    if not folder:
        pytest.skip("KUBEDEV_REAL_MANIFESTS names no folder with real manifests")
    return Path(folder)
