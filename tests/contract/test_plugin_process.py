"""`kubedev plugin` as a process: its standard input and output, signals, and the death of its parent."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedev.deviceplugin.plugin import Plugin, make_devices, variable_name
from kubedev.wire.grpc_transport import GrpcTransport
from kubedev.wire.plugin_process import PluginProcess
from kubedev.wire.transport import PluginEvent, endpoint_name
from tests.contract.harness import PATIENCE, Kubelet, Notes, ids, nothing_left_behind
from tests.contract.program import Program

COMMAND = [sys.executable, "-m", "kubedev", "plugin"]


class Tool(Program):
    """The tool as a process."""

    def __init__(self, directory: Path, *arguments: str, command: Sequence[str] = COMMAND) -> None:
        super().__init__([*command, "--kubelet-socket", str(directory / "kubelet.sock"), *arguments])

    def hear(self) -> dict[str, Any]:
        event: dict[str, Any] = json.loads(self.readline())
        return event


def test_commands_and_events(directory: Path) -> None:
    kubelet = Kubelet(GrpcTransport(str(directory)))
    tool = Tool(directory, "--resource", "a.b/nic", "--devices", "3", "--numa", "2")
    assert tool.hear() == {"event": "serving", "socket": str(directory / "a.b-nic.sock")}
    assert tool.hear() == {"event": "registered"}
    kubelet.notes.wait(lambda notes: len(notes) == 3)
    tool.say("unhealthy d1")
    assert tool.hear() == {"event": "changed", "devices": 3, "healthy": 2}
    tool.say("what")
    assert "no command; there are: healthy ID" in tool.hear()["error"]
    tool.say("set 5")
    assert tool.hear() == {"event": "changed", "devices": 5, "healthy": 4}
    notes = kubelet.notes.wait(lambda notes: len(notes) == 5)
    assert [len(note[2]) for note in notes[2:]] == [3, 3, 5]  # type: ignore[index]
    tool.say("stop")
    assert tool.hear() == {"event": "stopped"}
    assert tool.end() == 0
    kubelet.notes.has(("end", 1, "EOF"))
    kubelet.stop()
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_sigterm_is_a_clean_exit(directory: Path, number: signal.Signals) -> None:
    kubelet = Kubelet(GrpcTransport(str(directory)))
    tool = Tool(directory)
    kubelet.notes.wait(lambda notes: len(notes) == 3)
    tool.process.send_signal(number)
    assert tool.end() == 0
    kubelet.stop()
    assert list(directory.iterdir()) == []


def test_the_end_of_standard_input_is_not_the_end(directory: Path) -> None:
    kubelet = Kubelet(GrpcTransport(str(directory)))
    tool = Tool(directory)
    assert tool.process.stdin
    tool.process.stdin.close()
    kubelet.notes.wait(lambda notes: len(notes) == 3)
    time.sleep(0.2)
    assert tool.process.poll() is None
    tool.process.terminate()
    assert tool.end() == 0
    kubelet.stop()


def test_a_refusal_is_printed_and_the_exit_code_is_1(directory: Path) -> None:
    kubelet = Kubelet(GrpcTransport(str(directory)), refusal='the ResourceName "gpu" is invalid')
    tool = Tool(directory, "--resource", "gpu")
    assert tool.hear()["event"] == "serving"
    error = 'rpc error: code = Unknown desc = the ResourceName "gpu" is invalid'
    assert tool.hear() == {"event": "refused", "error": error}
    assert tool.hear() == {"event": "stopped"}
    assert tool.end() == 1
    kubelet.stop()


def test_b67_a_kubelet_that_restarts_or_is_away_is_waited_for(directory: Path) -> None:
    below = directory / "device-plugins"
    tool = Tool(below)
    assert tool.hear() == {"event": "away", "error": f"{below}/kubelet.sock does not exist"}
    kubelet = Kubelet(GrpcTransport(str(below)))
    assert [tool.hear()["event"] for _ in range(2)] == ["serving", "registered"]
    kubelet.stop()
    assert tool.hear()["event"] == "away"
    shutil.rmtree(below)
    kubelet = Kubelet(GrpcTransport(str(below)))
    assert [tool.hear()["event"] for _ in range(2)] == ["serving", "registered"]
    kubelet.notes.wait(lambda notes: len(notes) == 3)
    tool.process.terminate()
    tool.end()
    kubelet.stop()


def test_a_dead_kubelets_socket_is_no_kubelet(directory: Path) -> None:
    kubelet = Kubelet(GrpcTransport(str(directory)))
    os.link(directory / "kubelet.sock", directory / "kept")
    kubelet.stop()
    (directory / "kept").rename(directory / "kubelet.sock")
    tool = Tool(directory)
    assert tool.hear()["event"] == "serving"
    assert tool.hear()["event"] == "away"
    kubelet = Kubelet(GrpcTransport(str(directory)))
    assert [tool.hear()["event"] for _ in range(2)] == ["serving", "registered"]
    tool.process.terminate()
    tool.end()
    kubelet.stop()


def test_a_directory_without_room_for_a_socket_is_an_error(directory: Path) -> None:
    room = 107 - len(f"{directory}//kubelet.sock")
    below = directory / ("x" * room)
    kubelet = Kubelet(GrpcTransport(str(below)))
    tool = Tool(below)
    event = tool.hear()
    assert event["event"] == "error"
    assert "107 bytes" in event["error"]
    assert tool.end() == 1
    kubelet.stop()


def test_a_path_without_room_for_kubelet_sock_is_an_error(directory: Path) -> None:
    tool = Tool(directory / ("x" * 100))
    assert "107 bytes" in tool.hear()["error"]
    assert tool.end() == 1


def test_wrong_numbers_are_refused_before_anything_starts(directory: Path) -> None:
    done = subprocess.run([*COMMAND, "--devices", "-1"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "0 or more, not -1 and 0" in done.stderr


def test_a_child_ends_with_its_parent(directory: Path) -> None:
    """The parent is killed and cannot clean up: its plugin sees the end of its standard input."""
    parent = textwrap.dedent(f"""
        import time
        from kubedev.deviceplugin.plugin import Plugin, make_devices, variable_name
        from kubedev.wire.plugin_process import PluginProcess
        plugin = PluginProcess(Plugin("a.b/c", make_devices(1)), {str(directory)!r})
        plugin.start()
        print(plugin.pid, flush=True)
        time.sleep(60)
    """)
    kubelet = Kubelet(GrpcTransport(str(directory)))
    process = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    pid = int(process.stdout.readline())
    kubelet.notes.wait(lambda notes: len(notes) == 3)
    process.kill()
    process.wait()
    process.stdout.close()
    kubelet.notes.has(("end", 1, "EOF"))
    deadline = time.monotonic() + PATIENCE
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{pid}").exists()
    kubelet.stop()
    assert list(directory.iterdir()) == []


def test_what_python_complains_of_is_an_error_event(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = Notes()
    with nothing_left_behind():
        monkeypatch.setattr(sys, "executable", shutil.which("false"))
        plugin = PluginProcess(
            Plugin("a.b/c", make_devices(1)), str(directory), lambda e: events.add(e.event)
        )
        plugin.start()
        events.has("stopped")
        plugin.set_count(2)
        plugin.stop()
        plugin.kill()
    assert events.all == ["stopped"]


def test_many_devices_with_long_ids_reach_the_child(directory: Path) -> None:
    kubelet = Kubelet(GrpcTransport(str(directory)))
    devices = tuple(make_devices(10_000, 2))
    plugin = PluginProcess(Plugin("a.b/c", devices), str(directory))
    plugin.start()
    notes = kubelet.notes.wait(lambda notes: len(notes) == 3)
    assert ids(notes[2][2]) == ids(devices)  # type: ignore[index]
    plugin.stop()
    kubelet.stop()


def test_the_name_of_the_socket_stays_short() -> None:
    assert endpoint_name("example.com/gpu") == "example.com-gpu.sock"
    long = "a-very-long-name.example.com/" + "x" * 63
    assert len(endpoint_name(long)) == 37
    assert len(os.fsencode(endpoint_name("é" * 60))) < 60
    assert endpoint_name(long) != endpoint_name(long[:-1] + "y")


def test_the_fields_of_an_event() -> None:
    assert PluginEvent("changed", devices=0, healthy=0).fields() == {
        "event": "changed",
        "devices": 0,
        "healthy": 0,
    }
    assert PluginEvent("registered").fields() == {"event": "registered"}


# Names made from names


NAMES = [
    "a.com/b-c",
    "a.com-b/c",
    "a-com.b/c",
    "a.com.b/c",
    "a.com/b.c",
    "a.com/b_c",
    "a.com/bC",
    "a.com/BC",
    "a.com/bc",
    "a.com/b--c",
    "a.com--b/c",
    "a-dash-com/b",
    "a.dash.com/b",
    "long-name-of-a-vendor.example.com/" + "x" * 40 + "1",
    "long-name-of-a-vendor.example.com/" + "x" * 40 + "2",
]


def test_p3_two_resources_never_share_a_socket_or_a_variable() -> None:
    assert len({endpoint_name(name) for name in NAMES}) == len(NAMES)
    variables = [variable_name(name) for name in NAMES]
    assert len(set(variables)) == len(NAMES)
    assert all(re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) for name in variables)
    assert variable_name("example.com/gpu") == "KUBEDEV_EXAMPLE_COM_GPU"


@given(*[st.from_regex(r"[a-c]([-.]?[a-c]){0,4}/[a-cA-C]([-._]?[a-c]){0,4}", fullmatch=True)] * 2)
def test_p3_names_are_one_to_one(one: str, other: str) -> None:
    same = one == other
    assert (endpoint_name(one) == endpoint_name(other)) is same
    assert (variable_name(one) == variable_name(other)) is same


def listed(notes: list[object]) -> int | None:
    """How many devices the last note lists."""
    match notes[-1:]:
        case [("list", _, tuple(devices))]:
            return len(devices)
    return None


def test_p2_devices_are_spread_over_the_numa_nodes_of_the_start_again(directory: Path) -> None:
    kubelet = Kubelet(GrpcTransport(str(directory)))
    tool = Tool(directory, "--devices", "4", "--numa", "2")
    for count, nodes in ((1, [0]), (4, [0, 0, 1, 1]), (0, []), (2, [0, 1])):
        tool.say(f"set {count}")
        kubelet.notes.wait(lambda notes, n=count: listed(notes) == n)  # type: ignore[misc]
        assert [node for device in kubelet.notes.all[-1][2] for node in device.numa_nodes] == nodes  # type: ignore[index]
    tool.say("stop")
    assert tool.end() == 0
    kubelet.stop()


def test_p2_a_plugin_that_begins_with_one_device_knows_its_nodes_too(directory: Path) -> None:
    kubelet = Kubelet(GrpcTransport(str(directory)))
    tool = Tool(directory, "--devices", "1", "--numa", "2")
    tool.say("set 4")
    kubelet.notes.wait(lambda notes: listed(notes) == 4)
    assert [device.numa_nodes for device in kubelet.notes.all[-1][2]] == [(0,), (0,), (1,), (1,)]  # type: ignore[index]
    tool.say("stop")
    assert tool.end() == 0
    kubelet.stop()


# Permission


AS_NOBODY = """
import os, sys
import google.protobuf.message, grpc, watchfiles  # while they may be read
import kubedev.tools.plugin, kubedev.wire.plugin_runner
if os.getuid() == 0:  # root is refused nothing
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
sys.exit(kubedev.tools.plugin.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("mode", [0o000, 0o500], ids=["not to be entered", "not to be written"])
def test_r11_permission_that_is_missing_is_said_and_waited_for(directory: Path, mode: int) -> None:
    directory.chmod(0o755)
    below = directory / "device-plugins"
    kubelet = Kubelet(GrpcTransport(str(below)))
    (below / "kubelet.sock").chmod(0o777)
    if os.getuid() == 0:
        os.chown(below, 65534, 65534)
    below.chmod(mode)
    tool = Tool(below, command=[sys.executable, "-c", AS_NOBODY])
    event = tool.hear()
    assert event["event"] == "away"
    assert "permission is missing" in event["error"]
    below.chmod(0o700)
    assert [tool.hear()["event"] for _ in range(2)] == ["serving", "registered"]
    tool.process.terminate()
    assert tool.end() == 0
    kubelet.stop()
