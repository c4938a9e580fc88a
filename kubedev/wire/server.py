"""gRPC servers on unix sockets, and the kubelet's one: Registration on kubelet.sock.

A server binds under a hidden name and is then renamed to its path. So nobody sees the socket before it
serves, and a server that stops removes its own file only: gRPC by itself would delete whatever has come to
lie at its path since.
"""

import errno
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import quote

import grpc

from kubedev.api.messages import Empty, RegisterRequest
from kubedev.wire.codec import REGISTER, DecodeError, Method
from kubedev.wire.daemon_threads import DaemonThreads
from kubedev.wire.go_errors import MAX_MESSAGE, too_large
from kubedev.wire.sockets import KUBELET_SOCKET, SocketDirectoryError, check_socket_path, is_socket
from kubedev.wire.transport import OnRegister

__all__ = ["GO_LIMITS", "RegistrationServer", "Replies", "SocketServer", "in_utf8", "target", "unary"]

# As a Go peer has them: messages received up to 4 MiB, error texts and other metadata up to 16 MiB.
GO_LIMITS = [
    ("grpc.max_receive_message_length", MAX_MESSAGE),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_metadata_size", 16 * 1024 * 1024),
    ("grpc.absolute_max_metadata_size", 16 * 1024 * 1024),
]

R = TypeVar("R")
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


# A server takes more, so that it can refuse it in Go's words.
_SERVER_LIMITS = [*GO_LIMITS[1:], ("grpc.max_receive_message_length", 4 * MAX_MESSAGE)]


def target(path: str) -> str:
    """The gRPC name of a socket. It is a URI, in which a space or a percent sign must be quoted."""
    return "unix:" + quote(os.fsencode(path))


def unary(method: Method, answer: Callable[[Any, grpc.ServicerContext], Any]) -> Handler:
    """A handler that decodes by itself: what is no request is refused as in Go, without a traceback."""

    def handle(data: bytes, context: grpc.ServicerContext) -> bytes:
        if len(data) > MAX_MESSAGE:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, too_large(len(data), MAX_MESSAGE))
        try:
            request = method.decode_request(data)
        except DecodeError as error:
            context.abort(grpc.StatusCode.INTERNAL, f"grpc: error unmarshalling request: {error}")
        return method.encode_response(answer(request, context))

    return grpc.unary_unary_rpc_method_handler(handle)


def in_utf8(text: str) -> str:
    """A text for a status: what is not UTF-8 becomes U+FFFD, as in Go (`http_util.go: encodeGrpcMessage`)."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


class _Services(grpc.GenericRpcHandler):  # type: ignore[type-arg]
    """Finds the handler of an RPC; says in Go's words that there is none, for example to a v1alpha plugin."""

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers = handlers

    def service(self, details: grpc.HandlerCallDetails) -> Handler:
        return self._handlers.get(details.method) or self._unknown(details.method)

    def _unknown(self, path: str) -> Handler:
        service, _, method = path.removeprefix("/").rpartition("/")
        text = f"unknown service {service}"
        if any(known.startswith(f"/{service}/") for known in self._handlers):
            text = f"unknown method {method} for service {service}"

        def refuse(_: Iterator[bytes], context: grpc.ServicerContext) -> None:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, text)

        return grpc.stream_stream_rpc_method_handler(refuse)


class SocketServer:
    """A gRPC server at the path of a unix socket, from `start` to `stop`. It is started once."""

    def __init__(self, path: str, handlers: Mapping[str, Handler]) -> None:
        check_socket_path(path)
        self.path = path
        self._inode: int | None = None
        self._threads = DaemonThreads(f"serve {os.path.basename(path)}")
        self._server = grpc.server(
            self._threads,  # type: ignore[arg-type]  # its stubs want a pool, it takes any executor
            handlers=[_Services(handlers)],
            options=_SERVER_LIMITS,
        )

    def start(self, put: Callable[[str, str], None] = os.rename) -> None:
        """Serve; a socket at the path is replaced. Raises SocketDirectoryError where that is impossible.

        `put(hidden, path)` brings the socket, which serves already under a hidden name, to its path.
        """
        if os.path.lexists(self.path) and not is_socket(self.path):
            raise SocketDirectoryError(f"{self.path}: is in the way and no socket. Move it away.")
        directory = os.path.dirname(self.path)
        hidden = os.path.join(directory, f".{os.getpid():x}{id(self) >> 4 & 0xFFFF:x}")
        check_socket_path(hidden)
        try:
            self._server.add_insecure_port(target(hidden))
            self._server.start()
            self._inode = os.stat(hidden).st_ino
            put(hidden, self.path)
        except (RuntimeError, OSError) as error:
            self.stop()
            if os.path.isdir(directory) and not os.access(directory, os.W_OK | os.X_OK):
                raise SocketDirectoryError(
                    f"{self.path}: no socket can be made there, permission is missing to write to {directory}."
                ) from PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            raise SocketDirectoryError(
                f"{self.path}: no socket can be made there. Is {directory} a directory that you may write to?"
            ) from error

    def owns_path(self) -> bool:
        """Whether the socket at the path is still the one that this server made."""
        try:
            return os.lstat(self.path).st_ino == self._inode
        except OSError:
            return False

    def stop(self, remove_socket: bool = True, grace: float | None = None) -> None:
        """End all calls, wait for their threads, and remove the socket if it is still ours.

        Calls that are about to end by themselves have `grace` seconds for it.
        """
        self._server.stop(grace).wait()
        self._threads.shutdown()
        if remove_socket:
            self.abandon()

    def abandon(self) -> None:
        """Remove the socket if it is still ours, and leave all else."""
        if self.owns_path():
            with suppress(FileNotFoundError):
                os.unlink(self.path)


class Replies(Generic[R]):
    """Calls that wait until somebody else has their answer, and are let go when the server stops."""

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._waiting: set[threading.Event] = set()

    def wait(self, ask: Callable[[Callable[[R], None]], None], context: grpc.ServicerContext) -> R:
        """Hand the function that answers to `ask`, and wait for it to be called; aborts where the kubelet stops."""
        replied = threading.Event()
        answers: list[R] = []

        def reply(answer: R) -> None:
            answers.append(answer)
            replied.set()

        self._waiting.add(replied)
        if not self._stopping.is_set():
            ask(reply)
            replied.wait()
        self._waiting.discard(replied)
        if not answers:
            context.abort(grpc.StatusCode.UNAVAILABLE, "the kubelet is stopping")
        return answers[0]

    def stop(self) -> None:
        """Let all calls go, those that come later too."""
        self._stopping.set()
        for replied in list(self._waiting):
            replied.set()


class RegistrationServer:
    """The kubelet's Registration service on `kubelet.sock` in a directory that `sockets.prepare` made ready.

    Each Register call is handed to `on_register` with the function that replies to it; the plugin waits
    until that is called. (`pkg/kubelet/cm/devicemanager/plugin/v1beta1/server.go`)
    """

    def __init__(self, directory: str, on_register: OnRegister) -> None:
        self._on_register = on_register
        self._replies: Replies[str | None] = Replies()
        self._server = SocketServer(
            os.path.join(directory, KUBELET_SOCKET), {REGISTER.path: unary(REGISTER, self._register)}
        )

    @property
    def path(self) -> str:
        """The path of kubelet.sock."""
        return self._server.path

    def start(self, put: Callable[[str, str], None] = os.rename) -> None:
        """Serve. Raises SocketDirectoryError."""
        self._server.start(put)

    def kill(self) -> None:
        """Break all connections and leave the socket's file behind, as a kubelet that dies does."""
        self._replies.stop()
        self._server.stop(remove_socket=False)

    def stop(self) -> None:
        """Stop serving: plugins that wait for a reply get an error, no thread and no socket file is left."""
        self._replies.stop()
        self._server.stop()

    def abandon(self) -> None:
        """Remove the socket and leave all else: the process is about to end."""
        self._server.abandon()

    def _register(self, request: RegisterRequest, context: grpc.ServicerContext) -> Empty:
        error = self._replies.wait(lambda reply: self._on_register(request, reply), context)
        if error is not None:
            context.abort(grpc.StatusCode.UNKNOWN, in_utf8(error))
        return Empty()
