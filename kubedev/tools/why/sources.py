"""Bytes in: files and standard input, packed or not, from any machine."""

import gzip
import mmap
import os
import sys
import time
import zlib
from typing import Any

from kubedev.console import read_bytes, reason, visible

__all__ = ["STANDARD_INPUT", "DumpError", "Progress", "is_json", "read_source"]

STANDARD_INPUT = "-"
PACKED = b"\x1f\x8b"
LARGE = 1 << 20
"""From so many bytes on a file is not copied into memory."""
BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


class DumpError(ValueError):
    """Input that cannot be used; the text says what was expected, what came and what to do."""


class Progress:
    """Says on a terminal what goes on, once it takes longer than a second."""

    def __init__(self, shown: bool) -> None:
        self._shown, self._begun, self._written = shown, time.monotonic(), False

    def says(self, what: str) -> None:
        """Say what goes on now."""
        if self._shown and time.monotonic() - self._begun > 1:
            print(f"\r\x1b[K\x1b[2m{visible(what)} …\x1b[0m", end="", file=sys.stderr, flush=True)
            self._written = True

    def clear(self) -> None:
        """Take it back."""
        if self._written:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._written = False


def read_source(name: str) -> Any:
    """What is in a file, or comes from standard input (`-`), in UTF-8: bytes, or a large file as it lies on the disk.

    Raises DumpError.
    """
    try:
        if name != STANDARD_INPUT and os.path.isfile(name) and os.path.getsize(name) > LARGE:
            with open(name, "rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            if (
                mapped[:2] not in (PACKED, *(mark[:2] for mark, _ in BYTE_ORDER_MARKS))
                and mapped[:4096].strip()
            ):
                return mapped
        data = sys.stdin.buffer.read() if name == STANDARD_INPUT else read_bytes(name, limited=False)
    except (OSError, ValueError) as error:
        raise DumpError(f"{reason(error)}") from None
    return unpacked(data, name)


def unpacked(data: bytes, name: str) -> bytes:
    """The same in UTF-8 and not packed. Raises DumpError."""
    if data.startswith(PACKED):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            raise DumpError(f"{name}: is cut off or broken as a gzip file: make it again") from None
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            try:
                data = data.decode(encoding).encode()
            except UnicodeDecodeError:
                raise DumpError(
                    f"{name}: begins as {encoding} and does not go on so: write it as UTF-8"
                ) from None
    if not data or data.isspace():
        raise DumpError(f"{name}: is empty: expected what `kubectl get nodes,pods -A -o json` prints")
    return data


def is_json(data: Any) -> bool:
    """Whether it begins as JSON does."""
    return data[:4096].lstrip()[:1] in (b"{", b"[")
