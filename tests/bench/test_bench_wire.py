"""The wire: how long things take, in round trips of the same run.

One round trip is GetDevicePluginOptions over a unix socket within this process: two messages and two changes of
thread. All figures are medians, since a machine that does other things too has outliers.
"""

import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from kubedev.api.messages import Call, Device, Empty
from kubedev.deviceplugin.plugin import Plugin, make_devices
from kubedev.tools.kubelet_tool import KubeletTool
from kubedev.wire.client import PluginClient
from kubedev.wire.codec import METHODS
from kubedev.wire.plugin_server import PluginServer
from kubedev.wire.plugin_thread import PluginThread
from kubedev.wire.sockets import private_directory

GPU = "example.com/gpu"


@pytest.fixture
def directory() -> Iterator[Path]:
    path = Path(private_directory())
    yield path
    shutil.rmtree(path)


class Pair:
    """A plugin and the kubelet's client of it."""

    def __init__(self, directory: Path, count: int = 8) -> None:
        self.plugin = Plugin(GPU, make_devices(count, 2))
        self.server = PluginServer(str(directory / "gpu.sock"), lambda: self.plugin)
        self.server.start()
        self.client = PluginClient(self.server.path)
        self.client.dial(10)

    def round_trip(self) -> None:
        self.client.call(Call(GPU, "", "GetDevicePluginOptions"))

    def close(self) -> None:
        self.client.close()
        self.server.stop()


@pytest.fixture
def pair(directory: Path) -> Iterator[Pair]:
    made = Pair(directory)
    yield made
    made.close()


def median(run: Callable[[], object], rounds: int = 30) -> float:
    """Seconds of the clock, in the middle of several rounds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def tell(benchmark: BenchmarkFixture, what: str, ratio: float, goal: float | None = None) -> None:
    benchmark.extra_info.update(ratio=round(ratio, 1), goal=goal)
    print(f"\n{what}: {ratio:.1f}" + ("" if goal is None else f" (goal: {goal:g})"))


def test_round_trip(benchmark: BenchmarkFixture, pair: Pair) -> None:
    benchmark(pair.round_trip)
    plain = median(lambda: threading.Thread(target=lambda: None).start())
    tell(benchmark, "A round trip, in starts of a thread", median(pair.round_trip, 200) / plain)


def test_health_flip_to_list(benchmark: BenchmarkFixture, pair: Pair) -> None:
    arrived = threading.Event()
    pair.client.list_and_watch(lambda _: arrived.set(), lambda _: None)
    arrived.wait()

    def flip() -> None:
        arrived.clear()
        pair.server.changed()
        assert arrived.wait(10)

    benchmark(flip)
    tell(benchmark, "Health flip to list received, in round trips", median(flip) / median(pair.round_trip))


def test_register_to_allocatable(benchmark: BenchmarkFixture, directory: Path) -> None:
    """From the Register call to allocatable in the node's status: dial, options, the first list."""
    took: list[float] = []

    def register() -> None:
        seen = threading.Event()
        lines: dict[str, float] = {}

        def say(line: dict[str, object]) -> None:
            lines.setdefault(str(line["event"]), time.perf_counter())
            if line["event"] == "node status":
                seen.set()

        below = directory / str(len(took))
        tool = KubeletTool(str(below), 0, say)
        loop = threading.Thread(target=tool.run)
        loop.start()
        plugin = PluginThread(Plugin(GPU, make_devices(8, 2)), str(below))
        plugin.start()
        assert seen.wait(10)
        took.append(lines["node status"] - lines["register"])
        plugin.stop()
        tool.post("quit")
        loop.join()

    benchmark.pedantic(register, rounds=10)  # type: ignore[no-untyped-call]
    pair = Pair(directory)
    trip = median(pair.round_trip, 100)
    pair.close()
    tell(benchmark, "Register to allocatable, in round trips", statistics.median(took) / trip, goal=20)


def test_a_list_of_10_000_devices(benchmark: BenchmarkFixture) -> None:
    """Bytes to values, as a multiple of building the values alone."""
    method = METHODS["ListAndWatch"]
    devices = make_devices(10_000, 2)
    data = method.encode_response(type(method.decode_response(b""))(devices))
    assert benchmark(lambda: method.decode_response(data).devices) == devices
    alone = median(lambda: tuple(Device(d.id, d.health, d.numa_nodes) for d in devices), 10)
    decode = median(lambda: method.decode_response(data), 10)
    tell(benchmark, "A list of 10,000 devices decoded, in constructions of its values", decode / alone)


def test_process_started_to_serving(benchmark: BenchmarkFixture, directory: Path) -> None:
    """`kubedev plugin` until it serves, as a multiple of Python importing gRPC and protobuf alone."""

    def start() -> None:
        command = [
            sys.executable,
            "-m",
            "kubedev",
            "plugin",
            "--kubelet-socket",
            f"{directory}/kubelet.sock",
        ]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        assert process.stdout
        assert b"away" in process.stdout.readline()
        process.kill()
        process.wait()
        process.stdout.close()

    def bare() -> None:
        subprocess.run([sys.executable, "-c", "import grpc, google.protobuf.message"], check=True)

    benchmark.pedantic(start, rounds=3)  # type: ignore[no-untyped-call]
    tell(benchmark, "Plugin's start, in imports of gRPC", median(start, 5) / median(bare, 5))


def test_a_call_in_memory(benchmark: BenchmarkFixture, pair: Pair) -> None:
    from kubedev.wire.memory import MemoryTransport
    from kubedev.wire.memory_plugin import MemoryPlugin

    transport = MemoryTransport()
    transport.listen(lambda _, reply: reply(None))
    plugin = MemoryPlugin(pair.plugin, transport)
    plugin.start()
    client = transport.connect(plugin.socket)
    call = Call(GPU, plugin.socket, "GetDevicePluginOptions", Empty())
    assert benchmark(lambda: client.call(call)) == pair.plugin.options
    ratio = median(pair.round_trip, 100) / median(lambda: client.call(call), 100)
    tell(benchmark, "A round trip of gRPC, in calls in memory", ratio)
