"""`kubedev check-plugin`: good plugins pass, each fault is named by its duty, and nothing is left behind."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import psutil
import pytest

from kubedev.deviceplugin.duties import DUTIES, Limits, Verdict, judged
from kubedev.kubelet.devices import registration
from kubedev.tools.check_run import PluginCheck
from kubedev.wire.sockets import private_directory
from tests.conftest import ROOT
from tests.contract import duty_plugins
from tests.contract.harness import PATIENCE
from tests.contract.program import STARTED

GPU = "example.com/gpu"
PLUGIN = (sys.executable, "-m", "tests.contract.duty_plugins")
CHECK = (sys.executable, "-m", "kubedev", "check-plugin", "--resource", GPU)
OWN = (sys.executable, "-m", "kubedev", "plugin", "--kubelet-socket", "{socket}", "--devices", "2")
FEW = Limits(own_socket=1, allocations=100, held=0.5)
"""Less of what takes long and is not what a test is about."""

TIMED = {
    "list-at-once",
    "allocate-one",
    "allocate-again",
    "allocate-all",
    "allocate-together",
    "ends",
    "memory",
}
"""Of these a slow machine may be warned."""


def tried(*command: str, limits: Limits = FEW) -> dict[str, Verdict]:
    """The verdicts on a plugin, by their duties' keys; a word `DIR` of the command is the socket directory."""
    folder = private_directory()
    directory = str(Path(folder, "d"))
    Path(directory).mkdir()
    filled = [word.replace("DIR", directory) for word in command]
    seen = PluginCheck(GPU, directory, filled, folder, limits).run()
    assert not Path(folder).exists()
    return {verdict.duty.key: verdict for verdict in judged(DUTIES, seen)}


def of(verdicts: dict[str, Verdict], outcome: str) -> dict[str, str]:
    return {key: verdict.seen for key, verdict in verdicts.items() if verdict.outcome == outcome}


@pytest.fixture
def place() -> Iterator[Path]:
    """Temporary files of a command: there are none when it has ended."""
    path = Path(private_directory())
    yield path
    assert _left(path) == []
    shutil.rmtree(path)


def _left(place: Path) -> list[str]:
    """Folders in a place, and processes whose command line or environment names it; they are waited for."""
    until = time.monotonic() + PATIENCE
    while found := [p.name for p in place.iterdir()] + _processes(str(place)):
        if time.monotonic() > until:
            return found
        time.sleep(0.05)
    return []


def _processes(mark: str) -> list[str]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and mark in process.environ().get("TMPDIR", ""):
                found.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return found


def check(place: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "TMPDIR": str(place)}
    return subprocess.run(
        [*CHECK, *arguments], capture_output=True, text=True, timeout=120, env=environment, cwd=ROOT
    )


# Good plugins


@pytest.mark.slow
def test_our_own_plugin_keeps_its_duties(place: Path) -> None:
    ran = check(place, "--json", "--", *OWN)
    report = json.loads(ran.stdout)
    assert ran.returncode == 0, ran.stdout
    assert report["outcome"] in ("ok", "warning")
    assert {duty["outcome"] for duty in report["duties"]} <= {"ok", "warning", "not applicable"}
    assert all(
        duty[part] for duty in report["duties"] for part in ("key", "asks", "source", "seen", "advice")
    )


def test_a_plugin_written_on_grpc_alone_keeps_them_all() -> None:
    verdicts = tried(*PLUGIN, "DIR", limits=Limits(allocations=100))
    assert of(verdicts, "broken") == {}
    assert of(verdicts, "warning").keys() <= TIMED
    assert of(verdicts, "not applicable").keys() == {
        "cdi-names",
        "preferred-answer",
        "preferred-choice",
        "pre-start",
    }


def test_a_plugin_like_the_sample_has_warnings_at_most() -> None:
    verdicts = tried(*PLUGIN, "DIR", "Sample")
    assert of(verdicts, "broken") == {}
    assert of(verdicts, "warning").keys() - TIMED == {
        "allocate-unknown",
        "list-on-change",
        "own-socket",
        "socket-left",
    }


@pytest.mark.parametrize(
    ("odd", "warnings"),
    [
        (duty_plugins.DiesOfNothing, {"allocate-empty"}),
        pytest.param(
            duty_plugins.Ends, {"kubelet-restart", "kubelet-silent", "own-socket"}, marks=pytest.mark.slow
        ),
        (duty_plugins.EmptyFirstAndLast, set()),
        (duty_plugins.WithoutDevices, set()),
    ],
)
def test_what_real_plugins_do_is_not_broken(odd: type[duty_plugins.Plugin], warnings: set[str]) -> None:
    verdicts = tried(*PLUGIN, "DIR", odd.__name__, limits=Limits(own_socket=4, allocations=100, held=0.5))
    assert of(verdicts, "broken") == {}
    assert of(verdicts, "warning").keys() - TIMED == warnings


# One fault each


FAULTS = {
    duty_plugins.RegistersFirst: "serves-first",
    duty_plugins.OldVersion: "version",
    duty_plugins.PercentEndpoint: "endpoint",
    duty_plugins.NoOptions: "options",
    duty_plugins.NoList: "list-at-once",
    duty_plugins.ReturnsFromList: "list-stream",
    duty_plugins.OneAtATime: "allocate-together",
    duty_plugins.LargeList: "message-size",
    duty_plugins.ForgetsIds: "same-ids",
    duty_plugins.AnswersEachDevice: "one-answer",
    duty_plugins.RemembersAllocations: "allocate-again",
    duty_plugins.Dies: "stays-up",
    duty_plugins.Deaf: "kubelet-restart",
    duty_plugins.GivesUp: "kubelet-silent",
    duty_plugins.Stays: "ends",
    duty_plugins.Leaks: "memory",
    duty_plugins.PreStartFails: "pre-start",
}
SHORTER = {
    duty_plugins.RegistersFirst: Limits(renamed=1),
    duty_plugins.OldVersion: Limits(renamed=1),
    duty_plugins.PercentEndpoint: Limits(renamed=1),
    duty_plugins.NoOptions: Limits(renamed=1),
    duty_plugins.NoList: Limits(list=1),
    duty_plugins.ReturnsFromList: Limits(own_socket=1, allocations=10, held=0.5, renamed=2),
    duty_plugins.OneAtATime: Limits(own_socket=1, allocations=5, held=0.5),
    duty_plugins.Deaf: Limits(own_socket=0.5, allocations=100, restart=3),
    duty_plugins.GivesUp: Limits(own_socket=0.5, allocations=100, held=0.5, restart=8),
    duty_plugins.Stays: Limits(own_socket=0.5, allocations=100, held=0.5, end=3),
    duty_plugins.Leaks: Limits(own_socket=0.5, allocations=500, allocating=50),
}
CONSEQUENCES = {
    duty_plugins.RemembersAllocations: {"allocate-all", "allocate-together", "memory", "kubelet-restart"},
    duty_plugins.Dies: {"allocate-one"},
    duty_plugins.Deaf: {"own-socket"},
}


LONG = (duty_plugins.RegistersFirst,)  # a kubelet dials for ten seconds


@pytest.mark.parametrize(
    "fault",
    [pytest.param(fault, marks=pytest.mark.slow if fault in LONG else ()) for fault in FAULTS],
    ids=lambda fault: fault.__name__,
)
def test_a_fault_is_named_by_its_duty(
    fault: type[duty_plugins.Plugin], monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault is not duty_plugins.RegistersFirst:  # there the ten seconds of a real kubelet are waited for
        monkeypatch.setattr(registration, "DIAL_TIMEOUT", 4.0)
    verdicts = tried(*PLUGIN, "DIR", fault.__name__, limits=SHORTER.get(fault, FEW))
    broken = of(verdicts, "broken")
    assert FAULTS[fault] in broken, verdicts[FAULTS[fault]]
    assert broken.keys() - {FAULTS[fault]} <= CONSEQUENCES.get(fault, set()), broken


# The command


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--", "no-such-plugin"], "no-such-plugin: No such file or directory"),
        (["--", "/"], "/: Permission denied"),
        (["--running", "nowhere"], "nowhere: is not a directory"),
        (["--running", "/dev/null"], "/dev/null: is not a directory"),
        (["--running", str(ROOT)], "holds files that are neither sockets nor"),
        (["--junit", "no/where.xml", "--", "true"], "no/where.xml: No such file or directory"),
        ([], "expected either -- COMMAND"),
        (["--running", "x", "--", "true"], "expected either -- COMMAND"),
    ],
)
def test_what_cannot_be_run_is_told_with_status_2(place: Path, arguments: list[str], words: str) -> None:
    ran = check(place, *arguments)
    assert ran.returncode == 2, ran.stdout
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(("command", "words"), [("exit 3", "exit status 3"), ("kill -9 $$", "signal 9")])
def test_a_plugin_that_ends_before_it_registers_is_broken(place: Path, command: str, words: str) -> None:
    ran = check(place, "--", "sh", "-c", f"echo no device >&2; {command}")
    assert ran.returncode == 1
    line = re.search(r"✗ broken +registers +(.*(\n .*)?)", ran.stdout)
    assert line, ran.stdout
    assert words in " ".join(line[1].split())
    assert "no device" in ran.stdout
    assert "\x1b" not in ran.stdout


@pytest.mark.slow
def test_a_report_for_machines(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    ran = check(place, "--junit", str(file), "--json", "--", *PLUGIN, "{dir}", "OldVersion")
    report = json.loads(ran.stdout)
    suite = ElementTree.parse(file).getroot()
    assert ran.returncode == 1
    assert report["outcome"] == "broken"
    broken = [duty["key"] for duty in report["duties"] if duty["outcome"] == "broken"]
    assert broken == [case.get("name") for case in suite if case.find("failure") is not None] == ["version"]
    assert suite.get("tests") == str(len(DUTIES)) == str(len(report["duties"]))
    assert suite.get("failures") == "1"
    assert any("requested API version" in line for line in report["output"])


def test_nothing_is_left_by_a_plugin_that_left_its_session(place: Path) -> None:
    ran = check(place, "--", "sh", "-c", "setsid sleep 1000 & sleep 1; exit 4")
    assert ran.returncode == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_when_it_is_stopped(place: Path, number: signal.Signals) -> None:
    command = ["--", "sh", "-c", "setsid sleep 1000 & exec sleep 1000"]
    environment = {**os.environ, "TMPDIR": str(place)}
    process = subprocess.Popen(
        [*CHECK, *command], env=environment, cwd=ROOT, stdout=subprocess.DEVNULL, text=True
    )
    STARTED.append(process)
    until = time.monotonic() + PATIENCE
    while _processes(str(place)).count("sleep 1000") != 2:
        assert time.monotonic() < until
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(PATIENCE) == (-9 if number == signal.SIGKILL else 2)


def test_a_plugin_that_runs_already_goes_on_running(place: Path, directory: Path) -> None:
    plugin = subprocess.Popen([*PLUGIN, str(directory)], cwd=ROOT, text=True)
    STARTED.append(plugin)
    ran = check(place, "--json", "--running", str(directory))
    report = {duty["key"]: duty["outcome"] for duty in json.loads(ran.stdout)["duties"]}
    assert ran.returncode == 0, ran.stdout
    assert [report[key] for key in ("ends", "socket-left", "starts-again", "stays-up")] == [
        "not applicable"
    ] * 4
    assert report["kubelet-restart"] == report["same-ids"] == "ok"
    assert plugin.poll() is None
    assert not (directory / "kubelet.sock").exists()
    plugin.terminate()
    assert plugin.wait(PATIENCE) == 0
