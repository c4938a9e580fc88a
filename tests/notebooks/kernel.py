"""A kernel in which a test runs a notebook's cells one at a time, and sees what they leave behind."""

import os
import re
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import nbformat
from nbclient import NotebookClient

from kubedev.tools.kernels import kernel_settings, private_folder
from tests.lab_server import MARK, left_over, marked, private_environment

CELL_SECONDS = 60
THREADS = """import threading
threads = [thread for thread in threading.enumerate() if not type(thread).__module__.startswith("zmq.")]
print(*(thread.name for thread in threads), sep="\\n")"""
"""All but pyzmq's own: it starts one when the first large message is sent, whoever sends it."""


class Kernel:
    """A notebook with a kernel; `temporary` is the folder for temporary files of all its processes."""

    def __init__(self, client: NotebookClient, temporary: Path, mark: str) -> None:
        self.client = client
        self.cells: list[nbformat.NotebookNode] = list(client.nb.cells)
        self.temporary = temporary
        self.mark = mark

    def run(self, cells: Iterable[nbformat.NotebookNode]) -> None:
        """Run cells; raises where one fails, with its text and the traceback."""
        for cell in cells:
            self.client.execute_cell(cell, self.cells.index(cell))

    def say(self, source: str) -> list[str]:
        """Run some source that is not in the notebook; the lines it prints."""
        cell = nbformat.v4.new_code_cell(source)
        self.client.nb.cells.append(cell)
        self.client.execute_cell(cell, len(self.client.nb.cells) - 1)
        return "".join(output.text for output in cell.outputs if output.output_type == "stream").splitlines()

    def interrupt(self) -> None:
        """Interrupt the cell that runs as Jupyter does: the kernel and all processes of its group."""
        os.killpg(self.client.km.provisioner.process.pid, signal.SIGINT)

    def census(self) -> dict[str, Counter[str]]:
        """The processes, threads and sockets there are now; numbers in their names do not count."""
        return {
            "processes": _count(" ".join(process.cmdline()) for process in marked(self.mark)),
            "threads": _count(self.say(THREADS)),
            "sockets": _count(path.name for path in self.temporary.rglob("*") if path.is_socket()),
        }

    def settle(self, census: dict[str, Counter[str]], seconds: float = 10) -> dict[str, Counter[str]]:
        """The census as soon as nothing is there that was not in an earlier one, or after some seconds."""
        end = time.monotonic() + seconds
        while any(self.census()[kind] - census[kind] for kind in census) and time.monotonic() < end:
            time.sleep(0.2)
        return self.census()


def _count(names: Iterable[str]) -> Counter[str]:
    return Counter(re.sub(r"(?<=kubedev-)[\w-]+|\d+", "#", name) for name in names)


@contextmanager
def kernel_of(notebook: Path, **variables: str) -> Iterator[Kernel]:
    """A notebook's kernel, with more variables of environment; where it was ended in order, nothing of it is left."""
    mark = uuid4().hex
    temporary = Path(tempfile.mkdtemp(prefix="kt-", dir="/tmp"))
    home = temporary / "home"
    home.mkdir()
    environment = {**private_environment(home), MARK: mark, "TMPDIR": str(temporary), **variables}
    document = nbformat.read(notebook, as_version=4)
    with private_folder() as private:
        client = NotebookClient(document, timeout=CELL_SECONDS, config=kernel_settings(private))
        with client.setup_kernel(cwd=str(notebook.parent), env=environment):
            yield Kernel(client, temporary, mark)
    assert left_over(mark) == []
    left = [path.name for path in temporary.iterdir() if path != home]
    shutil.rmtree(temporary)
    assert not left, left
