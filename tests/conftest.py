"""What all tests share."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


# Two workers share a browser's tests first, since those take longest; what is short fills the gap at the end.
LONGEST_FIRST = ("tests/browser/test_labs.py", "tests/browser", "tests/notebooks", "tests/contract", "tests")


def place_in_order(nodeid: str) -> int:
    """The place of a test among those that take longest."""
    return next(place for place, start in enumerate((*LONGEST_FIRST, "")) if nodeid.startswith(start))


def scope_of(nodeid: str) -> str:
    """What goes to one worker, since it shares what is started: a module, a class, or a class with one parameter."""
    test, _, parameters = nodeid.partition("[")
    scope = test.rpartition("::")[0]
    return f"{scope}[{parameters}" if "::" in scope and parameters else scope


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("PYTEST_XDIST_WORKER"):
        items.sort(key=lambda item: place_in_order(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """`--dist loadscope` as it is, but for a scope's bounds and the order in which scopes are begun."""
    if config.getvalue("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False

    class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

    return Scheduling(config, log)


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
