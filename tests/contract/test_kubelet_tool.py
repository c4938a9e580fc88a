"""`kubedev kubelet`: all its commands, with a real plugin on the other side."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from kubedev.deviceplugin.plugin import Plugin, make_devices
from kubedev.tools.kubelet import USAGE, CommandError, KubeletTool, main, parse_requests
from kubedev.tools.kubelet_view import typed, view
from kubedev.wire.plugin_process import PluginProcess
from kubedev.wire.plugin_thread import PluginThread
from kubedev.wire.sockets import CHECKPOINT
from tests.contract.harness import PATIENCE, nothing_left_behind
from tests.contract.program import Program

GPU = "example.com/gpu"


class Tool(Program):
    """The tool as a process."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        super().__init__([sys.executable, "-m", "kubedev.tools.kubelet", "--dir", str(directory), *arguments])
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
        main(["--dir", str(directory), "--numa", "9"])
    assert "expected 0 to 8 NUMA nodes, got 9" in capsys.readouterr().err


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
    command = [sys.executable, "-m", "kubedev.tools.kubelet", "--dir", str(directory)]
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
