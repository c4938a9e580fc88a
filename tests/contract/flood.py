"""A plugin that sends lists of 8 devices as fast as they are taken."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc

from kubedev.api.messages import Device, ListAndWatchResponse, RegisterRequest
from kubedev.deviceplugin.plugin import make_devices
from kubedev.wire.codec import METHODS, REGISTER
from kubedev.wire.server import SocketServer
from tests.contract.bad_peers import raw_call

__all__ = ["Flood"]


class Flood:
    """It serves and has registered once it is made; `sent` counts its lists, of two in turn."""

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
