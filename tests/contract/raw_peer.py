"""A plugin that speaks HTTP/2 by hand, for what no gRPC server would ever send."""

import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeAlias

__all__ = [
    "DATA",
    "GOAWAY",
    "HEADERS",
    "PREFACE",
    "RST_STREAM",
    "SETTINGS",
    "Reply",
    "frame",
    "headers",
    "raw_peer",
]

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
END_STREAM, END_HEADERS, ACK = 1, 4, 1

Reply: TypeAlias = Sequence[bytes]
"""What is sent when a call comes on stream 1; empty bytes close the connection."""


def frame(kind: int, payload: bytes = b"", flags: int = 0, stream: int = 1) -> bytes:
    """One frame of HTTP/2."""
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def headers(*pairs: tuple[str, str], end: bool = False) -> bytes:
    """A frame of headers, each written out in full (HPACK: literal, not indexed, new name)."""
    block = b"".join(
        b"\0" + bytes((len(name),)) + name.encode() + bytes((len(value),)) + value.encode()
        for name, value in pairs
    )
    return frame(HEADERS, block, END_HEADERS | (END_STREAM if end else 0))


@contextmanager
def raw_peer(path: str, reply: Reply, greeting: bytes = frame(SETTINGS, stream=0)) -> Iterator[None]:
    """Listen at `path`; greet each connection, answer its pings, and send `reply` to its first call."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    connections: list[socket.socket] = []

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                connections.append(connection)
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    def serve(connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("rb") as stream:
            if not greeting:
                return
            connection.sendall(greeting)
            stream.read(len(PREFACE))
            while head := stream.read(9):
                payload = stream.read(int.from_bytes(head[:3], "big"))
                if head[3] == SETTINGS and not head[4] & ACK:
                    connection.sendall(frame(SETTINGS, flags=ACK, stream=0))
                elif head[3] == PING and not head[4] & ACK:
                    connection.sendall(frame(PING, payload, ACK, 0))
                elif head[3] == HEADERS:
                    for part in reply:
                        if not part:
                            connection.shutdown(socket.SHUT_RDWR)
                            return
                        connection.sendall(part)

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        thread.join()
