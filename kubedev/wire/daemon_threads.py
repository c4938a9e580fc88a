"""An executor for servers whose calls may last as long as the process.

Python's own pool has the process wait for its threads before it calls what was registered with atexit: a server
in whose calls somebody waits for the other end would keep the process from ever ending.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar

__all__ = ["DaemonThreads"]

P = ParamSpec("P")
T = TypeVar("T")


class DaemonThreads(Executor):
    """Runs each call on a thread of its own, which does not keep the process alive."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._threads: set[threading.Thread] = set()
        self._lock = threading.Lock()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Start a call; its outcome is in the future."""
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)
            finally:
                with self._lock:
                    self._threads.discard(thread)

        thread = threading.Thread(target=run, name=self._name, daemon=True)
        with self._lock:
            self._threads.add(thread)
        future.set_running_or_notify_cancel()
        thread.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for the calls that are under way. None is cancelled, since each has begun."""
        with self._lock:
            threads = list(self._threads)
        for thread in threads if wait else ():
            thread.join()
