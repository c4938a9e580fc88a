"""A `kubedev lab` of the tests' own, and what a run leaves behind."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil

MARK = "KUBEDEV_TEST_RUN"
ADDRESS = re.compile(r"(http://127\.0\.0\.1:(\d+))/lab/tree/(\S+)\?token=(\w+)")


class LabServer:
    """`kubedev lab` as a process with a home of its own; every process it starts can be found by a mark.

    `folder` is where its notebook is, if it is told one.
    """

    def __init__(
        self,
        notebook: Path | None,
        home: Path,
        *arguments: str,
        command: tuple[str, ...] = (),
        cwd: Path | None = None,
    ):
        self.mark = uuid4().hex
        self.folder = notebook.parent if notebook else Path()
        command = command or (sys.executable, "-m", "kubedev")
        settings = home.with_name(f"{home.name}-settings")
        settings.mkdir(parents=True, exist_ok=True)
        (settings / "jupyter_lab_config.json").write_text('{"LabApp": {"expose_app_in_browser": true}}')
        self.process = subprocess.Popen(
            [*command, "lab", *([str(notebook)] if notebook else []), "--no-browser", *arguments],
            env={**private_environment(home), MARK: self.mark, "JUPYTER_CONFIG_PATH": str(settings)},
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.printed = ""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.printed += line
            if found := ADDRESS.search(line):
                self.url, self.base, self.port = found[0], found[1], int(found[2])
                self.page, self.token = found[3], found[4]
                return
        raise AssertionError(f"kubedev lab printed no address:\n{self.printed}")

    def api(self, path: str, data: dict[str, Any] | None = None, method: str | None = None) -> Any:
        """The server's answer, from JSON, to a request with its token."""
        body = json.dumps(data).encode() if data is not None else None
        request = urllib.request.Request(f"{self.base}{path}", body, method=method)
        request.add_header("Authorization", f"token {self.token}")
        with urllib.request.urlopen(request, timeout=20) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def start_kernel(self, notebook: str) -> str:
        """Open a notebook's session, as a browser does; the kernel's id."""
        kernel = {"name": "python3"}
        session = self.api(
            "/api/sessions", {"path": notebook, "name": notebook, "type": "notebook", "kernel": kernel}
        )
        return str(session["kernel"]["id"])

    def end_kernels(self) -> None:
        """End all sessions with their kernels."""
        for session in self.api("/api/sessions"):
            self.api(f"/api/sessions/{session['id']}", method="DELETE")

    def stop(self, number: int = signal.SIGINT) -> int:
        """Send a signal and wait for the end; the exit code."""
        self.process.send_signal(number)
        try:
            rest, _ = self.process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.printed += rest
        return self.process.returncode


def private_environment(home: Path) -> dict[str, str]:
    """This process's environment with another home, so that nobody's own settings play a part."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "XDG_"))}
    return kept | {"HOME": str(home), "IPYTHONDIR": str(home / "ipython")}


def marked(mark: str) -> Iterator[psutil.Process]:
    """The processes started under a mark, whoever their parent is by now."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                yield process


def left_over(mark: str, seconds: float = 5) -> list[str]:
    """The command lines of the processes under a mark that are still there after some seconds."""
    end = time.monotonic() + seconds
    while (there := [" ".join(process.cmdline()) for process in marked(mark)]) and time.monotonic() < end:
        time.sleep(0.1)
    return there
