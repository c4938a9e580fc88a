"""The container runtime of a lab: a container is a real process of kubedev's own small program."""

import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kubedev.cluster.state import passable
from kubedev.wire import container_program

__all__ = ["Follower", "MemoryRuntime", "ProcessRuntime", "Runtime"]

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Follower:
    """Who is told of a container: its pid (None without a process), each line that it prints, and its exit code."""

    started: Callable[[int | None], None]
    printed: Callable[[str], None]
    ended: Callable[[int], None]


START_ERROR = 128  # the exit code that a real runtime gives to a container whose process cannot be started


class Runtime(Protocol):
    """Starts and stops containers; a follower is told of the pid, each line, and the exit code at last."""

    def start(self, key: Key, pod: str, envs: Mapping[str, str], stays: bool, follower: Follower) -> None:
        """Start the container `key` (pod uid and name). With `stays` it runs until it is stopped."""

    def stop(self, key: Key) -> None:
        """Ask a container to end."""

    def kill(self, key: Key) -> None:
        """End a container at once; that it has ended is known."""

    def close(self) -> None:
        """End all containers and wait for them."""


class ProcessRuntime:
    """Containers as processes. A manifest's own command is never executed."""

    def __init__(self) -> None:
        self._processes: dict[Key, subprocess.Popen[str]] = {}
        self._threads: list[threading.Thread] = []

    def start(self, key: Key, pod: str, envs: Mapping[str, str], stays: bool, follower: Follower) -> None:
        command = [sys.executable, "-I", "-S", container_program.__file__, pod, key[1]]
        try:
            process = subprocess.Popen(
                [*command, "stays" if stays else "ends"],
                env=passable(envs),
                cwd=Path("/"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="backslashreplace",
                start_new_session=True,  # an interrupt is for the parent, and a kernel that ends must not restart it
            )
        except OSError as error:  # an environment that is too large, for example
            follower.started(None)
            follower.printed(f"cannot be started: {error.strerror}")
            follower.ended(START_ERROR)
            return
        self._processes[key] = process

        def follow() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                follower.printed(line.rstrip("\n"))
            code = process.wait()
            process.stdout.close()
            if process.stdin is not None:
                process.stdin.close()
            if self._processes.get(key) is process:
                del self._processes[key]
            follower.ended(code)

        follower.started(process.pid)
        self._threads = [t for t in self._threads if t.is_alive()]
        thread = threading.Thread(target=follow, name=f"container {key[1]} of {pod}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def stop(self, key: Key) -> None:
        if key in self._processes:
            self._processes[key].terminate()

    def kill(self, key: Key) -> None:
        if key in self._processes:
            self._processes[key].kill()

    def close(self) -> None:
        for process in list(self._processes.values()):
            process.kill()
        for thread in self._threads:
            thread.join()


class MemoryRuntime:
    """The same without processes: for a fork, which never rewinds a real one, and where there are none."""

    def __init__(self) -> None:
        self._running: dict[Key, Follower] = {}

    def start(self, key: Key, pod: str, envs: Mapping[str, str], stays: bool, follower: Follower) -> None:
        follower.started(None)
        for line in container_program.lines(pod, key[1], passable(envs), stays):
            follower.printed(line)
        if stays:
            self._running[key] = follower
        else:
            follower.ended(0)

    def running(self) -> set[Key]:
        """The containers that run."""
        return set(self._running)

    def end(self, key: Key, code: int) -> None:
        """End a running container with an exit code."""
        self._running.pop(key).ended(code)

    def stop(self, key: Key) -> None:
        if key in self._running:
            self.end(key, 0)

    def kill(self, key: Key) -> None:
        self._running.pop(key, None)

    def close(self) -> None:
        self._running.clear()
