"""What all commands have in common: how they read their arguments, what they print, and how they end.

A command says what is wrong in one sentence and with an exit status; a control character in a text is shown, and never
sent to a terminal. `kubedev.__main__` prepares and leaves by `prepared` and `flushed`, before and after heavy imports.
"""

import argparse
import errno
import io
import json
import os
import re
import select
import signal
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, NoReturn

__all__ = [
    "END_SIGNALS",
    "Ending",
    "Parser",
    "end_quietly",
    "flushed",
    "has_directory",
    "is_terminal",
    "json_line",
    "prepared",
    "read_bytes",
    "read_file",
    "reason",
    "visible",
    "write",
]

END_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""What a user, a shell or a machine that goes down sends."""

PATIENCE = 0.7
"""Seconds that a command has to end in order after a signal, before it is ended as it is."""

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """The text with its control characters shown, but for tabs and ends of lines: ESC as `\\x1b`."""
    return _CONTROL.sub(_shown, text)


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def json_line(values: Any, indent: int | None = None) -> str:
    """Values as JSON, readable and safe for a terminal; a byte that is not UTF-8 is a lone surrogate's escape."""
    text = json.dumps(values, ensure_ascii=False, indent=indent)
    return _CONTROL.sub(lambda match: match[0] if match[0] == "\n" else f"\\u{ord(match[0]):04x}", text)


def reason(error: Exception) -> str:
    """What a system error says, without Python's words: `notes.txt: Permission denied`."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, UnicodeDecodeError):
        return f"is not UTF-8 (byte {error.start})"
    return str(error)


MAX_FILE = 64 << 20
"""So many bytes of a file are read at most."""


def read_file(path: str | os.PathLike[str]) -> str:
    """The text of a file in UTF-8. Raises UnicodeDecodeError, and OSError as `read_bytes` does."""
    return io.TextIOWrapper(io.BytesIO(read_bytes(path)), encoding="utf-8").read()


def read_bytes(path: str | os.PathLike[str], limited: bool = True) -> bytes:
    """What is in a file; a pipe that a shell hands over is read too (`<(...)`, `/dev/stdin`).

    Raises OSError, also for what could be waited for without end: a named pipe, a device, a file of more than 64 MiB
    where it is `limited`.
    """
    name = os.fspath(path)
    if not name:  # a path of its own would make the current directory of it
        raise OSError(errno.ENOENT, "the name of the file is empty")
    if "\0" in name:
        raise OSError(errno.EINVAL, "the name of the file has a NUL in it")
    descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISFIFO(mode) and name.startswith("/dev/"):
        os.set_blocking(descriptor, True)
    elif not stat.S_ISREG(mode):
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "is a directory, expected a file", name)
        raise OSError(errno.EINVAL, "Not a regular file", name)
    with open(descriptor, "rb") as file:
        if not limited:
            return file.read()
        content = file.read(MAX_FILE + 1) if os.fstat(descriptor).st_size <= MAX_FILE else None
    if content is None or len(content) > MAX_FILE:
        raise OSError(errno.EFBIG, f"File too large: more than {MAX_FILE >> 20} MiB", name)
    return content


class Parser(argparse.ArgumentParser):
    """Reads arguments; what is wrong with them is said in one sentence, with exit status 2."""

    def error(self, message: str) -> NoReturn:
        super().error(visible(message))

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print, and do not hide that it cannot be printed, as argparse does."""
        stream = file or sys.stderr
        try:
            stream.write(message)
        except OSError as error:
            if stream is sys.stdout:
                raise OSError(error.errno, error.strerror, "standard output") from None


# Standard streams


def prepared() -> None:
    """Make a process fit for a command: standard streams are open, and a signal during imports ends it without a word.

    A stream that was closed is /dev/null: its number would be given to the first file opened otherwise.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, "w" if descriptor else "r", encoding="utf-8"))  # noqa: SIM115
    end_quietly()


def end_quietly() -> None:
    """Let a signal end this process at once: there is nothing to put in order."""
    if threading.current_thread() is threading.main_thread():
        for number in END_SIGNALS:
            signal.signal(number, signal.SIG_DFL)


def flushed(command: str, code: int) -> int:
    """Write out what was printed; the exit status, which is 1 where that is impossible."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # nobody reads any more
        _give_up(sys.stdout)
    except OSError as error:
        _give_up(sys.stdout)
        return told(command, f"standard output: {error.strerror}", code or 1)
    return code


def _give_up(stream: IO[str]) -> None:
    """Drop what a stream holds, so that it is not tried again at the end of the process."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def told(command: str, sentence: str, code: int = 1) -> int:
    """Say why a command ends; the exit status."""
    with suppress(OSError):
        print(visible(f"{command}: {sentence}"), file=sys.stderr, flush=True)
    return code


def has_directory() -> bool:
    """Whether the current directory is there; it may have been deleted."""
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def is_terminal(descriptor: int) -> bool:
    """Whether there is a terminal at a file descriptor, which may be closed."""
    return os.isatty(descriptor)


def write(text: str, stopping: Callable[[], bool]) -> None:
    """Write a line to standard output at once. A reader that is slow is waited for until `stopping`.

    One that is gone is none; raises OSError where it cannot be written for another reason.
    """
    rest = f"{text}\n".encode(errors="backslashreplace")
    while rest and not stopping():
        if select.select([], [1], [], 0.1)[1]:
            try:
                rest = rest[os.write(1, rest[:_PIPE]) :]
            except BrokenPipeError:
                return
            except OSError as error:
                if error.errno != errno.EAGAIN:
                    raise OSError(error.errno, error.strerror, "standard output") from None


_PIPE = 4096
"""So many bytes fit where select says that there is room (`man 7 pipe`: PIPE_BUF)."""


# The end


class Ending:
    """Signals that end a command: the first asks it to, and it is ended as it is where it does not follow.

    `of` says how: `ask` is called on the main thread, wherever that is, `at_last` on another one `PATIENCE` seconds
    later. A signal before that is kept.
    """

    def __init__(self, code: int = 0) -> None:
        self._ask: Callable[[], None] | None = None
        self._at_last: Callable[[], None] | None = None
        self._code = code
        self.asked = False
        for number in END_SIGNALS:
            signal.signal(number, self._signalled)
        if hasattr(signal, "SIGTTIN"):  # in the background there are no lines: no reason to be stopped
            signal.signal(signal.SIGTTIN, signal.SIG_IGN)

    def of(self, ask: Callable[[], None], at_last: Callable[[], None]) -> None:
        """Say what is to be done at the end."""
        self._ask, self._at_last = ask, at_last
        if self.asked:
            ask()

    def _signalled(self, *_: object) -> None:
        if self.asked:
            return
        self.asked = True
        last = threading.Timer(PATIENCE, self._end)
        last.daemon = True
        last.start()
        if self._ask:
            self._ask()

    def _end(self) -> None:
        with suppress(Exception):
            if self._at_last:
                self._at_last()
        os._exit(self._code)
