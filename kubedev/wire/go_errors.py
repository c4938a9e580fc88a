"""What a Go client says where a call fails, for what gRPC's C core says.

An error reaches a pod's message, an event or a log, so it is worded as on a cluster. C core words only what it finds
itself; a status that the plugin sent comes through as it is. The table was made by letting a Go client and C core
meet the same failures.

Source: `google.golang.org/grpc/internal/transport/http2_client.go, http_util.go`, `rpc_util.go`, `clientconn.go`.
"""

import errno
import http
import os
import re
from collections.abc import Callable
from dataclasses import dataclass

from kubedev.api.gotext import quote
from kubedev.api.messages import RpcError

__all__ = ["CLOSING", "DEADLINE", "MAX_MESSAGE", "in_gos_words", "not_connected", "too_large"]

DEADLINE = "context deadline exceeded"
CLOSING = "grpc: the client connection is closing"
MAX_MESSAGE = 4 * 1024 * 1024
"""The largest message that a Go peer takes, in bytes."""

_HTTP2_CODES = (
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
)
_RST_STREAM_CODES = {3: "ResourceExhausted", 7: "Unavailable", 8: "Canceled", 11: "ResourceExhausted"} | {
    12: "PermissionDenied"
}
_CONNECT_ERRORS = (
    errno.ECONNREFUSED,
    errno.ENOENT,
    errno.EACCES,
    errno.EPERM,
    errno.ENOTDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.EPROTOTYPE,
    errno.EAGAIN,
    errno.EMFILE,
    errno.ENFILE,
)


@dataclass(frozen=True, slots=True)
class _Row:
    """`pattern` is C core's text (with `code`, or with any), `said` Go's: its code (None: the same) and its text."""

    code: str | None
    pattern: str
    said: Callable[[re.Match[str], str], tuple[str | None, str]]


def _says(text: str, code: str | None = None) -> Callable[[re.Match[str], str], tuple[str | None, str]]:
    return lambda match, socket: (code, text.format(*match.groups(), socket=socket))


def _goaway(match: re.Match[str], socket: str) -> tuple[str | None, str]:
    debug = f", debug data: {quote(match[2])}" if match[2] else ""
    return None, (
        'closing transport due to: connection error: desc = "error reading from server: EOF", '
        f"received prior goaway: code: {_http2_code(match[1])}{debug}"
    )


def _rst_stream(match: re.Match[str], socket: str) -> tuple[str | None, str]:
    text = f"stream terminated by RST_STREAM with error code: {_http2_code(match[1])}"
    return _RST_STREAM_CODES.get(int(match[1]), "Internal"), text


def _http_status(match: re.Match[str], socket: str) -> tuple[str | None, str]:
    number = int(match[1])
    phrase = http.HTTPStatus(number).phrase if number in set(http.HTTPStatus) else ""
    return None, f"unexpected HTTP status code received from server: {number} ({phrase})"


def _no_connection(match: re.Match[str], socket: str) -> tuple[str | None, str]:
    """No connection: nobody listens, or who listens does not speak HTTP/2."""
    why = match[1].replace(socket, "")
    for number in _CONNECT_ERRORS:
        if os.strerror(number) in why:
            return None, not_connected(socket, number).message
    if "Connection reset" in why:
        return None, (
            'connection error: desc = "error reading server preface: '
            f'read unix @->{socket}: read: connection reset by peer"'
        )
    cause = "http2: frame too large" if "http1" in why else "EOF"
    return None, f'connection error: desc = "error reading server preface: {cause}"'


def _http2_code(number: str) -> str:
    index = int(number)
    return _HTTP2_CODES[index] if index < len(_HTTP2_CODES) else f"unknown error code 0x{index:x}"


_RESET = "error reading from server: read unix @->{socket}: read: connection reset by peer"
_FRAME = "error reading from server: http2: frame too large"
_TRAILERS = "server closed the stream without sending trailers"

_TABLE = (
    _Row("DeadlineExceeded", "Deadline Exceeded", _says(DEADLINE)),
    _Row("Canceled", "Channel closed!", _says(CLOSING)),
    _Row("Canceled", "Locally cancelled by application!", _says("context canceled")),
    _Row(
        "Unavailable",
        "Socket closed|Cancelling all calls|sendmsg: ?Broken pipe.*",
        _says("error reading from server: EOF"),
    ),
    _Row("Unavailable", "(?:recvmsg|sendmsg): ?Connection reset by peer.*", _says(_RESET)),
    _Row("Unavailable", r"Socket closed \(GOAWAY received; Error code: (\d+); Debug Text: (.*)\)", _goaway),
    _Row("Unavailable", "GOAWAY received.*", _says("the connection is draining")),
    _Row("Unavailable", "failed to connect to all addresses; last error: (.*)", _no_connection),
    _Row(
        "ResourceExhausted",
        r"(?:CLIENT: )?Received message larger than max \((\d+) vs\. (\d+)\)",
        _says("grpc: received message larger than max ({0} vs. {1})"),
    ),
    _Row(None, r"(?:RST_STREAM \()?Received RST_STREAM with error code (\d+)\)?", _rst_stream),
    _Row("Unknown", "Data frame with END_STREAM flag received", _says(_TRAILERS, "Internal")),
    _Row("Unknown", "No status received", _says("")),
    _Row(None, r"Received http2 header with status: (\d+)", _http_status),
    _Row("Internal", "Error parsing 'grpc-status' metadata", _says("transport: malformed grpc-status")),
    _Row(
        "Internal",
        "Compression bit set but no encoding configured",
        _says("grpc: compressed flag set with identity or empty encoding"),
    ),
    _Row("Unknown", r"Failed parsing HTTP/2 \(.*", _says(_FRAME, "Unavailable")),
)


def in_gos_words(code: str, details: str, socket: str) -> RpcError:
    """The error of a call to the plugin at `socket`, for C core's `details`; `code` is named as in Go."""
    wrapped = re.fullmatch(r"Stream removed \((.*)\)", details, re.DOTALL)
    said = wrapped[1] if wrapped else details
    for row in _TABLE:
        if row.code in (None, code) and (match := re.fullmatch(row.pattern, said, re.DOTALL)):
            gos_code, text = row.said(match, socket)
            return RpcError(gos_code or code, text)
    return RpcError(code, details)


def not_connected(socket: str, number: int) -> RpcError:
    """The error of a call where `socket` cannot be connected to; `number` is the system's, of errno."""
    dialing = f"dial unix {socket}: connect: {os.strerror(number).lower()}"
    return RpcError("Unavailable", f'connection error: desc = "transport: Error while dialing: {dialing}"')


def too_large(length: int, limit: int) -> str:
    """What Go says of a message of `length` bytes."""
    return f"grpc: received message larger than max ({length} vs. {limit})"
