"""Folders for temporary files that say whose they are, so that what a killed process left can be removed.

The name is `kubedev-PID-START-RANDOM`: the process and when it was started, both in hexadecimal, since numbers of
processes come again.
"""

import os
import re
import shutil
import socket
import stat
import tempfile
from contextlib import suppress

__all__ = ["owned_folder", "sweep"]

_NAME = re.compile("kubedev-([0-9a-f]+)-([0-9a-f]+)-.*")


def owned_folder(base: str) -> str:
    """Make a new folder of this process's in `base`, closed to other users; folders of dead processes go."""
    sweep(base)
    pid = os.getpid()
    return tempfile.mkdtemp(prefix=f"kubedev-{pid:x}-{_start(pid) or 0:x}-", dir=base)


def sweep(base: str, own: bool = False) -> None:
    """Remove the folders in `base` whose process is gone: only the user's, and none where somebody listens.

    With `own` those of this process too, which is about to end.
    """
    with suppress(OSError), os.scandir(base) as entries:
        for entry in entries:
            match = _NAME.fullmatch(entry.name)
            if not match:
                continue
            pid, start = int(match[1], 16), int(match[2], 16)
            if (own and pid == os.getpid()) or (_is_dead(pid, start) and _is_ours(entry)):
                shutil.rmtree(entry.path, ignore_errors=True)


def _start(pid: int) -> int | None:
    """When a process was started, in ticks since the machine's start; None where the system does not say."""
    with (
        suppress(OSError, ValueError, IndexError),
        open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file,
    ):
        return int(file.read().rpartition(")")[2].split()[19])
    return None


def _is_dead(pid: int, start: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # it is somebody else's
        pass
    now = _start(pid)
    return now is not None and start not in (0, now)


def _is_ours(entry: "os.DirEntry[str]") -> bool:
    """Whether it is a folder of this user in which nobody listens: processes are counted anew in a container."""
    try:
        status = entry.stat(follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            return False
        return not any(map(_answers, os.scandir(entry.path)))
    except OSError:
        return False


def _answers(entry: "os.DirEntry[str]") -> bool:
    if not stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode):
        return False
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        return probe.connect_ex(entry.path) == 0
