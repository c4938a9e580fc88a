"""`kubedev slides`: executes labs and makes slides of them, each one file that needs neither kernel nor network."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import NoSuchKernel
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from rich.console import Console
from rich.markup import escape

from kubedev.console import Parser, reason, visible
from kubedev.lab.recording import MIME
from kubedev.tools.course import outlined
from kubedev.tools.deck import Code, deck_html
from kubedev.tools.handout import BROWSERS, browser, print_pdf
from kubedev.tools.kernels import end_at_signals
from kubedev.tools.lab import own_labs
from kubedev.tools.notebooks import (
    BadNotebookError,
    UnknownLabError,
    all_labs,
    find,
    original,
    parsed,
    read_notebook,
    shipped,
    whole,
)
from kubedev.tools.run import CELL_SECONDS, own_kernel
from kubedev.views.catalogue import say

__all__ = ["BrokenLabError", "main", "make", "record"]

WIDGET = "application/vnd.jupyter.widget-view+json"
BEGIN = """from kubedev.views import style as _style
_style.WIDTH = 720  # before any picture is known: drawn for slides, which show them 1240 wide
from kubedev.lab import recording as _recording
_recording.begin()"""


class BrokenLabError(Exception):
    """A cell fails; the message names it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Make slides of the labs named, or of all; 1 where one cannot be executed, 2 where one is unknown."""
    end_at_signals(say("slides.stopped"))
    parser = Parser("kubedev slides", description="Execute labs and make slides of them.")
    parser.add_argument(
        "labs", nargs="*", metavar="LAB", help="a number, a name or a path (default: all labs)"
    )
    parser.add_argument(
        "--pdf", action="store_true", help="a handout besides: a page a slide (needs chromium)"
    )
    code = parser.add_mutually_exclusive_group()
    code.add_argument(
        "--code",
        action="store_const",
        const="all",
        default="read",
        help="all code, not only what is to be read",
    )
    code.add_argument("--no-code", action="store_const", const="none", dest="code", help="no code at all")
    parser.add_argument(
        "--mine",
        action="store_true",
        help="from the labs as you left them, not as they came; a path always is",
    )
    parser.add_argument("--out", type=Path, default=Path("slides"), metavar="DIR", help="default: slides")
    options = parser.parse_args(argv)
    folder = own_labs() if options.mine else shipped()
    try:
        notebooks = [find(lab, folder) for lab in options.labs] or all_labs(folder)
        options.out.mkdir(parents=True, exist_ok=True)
    except (UnknownLabError, OSError) as error:
        parser.error(reason(error))
    if not notebooks:
        parser.error(say("slides.none", folder=folder))
    if options.pdf and not browser():
        parser.error(say("slides.no_browser", names=", ".join(BROWSERS)))
    console = Console(highlight=False, soft_wrap=True)
    return max([_make_one(notebook, options, console) for notebook in notebooks])


def _make_one(notebook: Path, options: argparse.Namespace, console: Console) -> int:
    try:
        with console.status(escape(visible(notebook.stem))):
            made = [make(notebook, options.out, options.code, mine=options.mine)]
            made += [print_pdf(made[0])] if options.pdf else []
    except (BrokenLabError, BadNotebookError, NoSuchKernel, RuntimeError, OSError) as error:
        lab, why = escape(visible(notebook.stem)), escape(visible(reason(error).splitlines()[0]))
        console.print(say("slides.failed", lab=lab, error=why))
        return 1
    for file in made:
        console.print(say("slides.made", file=escape(visible(str(file))), size=file.stat().st_size / 1e6))
    return 0


def make(notebook: Path, out: Path, code: Code = "read", *, mine: bool = False) -> Path:
    """Execute a notebook, as it came unless `mine`, and write its slides to `out`; the file. Raises BrokenLabError."""
    came = None if mine else original(notebook)
    document, pictures = record(notebook, read_notebook(notebook) if came is None else parsed(came))
    file = out / f"{notebook.stem}.html"
    html = deck_html(document, pictures, notebook.parent, code, outlined(notebook.stem, document).minutes)
    with whole(file) as part:
        part.write_text(html, "utf-8", errors="replace")
    return file


def record(notebook: Path, document: NotebookNode | None = None) -> tuple[NotebookNode, dict[str, str]]:
    """Execute a notebook, or a document in its place; with its outputs, and the HTML of its pictures by widgets' ids.

    Raises BrokenLabError where a cell fails.
    """
    document = document or read_notebook(notebook)
    plotly = {"PLOTLY_RENDERER": "plotly_mimetype"}  # figures as data
    with own_kernel(document, notebook.parent, CELL_SECONDS, **plotly) as client:
        _run(client, BEGIN)
        for index, cell in enumerate(document.cells):
            _execute(client, cell, index)
        outputs = _run(client, f"_recording.hand_over({_models(document)!r})")
    return document, next(dict(output.data[MIME]) for output in outputs if MIME in output.get("data", {}))


def _execute(client: NotebookClient, cell: NotebookNode, index: int) -> None:
    where = say("run.cell", cell=cell.get("id", index))
    try:
        client.execute_cell(cell, index)
    except CellExecutionError as error:
        raise BrokenLabError(f"{where}{error.ename}: {error.evalue}") from error
    except CellTimeoutError as error:
        raise BrokenLabError(where + say("run.timeout", seconds=CELL_SECONDS)) from error
    except DeadKernelError as error:
        raise BrokenLabError(where + say("run.died")) from error


def _run(client: NotebookClient, code: str) -> list[NotebookNode]:
    """Execute code of our own after the notebook's cells; its outputs."""
    cell = nbformat.v4.new_code_cell(code)
    client.nb.cells.append(cell)
    client.execute_cell(cell, len(client.nb.cells) - 1)
    client.nb.cells.remove(cell)
    return list(cell.outputs)


def _models(document: NotebookNode) -> list[str]:
    """The ids of the widgets that are shown."""
    outputs = [output for cell in document.cells for output in cell.get("outputs", [])]
    return [data[WIDGET]["model_id"] for o in outputs if WIDGET in (data := o.get("data", {}))]
