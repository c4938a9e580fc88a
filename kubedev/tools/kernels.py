"""Where kernels listen and write, and how they are ended.

Their channels are unix sockets in a folder of our own, so that nobody else can reach them. ipykernel opens one port on
127.0.0.1 besides, for what processes print that a cell forks; who does not know the kernel's key is not heard there.
"""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from traitlets.config import Config

from kubedev.console import END_SIGNALS, is_terminal
from kubedev.tools.keeper import adopt_orphans
from kubedev.tools.notebooks import PARTS
from kubedev.wire.owned import owned_folder, sweep
from kubedev.wire.sockets import have_unix_sockets

__all__ = ["end_at_signals", "end_descendants", "kernel_settings", "private_folder", "transport"]

_LONGEST = 14
"""Bytes: what a kernel's socket adds to the folder for temporary files comes to 86 of 103 (macOS)."""
TIME_TO_END = 20.0
"""Seconds: a kernel ends its labs' processes and takes their files away, which a busy machine does slowly."""


def kernel_settings(folder: Path) -> Config:
    """Return Jupyter's settings for one kernel that has its connection file, and its sockets, in `folder`."""
    manager = {"transport": transport(), "connection_file": f"{folder}/kernel.json"}
    return Config(KernelManager={**manager, "shutdown_wait_time": TIME_TO_END})


def transport() -> str:
    """Return how a kernel is to be reached, in Jupyter's words: `ipc` by unix sockets, `tcp` where there are none."""
    return "ipc" if have_unix_sockets() else "tcp"


@contextmanager
def private_folder() -> Iterator[Path]:
    """Yield a new folder for what a run of Jupyter writes, closed to other users; it goes with the run.

    Jupyter and IPython take it for all their folders meanwhile, so that nothing is written into the user's home.
    Kernels have their sockets in it, which asks for a short path.
    """
    folder = Path(owned_folder(_base()))
    before = dict(os.environ)
    os.environ.update({name: str(folder / path) for name, path in _FOLDERS.items()})
    try:
        yield folder
    finally:
        for name in _FOLDERS:
            os.environ.pop(name, None)
            if name in before:
                os.environ[name] = before[name]
        shutil.rmtree(folder, ignore_errors=True)


_FOLDERS = {
    "JUPYTER_RUNTIME_DIR": "",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTER_CONFIG_DIR": "config",
    "IPYTHONDIR": "ipython",
}


def _base() -> str:
    base = tempfile.gettempdir()
    return "/tmp" if len(os.fsencode(base)) > _LONGEST and os.path.isdir("/tmp") else base


def end_at_signals(said: str = "") -> None:
    """From now on a signal ends this process with its kernels and folders, at once; `said` is printed then.

    An exception would be met by Jupyter's own threads and loops, anywhere. The exit status is 130.
    """

    def end(*_: object) -> None:
        for number in END_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        end_descendants()
        for part in list(PARTS):
            with suppress(OSError):
                part.unlink(missing_ok=True)
        for base in {_base(), tempfile.gettempdir()}:
            sweep(base, own=True)
        with suppress(OSError):
            shown = f"\r\x1b[2K\x1b[?25h{said}" if is_terminal(1) else said
            os.write(1, f"{shown}\n".encode() if said else b"")
        os._exit(130)

    for number in END_SIGNALS:
        signal.signal(number, end)


def end_descendants() -> None:
    """Kill the processes that this one started; what those started ends by itself, or is killed 3 s later.

    Orphans become children of this process: a kernel may start another one in the moment in which it is killed.
    """
    adopt_orphans()
    for pid, parent in _descendants(os.getpid()).items():
        if parent == os.getpid():
            _kill(pid)
    begun = time.monotonic()
    while left := [pid for pid in _descendants(os.getpid()) if _runs(pid)]:
        waited = time.monotonic() - begun
        if waited > 4:  # seconds; what was killed is gone much earlier
            return
        if waited > 3:
            for pid in left:
                _kill(pid)
        time.sleep(0.02)


def _descendants(root: int) -> dict[int, int]:
    """The processes below one, with their parents; empty where the system has no /proc."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            parents[int(path.parent.name)] = int(
                path.read_text(errors="replace").rpartition(")")[2].split()[1]
            )
    below = {root}
    while more := {pid for pid, parent in parents.items() if parent in below and pid not in below}:
        below |= more
    return {pid: parents[pid] for pid in below if pid != root}


def _kill(pid: int) -> None:
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)


def _runs(pid: int) -> bool:
    with suppress(OSError):
        os.waitpid(pid, os.WNOHANG)
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return False
