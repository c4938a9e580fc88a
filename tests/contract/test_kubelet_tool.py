"""`kubedev kubelet`: all its commands, with a real plugin on the other side."""

import json
import os
import pty
import re
import select
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from kubedev.api.messages import Device
from kubedev.console import json_line
from kubedev.deviceplugin.plugin import Plugin, make_devices
from kubedev.tools.kubelet import main
from kubedev.tools.kubelet_lines import device_lines
from kubedev.tools.kubelet_tool import USAGE, CommandError, KubeletTool, parse_requests
from kubedev.tools.kubelet_view import typed, view
from kubedev.wire.plugin_process import PluginProcess
from kubedev.wire.plugin_thread import PluginThread
from kubedev.wire.sockets import CHECKPOINT
from tests.contract.flood import Flood
from tests.contract.harness import PATIENCE, nothing_left_behind
from tests.contract.program import Program

GPU = "example.com/gpu"


class Tool(Program):
    """The tool as a process."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        super().__init__([sys.executable, "-m", "kubedev", "kubelet", "--dir", str(directory), *arguments])
        self.heard: list[dict[str, Any]] = []

    def hear(self, event: str, **fields: Any) -> dict[str, Any]:
        """The next line of this kind with these fields; others before it are passed over."""
        while line := self.readline():
            told: dict[str, Any] = json.loads(line)
            self.heard.append(told)
            if told["event"] == event and fields.items() <= told.items():
                return told
        raise AssertionError(f"no {event} {fields} among {self.heard}")


def test_a_session(directory: Path) -> None:
    tool = Tool(directory, "--numa", "2")
    tool.hear("listening", socket=f"{directory}/kubelet.sock")
    plugin = PluginProcess(Plugin(GPU, make_devices(8, 2)), str(directory))
    plugin.start()
    tool.hear("registered", resource=GPU)
    tool.hear("node status", capacity={GPU: 8}, allocatable={GPU: 8})

    tool.say(f"allocate p1 {GPU}=3")
    container = tool.hear("container", pod="p1")
    assert container["devices"] == {GPU: ["d0", "d1", "d2"]}
    assert container["envs"] == {"KUBEDEV_EXAMPLE_COM_GPU": "d0,d1,d2"}
    tool.hear("pod", pod="p1", phase="Running")
    tool.say(f"allocate p2 {GPU}=6")
    refused = tool.hear("pod", pod="p2", phase="Failed", reason="UnexpectedAdmissionError")
    assert "Requested: 6, Available: 5, which is unexpected" in refused["message"]
    tool.say("why p2")
    why = tool.hear("why", pod="p2")
    assert why["devices"][0]["error"].endswith("Requested: 6, Available: 5")
    tool.say("why p1")
    why = tool.hear("why", pod="p1")
    assert why["affinity"][0]["numa_nodes"] == [0]
    assert why["devices"][0]["taken"] == ["d0", "d1", "d2"]

    plugin.set_health("d7", False)
    tool.hear("node status", capacity={GPU: 8}, allocatable={GPU: 7})
    tool.say("devices")
    devices = tool.hear("devices", resource=GPU, plugin="connected")["devices"]
    assert devices[0] == {"id": "d0", "health": "Healthy", "numa_nodes": [0], "pod": "p1"}
    assert devices[7] == {"id": "d7", "health": "Unhealthy", "numa_nodes": [1], "pod": None}

    tool.say(f"drop-stream {GPU}")
    tool.hear("stream ended", resource=GPU)
    tool.hear("node status", capacity={GPU: 8}, allocatable={GPU: 0})
    tool.say("advance 290")
    tool.say("capacity")
    assert tool.hear("capacity")["capacity"] == {GPU: 8}
    tool.say("advance 11")
    tool.hear("node status", capacity={GPU: 0}, allocatable={GPU: 0})

    tool.say("delete-socket")
    tool.hear("socket deleted")
    assert not (directory / "kubelet.sock").exists()
    tool.say("restart")
    tool.hear("restarted")
    tool.hear("pod", pod="p1", phase="Running")
    tool.hear("registered", resource=GPU)
    tool.hear("node status", capacity={GPU: 8}, allocatable={GPU: 7})
    tool.say(f"allocate p3 {GPU}=4")
    assert tool.hear("container", pod="p3")["devices"] == {GPU: ["d3", "d4", "d5", "d6"]}
    tool.say("release p1")
    tool.hear("released", pod="p1")
    tool.say("quit")
    assert tool.end() == 0
    plugin.stop()
    assert [path.name for path in directory.iterdir()] == [CHECKPOINT]


def test_the_checkpoint_outlives_the_tool(directory: Path) -> None:
    plugin = PluginThread(Plugin(GPU, make_devices(2)), str(directory))
    plugin.start()
    tool = Tool(directory)
    tool.hear("registered")
    tool.hear("list")
    tool.say(f"allocate p1 {GPU}=1")
    tool.hear("pod", phase="Running")
    tool.process.terminate()
    assert tool.end() == 0
    plugin.stop()
    assert json.loads((directory / CHECKPOINT).read_text())["Data"]["PodDeviceEntries"][0]["PodUID"] == "p1"
    tool = Tool(directory)
    tool.hear("node status", capacity={GPU: 0}, allocatable={GPU: 0})
    tool.say("devices")
    assert tool.hear("devices")["plugin"] == "stopped"
    tool.process.send_signal(signal.SIGINT)
    assert tool.end() == 0


def test_a_broken_checkpoint_is_said_and_not_used(directory: Path) -> None:
    (directory / CHECKPOINT).write_text(
        '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":1}'
    )
    tool = Tool(directory)
    assert "checkpoint is corrupted" in tool.hear("error")["error"]
    tool.say("quit")
    assert tool.end() == 0


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("allocate p1", "is no command"),
        ("allocate p1 gpu", "expected RESOURCE=N"),
        (f"allocate p1 {GPU}=0.5", "expected RESOURCE=N"),
        (f"allocate p1 {GPU}=-1", "expected RESOURCE=N"),
        (f"allocate p1 {GPU}=", "expected RESOURCE=N"),
        (f"allocate p1 {GPU}=1q", "expected RESOURCE=N"),
        (f"allocate p1 {GPU}=1,{GPU}=2", "once a resource"),
        ("release p9", "there is no pod 'p9'; there are: none"),
        ("why p9", "there is no pod 'p9'"),
        ("drop-stream a.b/c", "no stream of 'a.b/c' is open"),
        ("advance -1", "0 or more"),
        ("advance nan", "0 or more"),
        ("advance soon", "0 or more"),
        ("dance", "'dance' is no command; there are: allocate POD"),
    ],
)
def test_wrong_commands_change_nothing(directory: Path, command: str, error: str) -> None:
    lines: list[dict[str, Any]] = []
    with nothing_left_behind():
        tool = KubeletTool(str(directory), 0, lines.append)
        before = tool.state
        tool.post(command)
        tool.post("quit")
        tool.run()
    assert tool.state == before
    assert error in lines[-1]["error"]


def test_requests() -> None:
    assert {n: q.value() for n, q in parse_requests("a.b/c=2,d.e/f=0").items()} == {"a.b/c": 2, "d.e/f": 0}
    with pytest.raises(CommandError, match="'=1': expected RESOURCE=N"):
        parse_requests("=1")


def test_a_directory_that_will_not_do(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (directory / "notes.txt").touch()
    assert main(["--dir", str(directory)]) == 1
    assert "neither sockets nor kubelet_internal_checkpoint: notes.txt" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--dir", str(directory), "--numa", "65"])
    assert "expected 0 to 64 NUMA nodes, got 65" in capsys.readouterr().err


def test_help_names_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    assert all(usage in text for usage in USAGE)


# On a terminal


def test_typing() -> None:
    assert [line for line, ended in typed(iter(["why x", "\x7fp1", "\n", "q\x15", "quit\r"])) if ended] == [
        "why p1",
        "quit",
    ]


def test_the_view_shows_resources_pods_and_what_happened(directory: Path) -> None:
    lines: list[dict[str, Any]] = []
    tool = KubeletTool(str(directory), 0, lines.append)
    plugin = PluginThread(
        Plugin(GPU, make_devices(70)), str(directory), lambda told: tool.post("") if told.event else None
    )
    plugin.start()
    deadline = time.monotonic() + PATIENCE
    while not tool.state.devices.healthy_devices and time.monotonic() < deadline:
        tool._next()
    tool.post(f"allocate p1 {GPU}=2")
    while "p1" not in tool.state.pods or not tool.state.pods["p1"].running:
        tool._next()
    tool.post("why p1")
    tool._next()
    screen = view(tool.state, lines, "allo", 40)
    plugin.stop()
    tool.post("quit")
    tool.run()
    console = Console(width=100, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(screen)
    text = console.export_text()
    assert "■ d0(p1) ■ d1(p1)" in text
    assert "and 6 more" in text
    assert "Running" in text
    assert "example.com/gpu: 2 required" in text
    assert "preferred: d0 d1 taken." in text
    assert "> allo_" in text
    assert "registered: resource=example.com/gpu" in text


def test_a_terminal_gets_a_live_view_and_is_left_as_it_was(directory: Path) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "kubedev", "kubelet", "--dir", str(directory)]
    process = subprocess.Popen(command, stdin=slave, stdout=slave, env={**os.environ, "TERM": "xterm"})
    os.close(slave)
    shown = b""
    while b"listening" not in shown:
        shown += os.read(master, 4096)
    os.write(master, b"adv\x7f\x7f\x7fdance\n")
    while b"is no command" not in shown:
        shown += os.read(master, 4096)
    os.write(master, b"quit\n")
    assert process.wait(PATIENCE) == 0
    os.close(master)
    assert b"\x1b[?1049h" in shown, "the alternate screen"
    assert list(directory.iterdir()) == []


# What was found wrong


def looped(directory: Path, *devices: str) -> tuple[KubeletTool, list[dict[str, Any]], PluginThread]:
    """A tool that the test runs by hand, with a plugin whose list has come."""
    lines: list[dict[str, Any]] = []
    tool = KubeletTool(str(directory), 0, lines.append)
    plugin = PluginThread(Plugin(GPU, tuple(map(Device, devices))), str(directory))
    plugin.start()
    until(tool, lambda: bool(tool.state.devices.healthy_devices))
    return tool, lines, plugin


def until(tool: KubeletTool, done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done() and time.monotonic() < deadline:
        tool._next()
    assert done()


def ended(tool: KubeletTool, plugin: PluginThread) -> None:
    plugin.stop()
    tool.end()
    tool.run()


@pytest.mark.parametrize(
    ("count", "error"),
    [
        (
            "99999999999999999999",
            "requested number of devices unavailable for example.com/gpu. "
            "Requested: 7766279631452241919, Available: 2",
        ),
        (
            "9223372036854775808",
            "unexpectedly allocated less resources than required. Requested: -9223372036854775808, Got: 0",
        ),
        (
            "18446744073709551619",
            "requested number of devices unavailable for example.com/gpu. Requested: 3, Available: 2",
        ),
        (
            "1k",
            "requested number of devices unavailable for example.com/gpu. Requested: 1000, Available: 2",
        ),
    ],
)
def test_p5_numbers_wrap_as_in_go(directory: Path, count: str, error: str) -> None:
    tool, _, plugin = looped(directory, "d0", "d1")
    tool.post(f"allocate h {GPU}={count}")
    until(tool, lambda: "h" in tool.state.pods and bool(tool.state.pods["h"].message))
    ended(tool, plugin)
    assert error in tool.state.pods["h"].message
    assert tool.state.pods["h"].reason == "UnexpectedAdmissionError"


def test_p7_a_device_that_is_held_and_no_longer_listed(directory: Path) -> None:
    tool, lines, plugin = looped(directory, "d0", "d1")
    tool.post(f"allocate h {GPU}=2")
    until(tool, lambda: bool(tool.state.pods) and bool(tool.state.pods["h"].running))
    plugin.set_count(1)
    until(tool, lambda: len(tool.state.devices.all_devices[GPU]) == 1)
    held = {"id": "d1", "health": "not listed", "numa_nodes": None, "pod": "h"}
    assert device_lines(tool.state)[0]["devices"] == [
        {"id": "d0", "health": "Healthy", "numa_nodes": None, "pod": "h"},
        held,
    ]
    plugin.stop()
    until(tool, lambda: not tool.state.devices.healthy_devices[GPU])
    tool.post("advance 301")
    until(tool, lambda: GPU not in tool.state.devices.healthy_devices)
    (line,) = device_lines(tool.state)
    assert line["plugin"] == "absent"
    assert line["devices"] == [{**held, "id": "d0"}, held]
    console = Console(width=100, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(view(tool.state, lines, "", 40))
    assert "? d0(h) ? d1(h)" in console.export_text()
    ended(tool, plugin)


def test_p7_a_device_that_is_taken_without_a_record_says_so(directory: Path) -> None:
    tool, _, plugin = looped(directory, "d0", "d1")
    manager = replace(tool.state.devices, allocated_devices={GPU: frozenset({"d1"})})
    tool.state = replace(tool.state, devices=manager)
    ended(tool, plugin)
    lost = device_lines(tool.state)[0]["devices"][1]
    assert (lost["id"], lost["pod"]) == ("d1", None)
    assert "taken without a record" in lost["note"]


@pytest.mark.parametrize("mask", [0o022, 0o000, 0o077])
def test_p8_the_checkpoint_is_for_its_owner_alone(directory: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        tool, _, plugin = looped(directory, "d0")
        ended(tool, plugin)
    finally:
        os.umask(before)
    assert stat.S_IMODE((directory / CHECKPOINT).stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["directory", "FIFO", "socket", "loop"])
def test_r6_a_checkpoint_that_cannot_be_read(
    directory: Path, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = directory / CHECKPOINT
    match kind:
        case "directory":
            path.mkdir()
        case "FIFO":
            os.mkfifo(path)
        case "socket":
            socket.socket(socket.AF_UNIX).bind(str(path))
        case "loop":
            path.symlink_to(path)
    assert main(["--dir", str(directory)]) == 1
    sentence = capfd.readouterr().err
    assert sentence.count("\n") == 1
    assert f"{path}: " in sentence
    assert "Move it away" in sentence or "move it away" in sentence
    assert [entry.name for entry in directory.iterdir()] == [CHECKPOINT]


def test_r10_without_standard_input_it_runs_until_a_signal(directory: Path) -> None:
    """Started as `kubedev kubelet --dir D <&-`."""
    command = f'exec "{sys.executable}" -m kubedev kubelet --dir {directory} <&-'
    process = subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout
    assert b"listening" in process.stdout.readline()
    plugin = PluginThread(Plugin(GPU, make_devices(2)), str(directory))
    plugin.start()
    while b'"registered"' not in process.stdout.readline():
        pass
    assert process.poll() is None
    process.terminate()
    _, complaints = process.communicate(timeout=PATIENCE)
    plugin.stop()
    assert (process.returncode, complaints) == (0, b"")
    assert not (directory / "kubelet.sock").exists()


def test_r10_ctrl_d_is_quit() -> None:
    assert list(typed(iter(["\x04"]))) == [("quit", True)]
    assert [line for line, done in typed(iter(["why x\x04", "\n"])) if done] == ["why x"]


def test_r15_control_characters_are_shown_and_not_sent(directory: Path) -> None:
    lines: list[dict[str, Any]] = []
    tool = KubeletTool(str(directory), 0, lines.append)
    tool.post(f"allocate a\x1b[31mb\x9bc {GPU}=1")
    until(tool, lambda: bool(tool.state.pods))
    tool.end()
    tool.run()
    text = "\n".join(map(json_line, lines))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    assert [json.loads(line) for line in text.splitlines()] == lines
    console = Console(width=100, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(view(tool.state, lines, "", 40))
    assert r"a\x1b[31mb\x9bc" in console.export_text()


def test_p6_ids_that_are_not_utf8_are_told_and_kept(directory: Path) -> None:
    tool, lines, plugin = looped(directory, "x\udcff\udcfe", "d1")
    tool.post(f"allocate h {GPU}=2")
    until(tool, lambda: bool(tool.state.pods) and bool(tool.state.pods["h"].running))
    ended(tool, plugin)
    (told,) = [line for line in lines if line["event"] == "list"]
    assert (told["devices"], told["healthy"], told["not_utf8"]) == (2, 2, 1)
    (container,) = [line for line in lines if line["event"] == "container"]
    assert sorted(container["devices"][GPU]) == ["d1", "x\udcff\udcfe"]
    assert json_line(container).isascii()


@pytest.mark.parametrize("end", ["quit", "SIGINT", "SIGTERM"])
def test_r1_a_flood_does_not_keep_it_from_ending(directory: Path, end: str) -> None:
    tool = Tool(directory)
    tool.hear("listening")
    flood = Flood(directory)
    tool.hear("list")
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline:
        tool.readline()
    start = time.monotonic()
    if end == "quit":
        tool.say("quit")
    else:
        tool.process.send_signal(getattr(signal, end))
    while tool.readline():
        pass
    assert tool.end() == 0
    assert time.monotonic() - start < 4, "within a second, on a machine that has nothing else to do"
    flood.server.stop()
    assert [path.name for path in directory.iterdir()] == [CHECKPOINT]


def test_r1_nobody_reads_what_it_says_and_it_ends_all_the_same(directory: Path) -> None:
    tool = Tool(directory)
    tool.hear("listening")
    for _ in range(3000):
        tool.say("dance")  # more than a pipe holds comes back
        if select.select([], [tool.process.stdin], [], 0.5)[1] == []:
            break
    tool.process.send_signal(signal.SIGTERM)
    assert tool.process.wait(PATIENCE) == 0
    assert list(directory.iterdir()) == []
    assert tool.process.stdin
    with suppress(BrokenPipeError):
        tool.process.stdin.close()
    tool.process.stdin = None
    tool.end()
