"""`kubedev lab` as a process: who may reach it, what it leaves behind, and what it leaves alone."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import psutil
import pytest

from kubedev.tools import lab as launch
from tests.conftest import ROOT
from tests.lab_server import LabServer, left_over, marked

T = TypeVar("T")


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("labs") / "00-one.ipynb"
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    path.write_text(
        json.dumps({"cells": [], "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5})
    )
    return path


def runtime_folder(process: psutil.Process) -> Path:
    """The private folder that a kernel has its connection file in."""
    return Path(next(argument for argument in process.cmdline() if argument.endswith(".json"))).parent


def wait_for(condition: Callable[[], T], seconds: float = 30) -> T:
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


def kernel_of(server: LabServer, notebook: str) -> psutil.Process:
    def started() -> psutil.Process | None:
        return next(
            (p for p in marked(server.mark) if any("ipykernel" in word for word in p.cmdline())), None
        )

    server.start_kernel(notebook)
    kernel = wait_for(started)
    assert kernel is not None
    return kernel


def listening(*processes: psutil.Process) -> set[str]:
    """The addresses on which processes listen by TCP."""
    connections = [connection for process in processes for connection in process.net_connections("tcp")]
    return {connection.laddr.ip for connection in connections if connection.status == psutil.CONN_LISTEN}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.slow
def test_a_stop_leaves_no_process_file_or_port(notebook: Path, tmp_path: Path, number: int) -> None:
    server = LabServer(notebook, tmp_path / "home")
    private = runtime_folder(kernel_of(server, notebook.name))
    assert private.stat().st_mode & 0o777 == 0o700
    assert server.stop(number) == 0
    assert server.printed.rstrip().endswith("Stopped.")
    assert left_over(server.mark) == []
    assert not private.exists()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port), timeout=5)


def test_u23_a_stop_before_the_server_is_there_leaves_nothing(notebook: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kubedev", "lab", str(notebook), "--no-browser"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env={"TMPDIR": str(tmp_path), "PATH": ""}, text=True
    ) as early:
        assert early.stdout is not None
        assert early.stdout.readline() == "Starting JupyterLab ...\n"
        early.send_signal(signal.SIGTERM)
        assert early.wait(timeout=30) == 130


@pytest.mark.slow
def test_only_this_machine_with_the_token_gets_in(notebook: Path, tmp_path: Path) -> None:
    server = LabServer(notebook, tmp_path / "home")
    process, kernel = psutil.Process(server.process.pid), kernel_of(server, notebook.name)
    channels = [
        f"{name}-ipc-{i}" for name in [kernel.cmdline()[-1].removesuffix(".json")] for i in range(1, 6)
    ]
    wait_for(lambda: all(map(os.path.exists, channels)))  # they are no ports
    assert listening(process, kernel) == {"127.0.0.1"}
    assert server.token not in " ".join(process.cmdline())  # others could read it there
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{server.base}/api/contents", timeout=10)
    assert refused.value.code == 403
    assert [file["name"] for file in server.api("/api/contents")["content"]] == ["00-one.ipynb"]
    server.stop()


@pytest.mark.slow
def test_a_port_in_use_is_left_to_its_owner(notebook: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as owner:
        taken = owner.getsockname()[1]
        server = LabServer(notebook, tmp_path / "home", "--port", str(taken))
        assert server.port != taken
        assert server.api("/api/contents")["content"]
        server.stop()


TAKEN_MEANWHILE = """
import socket, sys
from jupyter_server.serverapp import ServerApp
find, taken = ServerApp._find_http_port, []
def and_another_is_quicker(self):
    find(self)
    if not taken:
        taken.append(socket.create_server((self.ip, self.port)))
        print("taken:", self.port, flush=True)
ServerApp._find_http_port = and_another_is_quicker
from kubedev.__main__ import main
sys.exit(main())
"""


@pytest.mark.slow
def test_a_port_that_another_takes_in_the_same_moment_is_left_to_it(notebook: Path, tmp_path: Path) -> None:
    server = LabServer(notebook, tmp_path / "home", command=(sys.executable, "-c", TAKEN_MEANWHILE))
    taken = int(server.printed.partition("taken: ")[2].split()[0])
    assert server.port != taken
    assert server.api("/api/contents")["content"]
    server.stop()


@pytest.mark.slow
def test_two_at_once_do_not_meet(notebook: Path, tmp_path: Path) -> None:
    first, second = LabServer(notebook, tmp_path / "home"), LabServer(notebook, tmp_path / "home")
    first.start_kernel(notebook.name)
    first.stop()
    assert second.api("/api/kernels") == []
    second.stop()


@pytest.mark.slow
def test_the_layout_is_clean_and_the_users_own_is_not_touched(notebook: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    mine = (
        home
        / ".jupyter"
        / "lab"
        / "user-settings"
        / "@jupyterlab"
        / "apputils-extension"
        / "themes.jupyterlab-settings"
    )
    mine.parent.mkdir(parents=True)
    mine.write_text('{"theme": "JupyterLab Dark"}')
    server = LabServer(notebook, home)
    settings = server.api("/lab/api/settings/@jupyterlab/apputils-extension:notification")
    defaults = settings["schema"]["properties"]
    assert defaults["fetchNews"]["default"] == "false"
    assert defaults["checkForUpdates"]["default"] is False
    themes = server.api("/lab/api/settings/@jupyterlab/apputils-extension:themes")
    assert themes["settings"] == {"theme": "JupyterLab Dark"}
    layout = server.api("/lab/api/workspaces/default")["data"]["layout-restorer:data"]
    assert layout["left"] == {"collapsed": True}
    server.api("/lab/api/workspaces/default", {"data": {}, "metadata": {"id": "default"}}, "PUT")
    server.stop()
    assert [path for path in (home / ".jupyter").rglob("*") if path.is_file()] == [mine]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("77",), "no lab '77': expected a number"),
        (("--port", "x"), "argument --port: invalid int value: 'x'"),
    ],
)
def test_bad_arguments_start_nothing(
    given: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        launch.main(given)
    assert end.value.code == 2
    assert expected in capsys.readouterr().err


def test_from_the_source_the_labs_are_its_own() -> None:
    assert launch.own_labs() == ROOT / "labs"


def test_from_a_wheel_the_labs_are_copied_to_a_folder_that_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shipped, here = tmp_path / "shipped", tmp_path / "here"
    for folder in (shipped, here):
        folder.mkdir()
    (shipped / "00-one.ipynb").write_text("new")
    monkeypatch.setattr(launch, "shipped", lambda: shipped)
    monkeypatch.setattr(launch, "is_installed", lambda: True)
    monkeypatch.chdir(here)
    assert launch.own_labs() == here / "kubedev-labs"
    assert "Copied 1 files" in capsys.readouterr().out
    (here / "kubedev-labs" / "00-one.ipynb").write_text("mine")
    launch.own_labs()
    assert capsys.readouterr().out == ""
    assert (here / "kubedev-labs" / "00-one.ipynb").read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shipped").mkdir()
    (tmp_path / "shipped" / "00-one.ipynb").write_text("new")
    (tmp_path / "kubedev-labs").write_text("a file in the way")
    monkeypatch.setattr(launch, "shipped", lambda: tmp_path / "shipped")
    monkeypatch.setattr(launch, "is_installed", lambda: True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        launch.main(["00"])
    assert end.value.code == 2
    assert "kubedev-labs" in capsys.readouterr().err
