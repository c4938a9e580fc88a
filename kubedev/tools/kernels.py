"""Where kernels listen: on unix sockets in a folder of our own, so that nobody else can reach them."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from traitlets.config import Config

from kubedev.wire.sockets import have_unix_sockets

__all__ = ["kernel_settings", "private_folder", "transport"]

_LONGEST = (
    30  # bytes: what a kernel's socket adds to the folder for temporary files comes to 68 of 103 (macOS)
)
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

    Kernels have their sockets in it, which asks for a short path.
    """
    base = tempfile.gettempdir()
    if len(os.fsencode(base)) > _LONGEST and os.path.isdir("/tmp"):
        base = "/tmp"
    with tempfile.TemporaryDirectory(prefix="kubedev-", dir=base, ignore_cleanup_errors=True) as folder:
        yield Path(folder)
