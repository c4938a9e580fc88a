"""How a tool hears its user: lines on standard input, and the signals that end it."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress

__all__ = ["at_end_signals", "read_lines"]


def read_lines(descriptor: int) -> Iterator[str]:
    """The lines of a file descriptor, without their ends, until there are no more.

    It is read without sys.stdin, whose lock would be in the way of an exit while a thread waits for a line.
    """
    rest = b""
    with suppress(OSError):
        while data := os.read(descriptor, 65536):
            *lines, rest = (rest + data).split(b"\n")
            yield from (line.decode(errors="replace") for line in lines)
    if rest:
        yield rest.decode(errors="replace")


def at_end_signals(stop: Callable[[], None]) -> None:
    """Call `stop` at SIGTERM and Ctrl-C, which so are clean ends. For the main thread.

    A tool that a shell has put into the background gets no lines, and is not stopped for asking for them.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop())
    if hasattr(signal, "SIGTTIN"):
        signal.signal(signal.SIGTTIN, signal.SIG_IGN)
