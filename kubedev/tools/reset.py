"""`kubedev reset`: labs as they came, and no answers: for whoever begins anew, or rehearsed before a room."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from kubedev.console import Parser, read_file, reason
from kubedev.lab.record import FILE, PROGRESS
from kubedev.tools.lab import own_labs
from kubedev.tools.notebooks import UnknownLabError, all_labs, find, original, whole
from kubedev.views.catalogue import say

__all__ = ["forget", "main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Restore the labs named, or all, and forget what was answered in them; 1 where that was not wanted."""
    parser = Parser(
        "kubedev reset", description="Restore labs as they came, and forget what was answered in them."
    )
    parser.add_argument("labs", nargs="*", metavar="LAB", help="a number or a name (default: all labs)")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    options = parser.parse_args(argv)
    try:
        folder = own_labs()
        notebooks = [find(lab, folder) for lab in options.labs] or all_labs(folder)
        texts = {notebook: original(notebook) for notebook in notebooks}
        if lost := [notebook.name for notebook, text in texts.items() if text is None]:
            parser.error(say("reset.unknown", names=", ".join(lost)))
        names = ", ".join(notebook.stem for notebook in notebooks)
        if not (options.yes or _agreed(say("reset.ask", names=names, folder=folder))):
            print(say("reset.kept"))
            return 1
        for notebook, text in texts.items():
            with whole(notebook) as part:
                part.write_text(text or "", "utf-8")
        forget(folder / FILE, [notebook.name[:2] for notebook in notebooks])
    except (UnknownLabError, OSError) as error:
        parser.error(reason(error))
    print(say("reset.done", count=len(notebooks)))
    return 0


def _agreed(question: str) -> bool:
    """Whether somebody at a terminal says yes; nobody is there to say it elsewhere."""
    if not sys.stdin.isatty():
        print(say("reset.nobody"), file=sys.stderr)
        return False
    return input(question).strip().lower() in ("y", "yes")


def forget(file: Path, labs: Sequence[str]) -> None:
    """Take from a record what belongs to labs, by their two digits."""
    try:
        kept = json.loads(read_file(file))
    except (OSError, ValueError):
        return
    progress = kept.pop(PROGRESS, {})
    left = {key: value for key, value in kept.items() if key[:2] not in labs}
    left[PROGRESS] = {key: value for key, value in progress.items() if key[:2] not in labs}
    with whole(file) as part:
        part.write_text(json.dumps(left, indent=1))
