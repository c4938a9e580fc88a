"""A plugin that sends lists without pause: what the kubelet's tool, and a lab, need of memory for it.

A minute of it with KUBEDEV_FLOOD_SECONDS=60; a few seconds by default. The figure is the memory at the end as a
multiple of the memory after the first quarter: flat is 1.
"""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from kubedev.api.messages import Device, ListAndWatchResponse, RegisterRequest
from kubedev.deviceplugin.plugin import make_devices
from kubedev.wire.codec import METHODS, REGISTER
from kubedev.wire.server import SocketServer
from kubedev.wire.sockets import private_directory
from tests.bench.test_bench_wire import tell
from tests.contract.bad_peers import raw_call

SECONDS = float(os.environ.get("KUBEDEV_FLOOD_SECONDS", "6"))
LAB = """
import sys
from kubedev.lab import Lab
lab = Lab("flood")
print(next(iter(lab.directories.values())), flush=True)
sys.stdin.readline()
lab.close()
"""


class Flood:
    """The plugin: two lists of 8 devices in turn, as fast as they are taken."""

    def __init__(self, directory: Path) -> None:
        self.sent = 0
        lists = [
            METHODS["ListAndWatch"].encode_response(ListAndWatchResponse(devices))
            for devices in (make_devices(8), (*make_devices(7), Device("d7", "Unhealthy")))
        ]

        def stream(_: bytes, context: Any) -> Iterator[bytes]:
            while context.is_active():
                self.sent += 1
                yield lists[self.sent % 2]

        answers = {"GetDevicePluginOptions": lambda *_: b""}
        handlers: dict[str, Any] = {
            METHODS[name].path: grpc.unary_unary_rpc_method_handler(answer)
            for name, answer in answers.items()
        }
        handlers[METHODS["ListAndWatch"].path] = grpc.unary_stream_rpc_method_handler(stream)
        self.server = SocketServer(str(directory / "flood.sock"), handlers)
        self.server.start()
        request = RegisterRequest(endpoint="flood.sock", resource_name="example.com/gpu")
        kubelet = str(directory / "kubelet.sock")
        assert raw_call(kubelet, REGISTER.path, REGISTER.encode_request(request)) == b""


@pytest.mark.parametrize("what", ["kubelet", "lab"])
def test_memory_under_a_flood(benchmark: BenchmarkFixture, what: str) -> None:
    directory = Path(private_directory())
    command = ["-m", "kubedev", "kubelet", "--dir", str(directory)] if what == "kubelet" else ["-c", LAB]
    process = subprocess.Popen(
        [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdin
    first = process.stdout.readline()
    drain = threading.Thread(target=process.stdout.read, daemon=True)
    drain.start()
    flood = Flood(directory if what == "kubelet" else Path(first.strip()))
    memory: list[int] = []

    def run() -> None:
        for _ in range(4):
            time.sleep(SECONDS / 4)
            memory.append(psutil.Process(process.pid).memory_info().rss)

    benchmark.pedantic(run, rounds=1)  # type: ignore[no-untyped-call]
    ended = time.monotonic()
    process.stdin.write("quit\n")
    process.stdin.close()
    assert process.wait(20) == 0
    took = time.monotonic() - ended
    drain.join()
    flood.server.stop()
    shutil.rmtree(directory, ignore_errors=True)
    tell(
        benchmark,
        f"{what}: memory after {SECONDS:g} s of flood, in that of its first quarter",
        memory[-1] / memory[0],
    )
    print(f"{flood.sent / SECONDS:.0f} lists a second; {memory[-1] >> 20} MiB; {took:.1f} s to end")
