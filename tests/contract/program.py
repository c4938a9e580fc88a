"""A command line tool as a process, fed by hand."""

import subprocess
from collections.abc import Sequence
from typing import Any

from tests.contract.harness import PATIENCE

__all__ = ["STARTED", "Program"]

STARTED: list["subprocess.Popen[str]"] = []
"""What was started; whatever a failed test leaves of it is ended by a fixture (conftest.py)."""


class Program:
    """The process: `say` writes a line, `readline` reads one, `end` waits for its exit code."""

    def __init__(self, command: Sequence[str], **settings: Any) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process: subprocess.Popen[str] = subprocess.Popen(command, text=True, **(pipes | settings))
        STARTED.append(self.process)

    def say(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def readline(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline()

    def end(self) -> int:
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe:
                    pipe.close()
