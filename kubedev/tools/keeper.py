"""A keeper of somebody else's program: a small process between it and us, which leaves nothing of it behind.

The keeper starts the program, hands on signals, and says how it ended. When we are gone, however that came about, it
ends the program with all that this has started, and removes a folder. It runs this file alone, on the standard library.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

__all__ = ["Keeper", "adopt_orphans"]

SUBREAPER = 36  # man 2 prctl: PR_SET_CHILD_SUBREAPER
KEPT_LINES = 200

OnEvent = Callable[[str, int | str], None]


class Keeper:
    """The handle on a keeper. `on_event` is called on a thread with `failed` and why, or `ended` and the exit code,
    which is below 0 for a signal.
    """

    def __init__(self, command: Sequence[str], folder: str, on_event: OnEvent) -> None:
        self._on_event = on_event
        self._words: deque[str] = deque(maxlen=KEPT_LINES)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, folder, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for us, who end the program in order
        )
        self._threads = [
            threading.Thread(target=run, name=run.__name__, daemon=True) for run in (self._read, self._listen)
        ]
        for thread in self._threads:
            thread.start()

    def start(self) -> None:
        """Start the program, which does not run now."""
        self._say("start")

    def signal(self, number: int) -> None:
        """Send a signal to the program's first process, as a container's runtime does."""
        self._say(f"signal {number}")

    def words(self) -> tuple[str, ...]:
        """The last lines that the program printed."""
        return tuple(self._words)

    def close(self) -> None:
        """End the program and all that it started, remove the folder, and wait until that is done."""
        assert self._process.stdin
        with suppress(OSError):
            self._process.stdin.close()
        self._process.wait()
        for thread in self._threads:
            thread.join(1)  # a pipe that somebody else still holds is not waited for

    def _say(self, line: str) -> None:
        assert self._process.stdin
        with suppress(OSError, ValueError):
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            event, value = json.loads(line)
            self._on_event(event, value)

    def _read(self) -> None:
        assert self._process.stderr
        while line := self._process.stderr.readline(4096):
            self._words.append(line.decode(errors="replace").rstrip())


# The keeper's own process


class _Kept:
    def __init__(self, folder: str, command: Sequence[str]) -> None:
        self._folder = folder
        self._command = command
        self._pid: int | None = None

    def run(self) -> None:
        """Work until nobody writes to standard input any more."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        adopt_orphans()
        rest = b""
        while True:
            ready, _, _ = select.select([0, reader], [], [])
            if reader in ready:
                os.read(reader, 4096)
                self._reap()
            if 0 in ready:
                data = os.read(0, 4096)
                if not data:
                    break
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._obey(line.decode())
        self._pid = None
        _end_all()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _obey(self, line: str) -> None:
        if line == "start":
            try:
                process = subprocess.Popen(
                    self._command, stdin=subprocess.DEVNULL, stdout=2, stderr=2, start_new_session=True
                )
            except (OSError, ValueError) as error:
                _tell("failed", getattr(error, "strerror", None) or str(error))
                return
            self._pid = process.pid
            process.returncode = 0  # it is waited for here
        elif self._pid is not None:
            with suppress(OSError):
                os.kill(self._pid, int(line.split()[1]))

    def _reap(self) -> None:
        for pid, status in _reaped():
            if pid == self._pid:
                self._pid = None
                _end_all()  # as in a container, whose first process takes the others with it
                _tell("ended", os.waitstatus_to_exitcode(status))


def _tell(event: str, value: int | str) -> None:
    with suppress(OSError):
        os.write(1, json.dumps([event, value]).encode() + b"\n")


def _reaped() -> list[tuple[int, int]]:
    found = []
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            found.append(ended)
    return found


def adopt_orphans() -> None:
    """Become the parent of processes whose parent ended, so that they are found."""
    with suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def _end_all() -> None:
    """Kill every process that descends from this one, until there is none."""
    for _ in range(200):
        alive = _descendants()
        for pid in alive:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        _reaped()
        if not alive:
            return
        time.sleep(0.01)


def _descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdecimal():
            with suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
                if state != b"Z":
                    children.setdefault(int(parent), []).append(int(name))
    found = list(children.get(os.getpid(), ()))
    for pid in found:
        found.extend(children.get(pid, ()))
    return found


if __name__ == "__main__":
    _Kept(sys.argv[1], sys.argv[2:]).run()
