"""How a plugin sees that its kubelet has restarted: kubelet.sock was made anew."""

import os
import threading
from collections.abc import Callable
from contextlib import suppress

__all__ = ["KubeletWatch", "identity"]

# What lies at a path: inode and time of making, or None. Another one there means: another kubelet.
Identity = tuple[int, int] | None


def identity(path: str) -> Identity:
    """Tells one kubelet.sock from the next one. Raises OSError where none is seen, or may not be seen."""
    status = os.stat(path)
    return status.st_ino, status.st_mtime_ns


class KubeletWatch:
    """Watches the directory of kubelet.sock on a thread; calls `on_change` when something changed there."""

    def __init__(self, directory: str, on_change: Callable[[], None]) -> None:
        self._directory = directory
        self._on_change = on_change
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, if it has not begun."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"watch {self._directory}", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread, and wait for it."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        """A directory that is missing or may not be read, or was made anew, is looked at twice a second."""
        while not self._stopping.is_set():
            inode = self._inode()
            if inode is not None:
                with suppress(OSError, RuntimeError):  # it may not be read, or the system has no more watches
                    self._watch(inode)
            self._on_change()
            self._stopping.wait(0.5)

    def _watch(self, inode: int) -> None:
        from watchfiles import watch  # late, so that its import does not delay the first registration

        changes = watch(
            self._directory,
            watch_filter=None,
            recursive=False,
            rust_timeout=1000,
            yield_on_timeout=True,  # so that a change before it began is seen a second later
            stop_event=self._stopping,
        )
        for _ in changes:
            self._on_change()
            if self._inode() != inode:
                return

    def _inode(self) -> int | None:
        try:
            return os.stat(self._directory).st_ino
        except OSError:
            return None
