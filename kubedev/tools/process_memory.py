"""How much memory the process has that listens on a socket."""

import os
import socket
import struct
from contextlib import suppress

__all__ = ["listener", "resident"]


def listener(path: str) -> int | None:
    """The id of the process that listens on a unix socket; None where the system does not say. (`man 7 unix`)"""
    with suppress(OSError, AttributeError), socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        probe.connect(path)
        pid, _, _ = struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return pid or None
    return None


def resident(pid: int) -> int | None:
    """The memory of a process that is in use, in bytes; None where the system does not say."""
    with suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return None
