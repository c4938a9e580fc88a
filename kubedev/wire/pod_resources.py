"""The PodResources API over gRPC: the kubelet's server on its socket, and an agent's client for any kubelet's.

Source: `pkg/kubelet/server/server.go: ListenAndServePodResources`, `pkg/kubelet/apis/podresources/client.go`.
"""

import os
from contextlib import suppress
from functools import partial
from typing import Any

import grpc

from kubedev.api.messages import RpcError
from kubedev.api.podresources import PodResourcesAnswer, PodResourcesRequest
from kubedev.wire.client import CHANNEL_OPTIONS, rpc_error
from kubedev.wire.codec import DecodeError
from kubedev.wire.podresources_codec import METHODS, method_of
from kubedev.wire.server import Replies, SocketServer, in_utf8, target, unary
from kubedev.wire.sockets import KUBELET_SOCKET, SocketDirectoryError, check_socket_path, is_live
from kubedev.wire.transport import OnPodResources

__all__ = ["POD_RESOURCES", "PodResourcesServer", "ask_pod_resources", "pod_resources_path"]

POD_RESOURCES = "pod-resources"

# Agents of Kubernetes take messages up to 16 MiB from the kubelet.
_OPTIONS = [*CHANNEL_OPTIONS, ("grpc.max_receive_message_length", 16 * 1024 * 1024)]


def pod_resources_path(directory: str) -> str:
    """Where a kubelet serves, if nothing else is said: in a folder beside its plugins' sockets."""
    return os.path.join(directory, POD_RESOURCES, KUBELET_SOCKET)


class PodResourcesServer:
    """The kubelet's PodResourcesLister at the path of a socket.

    Each call is handed to `on_request` with the function that answers it; the agent waits until that is called.
    Raises SocketDirectoryError where the path is too long for a socket.
    """

    def __init__(self, path: str, on_request: OnPodResources) -> None:
        self._on_request = on_request
        self._replies: Replies[PodResourcesAnswer] = Replies()
        handlers = {method.path: unary(method, self._answer) for method in METHODS.values()}
        self._server = SocketServer(path, handlers)
        self._made: str | None = None

    def start(self) -> None:
        """Serve; the directory is made where it is missing. Raises SocketDirectoryError."""
        directory = os.path.dirname(self._server.path)
        if is_live(self._server.path):
            raise SocketDirectoryError(
                f"{self._server.path}: a kubelet serves here already. Stop it first, or choose another path."
            )
        if not os.path.isdir(directory):
            try:
                os.makedirs(directory, mode=0o750)
            except OSError as error:
                raise SocketDirectoryError(
                    f"{directory}: cannot be made a directory ({error.strerror}). Choose another one."
                ) from error
            self._made = directory
        self._server.start()

    def stop(self) -> None:
        """Stop serving: agents that wait get an error; the socket is removed, and the directory if it was made here."""
        self._replies.stop()
        self._server.stop()
        if self._made:
            with suppress(OSError):  # somebody put something there
                os.rmdir(self._made)

    def abandon(self) -> None:
        """Remove the socket, and the directory if it was made here: the process is about to end."""
        self._server.abandon()
        if self._made:
            with suppress(OSError):
                os.rmdir(self._made)

    def _answer(self, request: PodResourcesRequest, context: grpc.ServicerContext) -> Any:
        answer = self._replies.wait(lambda reply: self._on_request(request, reply), context)
        if isinstance(answer, RpcError):
            context.abort(grpc.StatusCode.UNKNOWN, in_utf8(answer.message))
        return answer


def ask_pod_resources(path: str, *requests: PodResourcesRequest, timeout: float = 10.0) -> list[Any]:
    """Ask a kubelet's socket; one answer each, an RpcError where it refuses. `timeout` is in seconds for each.

    Raises SocketDirectoryError where the path cannot be a socket's.
    """
    check_socket_path(path)
    with grpc.insecure_channel(target(path), options=_OPTIONS) as channel:
        return list(map(partial(_ask, channel, path, timeout), requests))


def _ask(
    channel: grpc.Channel, path: str, timeout: float, request: PodResourcesRequest
) -> PodResourcesAnswer:
    method = method_of(request)
    call = channel.unary_unary(method.path, method.encode_request, None)
    try:
        return method.decode_response(call(request, timeout=timeout))  # type: ignore[no-any-return]
    except grpc.RpcError as error:
        return rpc_error(error, path)
    except DecodeError as error:
        return RpcError("Internal", f"grpc: failed to unmarshal the received message: {error}")
