"""The socket directory: where a kubelet and its plugins meet, checked before anything is started.

A real kubelet uses /var/lib/kubelet/device-plugins, and deletes all files there but its checkpoint when it
starts. kubedev removes sockets only, and refuses a directory that holds anything else.
"""

import os
import socket
import stat
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from kubedev.wire.owned import owned_folder

__all__ = [
    "CHECKPOINT",
    "KUBELET_SOCKET",
    "MAX_SOCKET_PATH",
    "SocketDirectoryError",
    "check_directory",
    "check_socket_path",
    "have_grpc",
    "have_unix_sockets",
    "is_live",
    "is_socket",
    "prepare",
    "private_directory",
    "read_checkpoint",
    "remove_sockets",
    "require_unix_sockets",
]

KUBELET_SOCKET = "kubelet.sock"
CHECKPOINT = "kubelet_internal_checkpoint"
MAX_SOCKET_PATH = 107  # bytes: the address of a unix socket has room for 108 with a closing zero


class SocketDirectoryError(Exception):
    """The directory cannot serve as a socket directory; the text says why and what to do."""


def have_unix_sockets() -> bool:
    """Whether gRPC can use unix sockets here; where not (Windows, a browser), memory.py steps in."""
    return hasattr(socket, "AF_UNIX") and sys.platform not in ("win32", "emscripten")


def have_grpc() -> bool:
    """Whether labs can be real here: there are unix sockets, and grpcio is installed."""
    return have_unix_sockets() and find_spec("grpc") is not None


def require_unix_sockets() -> None:
    """Raise SocketDirectoryError where there are none."""
    if not have_unix_sockets():
        raise SocketDirectoryError(
            "gRPC has no unix sockets on this platform. The labs' in-memory transport does the same without."
        )


def check_socket_path(path: str) -> None:
    """Raise SocketDirectoryError where `path` is longer than the address of a unix socket may be."""
    length = len(os.fsencode(path))
    if length > MAX_SOCKET_PATH:
        raise SocketDirectoryError(
            f"{path}: a socket's path may have {MAX_SOCKET_PATH} bytes, this one has {length}."
            f" Choose a shorter directory, for example one in {tempfile.gettempdir()}."
        )


def private_directory() -> str:
    """Make a new socket directory for one run: short, and closed to other users (mode 0700).

    Its name says which process it belongs to; those of processes that are gone are removed on the way.
    """
    base = tempfile.gettempdir()
    if len(os.fsencode(base)) > MAX_SOCKET_PATH // 2 and os.path.isdir("/tmp"):
        base = "/tmp"
    return owned_folder(base)


def prepare(directory: str) -> None:
    """Make `directory` ready for a kubelet, as its server does at start; raises before it changes anything.

    The directory is made where it is missing, and the sockets of an earlier run are removed.
    Raises SocketDirectoryError as `check_directory` does, or where it cannot be made.
    (`pkg/kubelet/cm/devicemanager/plugin/v1beta1/server.go: Start`)
    """
    require_unix_sockets()
    kubelet_socket = os.path.join(directory, KUBELET_SOCKET)
    check_socket_path(kubelet_socket)
    try:
        os.makedirs(directory, mode=0o750, exist_ok=True)
    except OSError as error:
        raise SocketDirectoryError(
            f"{directory}: cannot be made a directory ({error.strerror}). Choose another one."
        ) from error
    check_directory(directory)
    remove_sockets(directory)


def check_directory(directory: str) -> None:
    """Raise SocketDirectoryError where a kubelet cannot serve in the directory; nothing is changed.

    That is where the path is too long, the directory cannot be written, another kubelet serves there, or files lie
    there that are neither sockets nor the checkpoint.
    """
    require_unix_sockets()
    kubelet_socket = os.path.join(directory, KUBELET_SOCKET)
    check_socket_path(kubelet_socket)
    if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
        raise SocketDirectoryError(
            f"{directory}: not writable. Choose a directory of your own, or change its mode."
        )
    if is_live(kubelet_socket):
        raise SocketDirectoryError(
            f"{directory}: a kubelet serves here already ({KUBELET_SOCKET} answers)."
            " Stop it first, or choose another directory."
        )
    _refuse_other_files(directory)
    read_checkpoint(directory)


def read_checkpoint(directory: str) -> str | None:
    """The text of the checkpoint file, None where there is none.

    Raises SocketDirectoryError where it cannot be read.
    """
    path = os.path.join(directory, CHECKPOINT)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SocketDirectoryError(
            f"{path}: the checkpoint cannot be read ({error.strerror})."
            " Change its mode, move it away, or choose another directory."
        ) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SocketDirectoryError(
            f"{path}: is not a regular file, and a kubelet has its checkpoint there."
            " Move it away, or choose another directory."
        )
    with open(descriptor, encoding="utf-8", errors="replace") as file:
        return file.read()


def _refuse_other_files(directory: str) -> None:
    others = sorted(
        entry.name
        for entry in os.scandir(directory)
        if not entry.is_dir(follow_symlinks=False)
        and not is_socket(entry.path)
        and not _is_checkpoint(entry.name)
    )
    if others:
        shown = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
        raise SocketDirectoryError(
            f"{directory}: holds files that are neither sockets nor {CHECKPOINT}: {shown}."
            " A kubelet would delete them, kubedev does not: choose an empty directory, or move them away."
        )


def _is_checkpoint(name: str) -> bool:
    """Also one that was being written when its kubelet ended."""
    return name == CHECKPOINT or name.startswith(f".{CHECKPOINT}")


def is_socket(path: str) -> bool:
    """Whether `path` itself, and no file that it links to, is a socket."""
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False


def is_live(path: str) -> bool:
    """Whether somebody listens on the socket at `path`; a file that a dead process left is not live."""
    if not is_socket(path):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(path)
        except BlockingIOError:  # so many wait for it that there is no room: somebody listens
            return True
        except OSError:
            return False
    return True


def remove_sockets(directory: str, keep: str = "") -> None:
    """Remove the sockets in `directory`, but for the path `keep`, and nothing else."""
    for path in Path(directory).iterdir():
        if str(path) != keep and is_socket(str(path)):
            path.unlink(missing_ok=True)
