"""Plugins that break the protocol: a gRPC server whose answers are bytes, and a client of any method."""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc

from kubedev.wire.client import CHANNEL_OPTIONS, PluginClient, rpc_error
from kubedev.wire.codec import METHODS
from kubedev.wire.server import SocketServer, target
from kubedev.wire.sockets import private_directory
from tests.contract.harness import nothing_left_behind

Unary = Callable[[bytes, Any], bytes]
Stream = Callable[[bytes, Any], Iterator[bytes]]


@contextmanager
def bad_plugin(unary: Unary | None = None, stream: Stream | None = None) -> Iterator[PluginClient]:
    """A client of a plugin that answers each unary method with `unary`, and ListAndWatch with `stream`."""
    directory = private_directory()
    handlers = {}
    for name, method in METHODS.items():
        if name == "ListAndWatch" and stream:
            handlers[method.path] = grpc.unary_stream_rpc_method_handler(stream)
        elif name != "ListAndWatch" and unary:
            handlers[method.path] = grpc.unary_unary_rpc_method_handler(unary)
    with nothing_left_behind():
        server = SocketServer(str(Path(directory, "bad.sock")), handlers)
        server.start()
        client = PluginClient(server.path)
        try:
            yield client
        finally:
            client.close()
            server.stop()
    shutil.rmtree(directory)


class Never:
    """Waits until it is released: a plugin that never answers."""

    def __init__(self) -> None:
        self.called = threading.Event()
        self.released = threading.Event()

    def __call__(self, _: bytes, context: Any) -> bytes:
        context.add_callback(self.released.set)
        self.called.set()
        self.released.wait()
        return b""


def raw_call(socket: str, path: str, data: bytes, authority: str = "localhost") -> str | bytes:
    """Send bytes to any method; gives back the answer's bytes or the error's text."""
    options = [*CHANNEL_OPTIONS, ("grpc.default_authority", authority)]
    with grpc.insecure_channel(target(socket), options=options) as channel:
        try:
            answer: bytes = channel.unary_unary(path, None, None)(data, timeout=5)
            return answer
        except grpc.RpcError as error:
            return str(rpc_error(error, socket))
