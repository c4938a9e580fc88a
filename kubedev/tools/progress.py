"""`kubedev progress`: what was predicted and solved, from the record beside the labs; for a room, of many folders."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from kubedev.console import Parser, read_file, visible
from kubedev.lab.record import FILE, PROGRESS
from kubedev.tools.lab import own_labs
from kubedev.views.catalogue import say

__all__ = ["main", "summary"]

Count = Counter[str]


def main(argv: Sequence[str] | None = None) -> int:
    """Show the record of the labs here, or of each folder named; 1 where there is none."""
    parser = Parser(
        "kubedev progress",
        description="Show what was predicted and solved. It is read from a file beside the labs; nothing is sent.",
    )
    parser.add_argument(
        "folders",
        nargs="*",
        type=Path,
        metavar="DIR",
        help=f"folders with a {FILE}, for a room (default: the labs here)",
    )
    options = parser.parse_args(argv)
    folders = options.folders or [own_labs()]
    found = {str(folder): read for folder in folders if (read := _read(folder)) is not None}
    for folder in folders:
        if str(folder) not in found:
            print(say("progress.none", folder=visible(str(folder)), file=FILE))
    if found:
        Console(highlight=False).print(_room(found) if options.folders else _labs(*found.values()))
    return 0 if found else 1


def summary(progress: Mapping[str, bool]) -> dict[str, Count]:
    """Return by lab how many predictions were made and right, and how many checks were tried and good."""
    labs: dict[str, Count] = {}
    for key, good in sorted(progress.items()):
        kind = "check" if key.endswith("-check") else "prediction"
        labs.setdefault(key[:2], Counter()).update({kind: 1, f"{kind} good": int(good)})
    return labs


def _read(folder: Path) -> dict[str, bool] | None:
    try:
        kept = json.loads(read_file(folder / FILE))
        return {str(key): bool(good) for key, good in kept.get(PROGRESS, {}).items()}
    except (OSError, ValueError, AttributeError):
        return None


def _table(first: str) -> Table:
    table = Table(say(first), box=None)
    for column in ("predictions", "checks"):
        table.add_column(say(f"progress.{column}"), justify="right")
    return table


def _row(table: Table, name: str, count: Count) -> None:
    table.add_row(visible(name), *(f"{count[f'{k} good']} of {count[k]}" for k in ("prediction", "check")))


def _labs(progress: Mapping[str, bool]) -> Table:
    table = _table("progress.lab")
    for lab, count in summary(progress).items():
        _row(table, lab, count)
    return table


def _room(found: Mapping[str, Mapping[str, bool]]) -> Table:
    table = _table("progress.folder")
    for folder, progress in found.items():
        _row(table, folder, sum(summary(progress).values(), Counter()))
    return table
