"""`kubedev run`: executes labs without a browser, each in a kernel of its own, and says which of them work."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from jupyter_client.kernelspec import NoSuchKernel
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from kubedev.console import Parser, reason, visible
from kubedev.tools.kernels import end_at_signals, kernel_settings, private_folder
from kubedev.tools.notebooks import BadNotebookError, UnknownLabError, all_labs, find, read_notebook, shipped
from kubedev.views.catalogue import say

__all__ = ["CELL_SECONDS", "Outcome", "execute", "main", "own_kernel"]

CELL_SECONDS = 120  # a cell that takes longer hangs: no cell waits for a click or for real minutes


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one lab: `error` is empty where it works, `cell` the id of the cell that failed."""

    lab: str
    seconds: float
    cell: str = ""
    error: str = ""


def main(argv: Sequence[str] | None = None) -> int:
    """Execute the labs named, or all; 1 where one failed, 2 where one is unknown, 130 where the user stopped it."""
    end_at_signals(say("run.stopped"))
    parser = Parser("kubedev run", description="Execute labs; no notebook is written over.")
    parser.add_argument(
        "labs", nargs="*", metavar="LAB", help="a number, a name or a path (default: all labs)"
    )
    options = parser.parse_args(argv)
    folder = shipped()
    try:
        notebooks = [find(lab, folder) for lab in options.labs] or all_labs(folder)
    except UnknownLabError as error:
        parser.error(str(error))
    if not notebooks:
        parser.error(say("run.none", folder=folder))
    console = Console(highlight=False, soft_wrap=True)
    outcomes = [_run_one(notebook, console) for notebook in notebooks]
    return int(any(outcome.error for outcome in outcomes))


def _run_one(notebook: Path, console: Console) -> Outcome:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(escape(visible(notebook.stem)), total=None)
        outcome = execute(notebook, lambda cell, cells: progress.update(task, completed=cell, total=cells))
    console.print(_line(outcome))
    return outcome


def execute(
    notebook: Path,
    on_cell: Callable[[int, int], None] = lambda cell, cells: None,
    timeout: float = CELL_SECONDS,
) -> Outcome:
    """Execute a notebook from the top up to the first cell that fails; its kernel is gone afterwards.

    `on_cell` is called before every cell with the number of cells done and of all; one may take `timeout` seconds.
    """
    start = time.monotonic()
    cell, error = _first_failure(notebook, on_cell, timeout)
    return Outcome(notebook.stem, time.monotonic() - start, cell, error)


@contextmanager
def own_kernel(
    document: NotebookNode, folder: Path, timeout: float, **environment: str
) -> Iterator[NotebookClient]:
    """Start a kernel for a notebook, in a folder, with more variables of environment; it is gone afterwards.

    What cells print comes as messages. What the process itself writes to standard error as it ends, such as a
    library's complaint that a channel is closed, is nobody's.
    """
    with private_folder() as private:
        client = NotebookClient(document, timeout=timeout, config=kernel_settings(private))
        variables = {**os.environ, **environment}
        with client.setup_kernel(cwd=str(folder), env=variables, stderr=subprocess.DEVNULL):
            yield client


def _first_failure(notebook: Path, on_cell: Callable[[int, int], None], timeout: float) -> tuple[str, str]:
    cell_id = ""
    try:
        document = read_notebook(notebook)
        with own_kernel(document, notebook.parent, timeout) as client:
            for index, cell in enumerate(document.cells):
                on_cell(index, len(document.cells))
                cell_id = cell.get("id", str(index))
                client.execute_cell(cell, index)
    except CellExecutionError as error:
        return cell_id, f"{error.ename}: {error.evalue}"
    except CellTimeoutError:
        return cell_id, say("run.timeout", seconds=timeout)
    except DeadKernelError:
        return cell_id, say("run.died")
    except BadNotebookError as error:
        return "", str(error)
    except (OSError, NoSuchKernel, RuntimeError) as error:
        return "", say("run.no_kernel", reason=reason(error))
    return "", ""


def _line(outcome: Outcome) -> str:
    if not outcome.error:
        return say("run.ok", lab=escape(visible(outcome.lab)), seconds=outcome.seconds)
    where = say("run.cell", cell=escape(visible(outcome.cell))) if outcome.cell else ""
    error = escape(visible(outcome.error.splitlines()[0]))
    return say(
        "run.failed", lab=escape(visible(outcome.lab)), seconds=outcome.seconds, where=where, error=error
    )
