"""Every command walked through: what is wrong is said in a sentence, and nothing is left behind."""

import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from kubedev.wire.owned import owned_folder, sweep
from kubedev.wire.sockets import CHECKPOINT, private_directory
from tests.contract.harness import PATIENCE
from tests.contract.program import STARTED
from tests.lab_server import MARK, left_over

HEAVY = [pytest.param(command, marks=pytest.mark.slow) for command in ("lab", "run", "slides")]
COMMANDS = ["kubelet", "plugin", "devices", "check-plugin", *HEAVY]
KUBEDEV = (sys.executable, "-m", "kubedev")
PYTHONS_WORDS = re.compile(r"Traceback|Errno|\b[A-Z]\w+(Error|Exception|Interrupt)\b|<class|\bb'")
NOTEBOOK = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


@dataclass
class Place:
    """Where a command is tried: an empty folder to stand in, one for temporary files, one as home."""

    folder: Path
    temporary: Path
    home: Path

    def environment(self) -> dict[str, str]:
        ours = {"HOME": str(self.home), "TMPDIR": str(self.temporary), MARK: self.temporary.name}
        return {**os.environ, **ours, "COLUMNS": "200"}

    def run(self, *arguments: str, **settings: object) -> "subprocess.CompletedProcess[str]":
        given = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "env": self.environment(),
            **settings,
        }
        return subprocess.run(  # type: ignore[call-overload, no-any-return]
            [*KUBEDEV, *arguments], stderr=subprocess.PIPE, text=True, timeout=120, cwd=self.folder, **given
        )

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [*KUBEDEV, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=self.environment(),
        )
        STARTED.append(process)
        return process

    def notebook(self, name: str, *sources: str) -> Path:
        code = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
        cells = [{**code, "id": f"cell-{i}", "source": source} for i, source in enumerate(sources)]
        path = self.folder / f"{name}.ipynb"
        path.write_text(json.dumps({**NOTEBOOK, "cells": cells}))
        return path


@pytest.fixture
def place() -> Iterator[Place]:
    """A place in which nothing is left: no temporary file, no process, nothing in the home."""
    root = Path(private_directory())
    made = Place(*(root / name for name in ("w", root.name[-8:], "h")))
    for path in (made.folder, made.temporary, made.home):
        path.mkdir()
    yield made
    assert [path.name for path in made.temporary.iterdir()] == []
    assert [str(path) for path in made.home.rglob("*")] == []
    assert left_over(made.temporary.name) == []
    subprocess.run(["rm", "-rf", str(root)], check=True)


def is_said(ran: "subprocess.CompletedProcess[str]", code: int, *words: str) -> None:
    """It ended so, said these words, and none of Python's."""
    text = f"{ran.stdout or ''}{ran.stderr}"
    assert ran.returncode == code, text
    assert not PYTHONS_WORDS.search(text), text
    for word in words:
        assert word in text


def test_without_a_command(place: Place) -> None:
    is_said(place.run(), 2, "COMMAND")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_option_is_named(place: Place, command: str) -> None:
    ran = place.run(command, "--dir", "x", "--nonsense\x1b[31m")
    is_said(ran, 2, r"--nonsense\x1b[31m")
    assert "\x1b" not in ran.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_help_on_a_full_disk(place: Place, command: str) -> None:
    with open("/dev/full", "w") as full:
        is_said(
            place.run(command, "--help", stdout=full),
            1,
            "standard output: No space left on device",
        )


@pytest.mark.parametrize("streams", ["<&-", ">&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    "command",
    ["devices --socket no.sock", pytest.param("run 77", marks=pytest.mark.slow), "kubelet --dir x --numa 99"],
)
def test_closed_standard_streams(place: Place, command: str, streams: str) -> None:
    line = f'exec "{sys.executable}" -m kubedev {command} {streams}'
    ran = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, cwd=place.folder, env=place.environment()
    )
    is_said(ran, 1 if command.startswith("devices") else 2)


# Files that are not what they should be


@pytest.mark.parametrize("command", HEAVY)
@pytest.mark.parametrize("kind", ["missing", "directory", "FIFO"])
def test_a_notebook_that_is_none(place: Place, command: str, kind: str) -> None:
    path = place.folder / "x.ipynb"
    if kind == "directory":
        path.mkdir()
    elif kind == "FIFO":
        os.mkfifo(path)
    ran = place.run(command, "x.ipynb")
    if kind == "missing" or command == "lab":
        is_said(ran, 2, "no lab 'x.ipynb': expected a number (00), a name, or the path of")
    else:  # one of several, perhaps: the others are made
        what = "is a directory, expected a file" if kind == "directory" else "Not a regular file"
        is_said(ran, 1, f"cannot be read: {what}")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "slides"])
def test_r8_one_bad_notebook_does_not_stop_the_others(place: Place, command: str) -> None:
    bad = {
        "binary": b"\xff\xfe\x00",
        "empty": b"",
        "list": b"[]",
        "null": b"null",
        "object": b"{}",
        "cells": b'{"cells": 1, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}',
        "cell": b'{"cells": [{}], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}',
        "future": b'{"cells": [], "nbformat": 99, "nbformat_minor": 0, "metadata": {}}',
        "deep": b"[" * 100_000,
    }
    for name, data in bad.items():
        (place.folder / f"{name}.ipynb").write_bytes(data)
    good = place.notebook("good", "1 + 1").name
    ran = place.run(command, *(f"{name}.ipynb" for name in bad), good)
    is_said(ran, 1, "binary", "is not UTF-8 (byte 0)")
    lines = ran.stdout.splitlines()
    assert len(lines) == len(bad) + 1
    assert all("is not a notebook" in line for line in lines[:-1])
    assert "ok" in lines[-1] or "good.html" in lines[-1]


@pytest.mark.slow
def test_r15_an_error_of_a_cell_is_shown_without_its_control_characters(place: Place) -> None:
    lab = place.notebook("bad", "raise ValueError('pod \\x1b[31mred\\x9b1m')")
    ran = place.run("run", lab.name)
    assert ran.returncode == 1
    assert r"ValueError: pod \x1b[31mred\x9b1m" in ran.stdout
    assert "\x1b" not in ran.stdout


@pytest.mark.slow
@pytest.mark.parametrize("out", ["/dev/null", "/dev/null/x", "/proc/nowhere"])
def test_slides_that_cannot_be_written(place: Place, out: str) -> None:
    is_said(place.run("slides", place.notebook("good", "1").name, "--out", out), 2, f"{out}: ")


@pytest.mark.parametrize("kind", ["file", "FIFO", "below a file", "/proc"])
def test_a_socket_directory_that_is_none(place: Place, kind: str) -> None:
    path = place.folder / "d"
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind != "/proc":
        path.touch()
    given = {"below a file": str(path / "x"), "/proc": "/proc/nowhere"}.get(kind, str(path))
    is_said(place.run("kubelet", "--dir", given), 1, f"kubedev kubelet: {given}: ")


@pytest.mark.parametrize("kind", ["missing", "file", "FIFO", "directory", "dead"])
def test_a_kubelet_that_does_not_answer(place: Place, kind: str) -> None:
    path = place.folder / "k.sock"
    said = "is a file, and no socket"
    match kind:
        case "missing":
            said = "there is no such socket"
        case "file":
            path.touch()
        case "FIFO":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
            said = "is a directory, and no socket"
        case "dead":
            socket.socket(socket.AF_UNIX).bind(str(path))
            said = "expected a kubelet that answers List, got: rpc error: code = Unavailable"
    is_said(place.run("devices", "--socket", str(path)), 1, f"kubedev devices: {path}: {said}")


@pytest.mark.parametrize("name", ["d/kubelet.sock", "d/../d/kubelet.sock", "d/kubelet_internal_checkpoint"])
def test_r6_agents_cannot_ask_where_the_kubelet_has_something_of_its_own(place: Place, name: str) -> None:
    ran = place.run("kubelet", "--dir", "d", "--pod-resources", name)
    is_said(ran, 1, "the kubelet needs that path itself", "d/pod-resources/kubelet.sock.")
    assert not (place.folder / "d").exists()


@pytest.mark.parametrize("resource", ["", "a.b/\x1b[31mc", "a.b/c\nd", "a\tb", "\udcff"])
def test_r15_a_plugin_needs_a_resource_that_can_be_printed(place: Place, resource: str) -> None:
    ran = place.run("plugin", "--resource", resource)
    is_said(ran, 2, "--resource: expected a text that can be printed, got ")
    assert "\x1b" not in ran.stderr


@pytest.mark.parametrize("kind", ["missing", "file", "directory", "dead"])
def test_a_plugin_waits_for_a_kubelet(place: Place, kind: str) -> None:
    path = place.folder / "kubelet.sock"
    match kind:
        case "file":
            path.touch()
        case "directory":
            path.mkdir()
        case "dead":
            socket.socket(socket.AF_UNIX).bind(str(path))
    process = place.start("plugin", "--kubelet-socket", str(path))
    assert process.stdout
    events = iter(lambda: json.loads(process.stdout.readline())["event"], "away")
    assert set(events) <= {"serving"}
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, said[1]) == (0, "")
    assert [entry.name for entry in place.folder.iterdir()] in ([], ["kubelet.sock"])


# A full disk, a second one, no home


@pytest.mark.parametrize("command", ["kubelet --dir d", "plugin --kubelet-socket d/kubelet.sock"])
def test_a_tool_on_a_full_disk_ends_and_says_why(place: Place, command: str) -> None:
    with open("/dev/full", "w") as full:
        is_said(place.run(*command.split(), stdout=full), 1, "standard output: No space left on device")
    assert [path.name for path in place.folder.rglob("*") if path.is_socket()] == []


def test_a_second_kubelet_is_refused_and_the_first_goes_on(place: Place) -> None:
    first = place.start("kubelet", "--dir", "d")
    assert first.stdout
    assert "listening" in first.stdout.readline()
    is_said(place.run("kubelet", "--dir", "d"), 1, "a kubelet serves here already")
    first.terminate()
    assert first.communicate(timeout=PATIENCE)[1] == ""
    assert first.returncode == 0
    assert list((place.folder / "d").iterdir()) == []


@pytest.mark.slow
def test_r16_a_run_needs_no_home_and_writes_nothing_into_one(place: Place) -> None:
    lab = place.notebook("good", "import IPython, os; IPython.get_ipython().history_manager")
    is_said(place.run("run", lab.name), 0, "ok")
    without = {name: value for name, value in place.environment().items() if name != "HOME"}
    is_said(place.run("run", lab.name, env={**without, "HOME": "/proc/nowhere"}), 0, "ok")


@pytest.mark.slow
def test_a_second_lab_has_an_address_of_its_own(place: Place) -> None:
    lab = place.notebook("good", "1")
    there, addresses = [], []
    for _ in range(2):  # one after the other: Jupyter looks for a free port first and takes it later
        there.append(place.start("lab", "--no-browser", lab.name))
        addresses.append(re.search(r"http://\S+", "".join(iter(address_of(there[-1]), ""))))
    assert None not in addresses
    assert len({found[0].partition("?")[0] for found in addresses if found}) == 2
    for process in there:
        ended_by(process, signal.SIGINT, patience=PATIENCE)
        assert process.returncode in (0, 130)


def address_of(process: "subprocess.Popen[str]") -> Callable[[], str]:
    """Lines up to the one with an address, then nothing."""
    seen: list[str] = []

    def line() -> str:
        assert process.stdout
        if seen and "http://" in seen[-1]:
            return ""
        seen.append(process.stdout.readline())
        return seen[-1]

    return line


def test_r9_the_current_directory_was_deleted(place: Place) -> None:
    for command in ("kubelet --dir d", "plugin --kubelet-socket d/kubelet.sock"):
        line = f'mkdir gone && cd gone && rmdir ../gone && exec "{sys.executable}" -m kubedev {command}'
        ran = subprocess.run(
            ["bash", "-c", line], capture_output=True, text=True, cwd=place.folder, env=place.environment()
        )
        is_said(ran, 1, "the current directory is not there any more: change to one that is")


# Folders that cannot be written


def without_rights(*command: str) -> list[str]:
    """The command as a user to whom the modes of files apply: also root, without the right to pass them over."""
    if os.geteuid() != 0:
        return list(command)
    if shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere, and setpriv is not there to take that away")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]


@pytest.fixture
def read_only(place: Place) -> Iterator[Path]:
    folder = place.folder / "closed"
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "kubelet.sock"))
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)


def in_closed_folder(place: Place, folder: Path, command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        without_rights(*KUBEDEV, *command.split()),
        capture_output=True,
        text=True,
        cwd=folder,
        env=place.environment(),
        timeout=120,
    )


@pytest.mark.parametrize(
    "command", ["kubelet --dir .", "kubelet --dir d", "kubelet --dir ../d --pod-resources p/x"]
)
def test_r6_a_kubelet_in_a_folder_that_is_read_only(place: Place, read_only: Path, command: str) -> None:
    before = list(read_only.iterdir())
    ran = in_closed_folder(place, read_only, command)
    is_said(ran, 1, "kubedev kubelet: ", "Choose")
    assert list(read_only.iterdir()) == before
    assert list((place.folder / "d").glob("*")) == []


@pytest.mark.parametrize("what", ["config", "checkpoint", "folder"])
def test_r6_what_may_not_be_read_is_named(place: Place, what: str) -> None:
    folder = place.folder / "d"
    folder.mkdir()
    closed = {"config": place.folder / "k.yaml", "checkpoint": folder / CHECKPOINT, "folder": folder}[what]
    closed.touch()
    closed.chmod(0)
    ran = in_closed_folder(place, place.folder, "kubelet --dir d" + " --config k.yaml" * (what == "config"))
    closed.chmod(0o700)
    is_said(ran, 1, "kubedev kubelet: ", closed.name)
    assert not [path for path in folder.iterdir() if path.is_socket()]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "slides"])
def test_r8_a_notebook_that_may_not_be_read_does_not_stop_the_others(place: Place, command: str) -> None:
    closed, good = place.notebook("closed", "1"), place.notebook("good", "1")
    closed.chmod(0)
    ran = in_closed_folder(place, place.folder, f"{command} {closed.name} {good.name}")
    is_said(ran, 1, "cannot be read: Permission denied", "good")
    assert len(ran.stdout.splitlines()) == 2


@pytest.mark.parametrize(
    ("command", "code", "says"), [("kubelet", 2, "--dir"), ("devices", 1, "there is no such socket")]
)
def test_without_arguments(place: Place, command: str, code: int, says: str) -> None:
    is_said(place.run(command), code, says)


def test_r11_a_plugin_waits_for_the_right_to_write(place: Place, read_only: Path) -> None:
    process = subprocess.Popen(
        without_rights(*KUBEDEV, "plugin", "--kubelet-socket", "kubelet.sock"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=read_only,
        env=place.environment(),
    )
    STARTED.append(process)
    assert process.stdout
    said = json.loads(process.stdout.readline())
    assert (said["event"], "permission" in said["error"].lower()) == ("away", True), said
    ended_by(process, signal.SIGTERM, patience=PATIENCE)
    assert process.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "slides"])
def test_a_notebook_in_a_folder_that_is_read_only(place: Place, read_only: Path, command: str) -> None:
    lab = place.notebook("good", "1")
    read_only.chmod(0o755)
    lab.rename(read_only / lab.name)
    read_only.chmod(0o555)
    ran = in_closed_folder(place, read_only, f"{command} {lab.name}")
    if command == "run":
        is_said(ran, 0, "ok")
    else:
        is_said(ran, 2, "slides: ", "Permission denied")


# Signals at any moment


def handed_over(process: "subprocess.Popen[str]") -> None:
    """Wait until Python, which catches SIGINT for itself while it starts, has handed over to kubedev."""
    deadline = time.monotonic() + PATIENCE
    for wanted in (True, False):
        while _catches_sigint(process) is not wanted and time.monotonic() < deadline:
            time.sleep(0.001)


def _catches_sigint(process: "subprocess.Popen[str]") -> bool:
    caught = re.search(r"SigCgt:\s*([0-9a-f]+)", Path(f"/proc/{process.pid}/status").read_text())
    return bool(caught and int(caught[1], 16) & 1 << signal.SIGINT - 1)


def folders_of(pid: int) -> list[str]:
    """The folders of a process beside the tests' own; one for kernels is there where `TMPDIR` is long."""
    return [path.name for path in Path("/tmp").glob(f"kubedev-{pid:x}-*")]


def ended_by(process: "subprocess.Popen[str]", number: int, patience: float) -> tuple[str, float]:
    start = time.monotonic()
    process.send_signal(number)
    out, complaints = process.communicate(timeout=30)
    took = time.monotonic() - start
    assert complaints == ""
    assert not PYTHONS_WORDS.search(out)
    assert took < patience
    return out, took


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", ["kubelet --dir d", "plugin --kubelet-socket d/kubelet.sock"])
def test_r1_a_signal_at_any_moment(place: Place, command: str, number: signal.Signals) -> None:
    """From the first import (then by the signal itself) until it serves."""
    for moment in range(10):
        process = place.start(*command.split())
        handed_over(process)
        time.sleep(moment * 0.05)
        ended_by(process, number, patience=PATIENCE)
        assert process.returncode in (0, -number)
        assert [path.name for path in place.folder.rglob("*") if path.is_socket()] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_r1_a_signal_ends_one_who_waits_for_a_kubelet_that_never_answers(
    place: Place, number: signal.Signals
) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(place.folder / "k.sock"))
        silent.listen()
        for moment in range(10):
            process = place.start("devices", "--socket", "k.sock")
            handed_over(process)
            time.sleep(moment * 0.1)
            out, _ = ended_by(process, number, patience=PATIENCE)
            assert (process.returncode, out) == (-number, "")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", ["run", "slides", "lab"])
def test_r9_a_signal_at_any_moment_leaves_nothing(place: Place, command: str, number: signal.Signals) -> None:
    """A lab that runs for long: its kernel, plugins and containers are ended with it."""
    source = (
        "from kubedev.lab import Lab; lab = Lab('x'); lab.plugin('a.b/c', 2); import time; time.sleep(60)"
    )
    lab = place.notebook("long", source)
    more = {"slides": ["--out", "."], "lab": ["--no-browser"]}.get(command, [])
    for moment in range(10):
        process = place.start(command, lab.name, *more)
        handed_over(process)
        time.sleep(moment * 0.3)
        out, _ = ended_by(process, number, patience=PATIENCE)
        assert process.returncode in (0, 130, -number)
        assert out.strip().splitlines()[-1:] in ([], ["Stopped by you."], ["Stopped."]) or command == "lab"
        assert sorted(path.name for path in place.folder.iterdir()) == ["long.ipynb"]
        assert list(place.temporary.iterdir()) == []
        assert folders_of(process.pid) == []


STARTED_LATE = """
import subprocess, sys
from pathlib import Path
from kubedev.tools import kernels
LATE = "import subprocess, sys; input(); late = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
child = subprocess.Popen([sys.executable, "-c", LATE + "; print(late.pid, flush=True); input()"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
kill, late = kernels._kill, []
def and_it_starts_another_before(pid):
    if not late:
        print(file=child.stdin, flush=True)
        late.append(int(child.stdout.readline()))
    kill(pid)
kernels._kill = and_it_starts_another_before
kernels.end_descendants()
stat = Path(f"/proc/{late[0]}/stat")
print(stat.read_text().rpartition(")")[2].split()[0] if stat.exists() else "gone")
"""


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="descendants are found by /proc")
def test_what_a_kernel_starts_in_the_moment_in_which_it_is_killed_ends_too() -> None:
    ran = subprocess.run([sys.executable, "-c", STARTED_LATE], capture_output=True, text=True, timeout=60)
    assert (ran.stdout.strip() in ("gone", "Z"), ran.stderr) == (True, "")


# Folders of dead runs


def test_r9_a_folder_of_a_process_that_is_gone_is_removed_and_no_other(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    mine, theirs = Path(owned_folder(str(tmp_path))), tmp_path / "kubedev-somebody"
    dead = tmp_path / f"kubedev-{gone.pid:x}-1-x"
    again = tmp_path / f"kubedev-{os.getpid():x}-1-x"  # the number came again, the process was another one
    listening = tmp_path / f"kubedev-{gone.pid:x}-2-x"
    for path in (theirs, dead, again, listening):
        path.mkdir()
        (path / "file").touch()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(listening / "s"))
        server.listen()
        sweep(str(tmp_path))
        assert set(tmp_path.iterdir()) == {mine, theirs, listening}
    sweep(str(tmp_path))
    assert set(tmp_path.iterdir()) == {mine, theirs}


@pytest.mark.slow
def test_r9_what_a_killed_run_left_goes_at_the_next_start(place: Place) -> None:
    lab = place.notebook("long", "open('started', 'w').close(); import time; time.sleep(60)")
    process = place.start("run", lab.name)
    deadline = time.monotonic() + 60
    while not (place.folder / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    process.communicate()
    assert folders_of(process.pid) != []
    while left_over(place.temporary.name) and time.monotonic() < deadline:
        time.sleep(0.1)  # the kernel notices that it is alone
    quick = place.notebook("quick", "1")
    is_said(place.run("run", quick.name), 0, "ok")
    assert folders_of(process.pid) == []


def test_a_flood_of_commands_waits_and_a_signal_overtakes_it(place: Place) -> None:
    process = place.start("kubelet", "--dir", "d")
    assert process.stdin
    assert process.stdout
    assert "listening" in process.stdout.readline()
    os.set_blocking(process.stdin.fileno(), False)
    sent, deadline = 0, time.monotonic() + 2
    while time.monotonic() < deadline:
        with suppress(BlockingIOError):
            sent += os.write(process.stdin.fileno(), b"capacity\n" * 1000)
        select.select([process.stdout], [], [], 0)
    assert sent < 1_000_000, "who sends more than is answered has to wait"
    ended_by(process, signal.SIGTERM, patience=PATIENCE)
    assert process.returncode == 0
