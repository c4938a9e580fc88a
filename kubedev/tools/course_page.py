"""`kubedev course`: the labs with what each needs and how long it takes, and plans for a room."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from kubedev.console import Parser
from kubedev.tools.course import Outline, course
from kubedev.tools.notebooks import UnknownLabError, find, shipped
from kubedev.views.catalogue import say

__all__ = ["main", "plans", "written"]

HALF_DAY = ("00", "03", "04", "09")
"""One from each station of the way: the whole, the plugin's list, the choice of devices, the scheduler."""
DAY_MINUTES = 300
WEEKS = 5
BEGIN, END = "<!-- kubedev course --write -->", "<!-- end -->"


def main(argv: Sequence[str] | None = None) -> int:
    """Show the course, or the sections of one lab; 2 where it is unknown."""
    parser = Parser(
        "kubedev course", description="Show the labs: what each needs, how long it takes, and plans."
    )
    parser.add_argument("lab", nargs="?", metavar="LAB", help="the sections of this lab, with their minutes")
    parser.add_argument("--write", action="store_true", help="write the tables of labs/README.md anew")
    options = parser.parse_args(argv)
    labs = course(shipped())
    if options.write:
        page = shipped() / "README.md"
        page.write_text(written(page.read_text("utf-8"), labs), "utf-8")
        return 0
    if options.lab:
        try:
            name = find(options.lab, shipped()).stem
        except UnknownLabError as error:
            parser.error(str(error))
        labs = [lab for lab in labs if lab.name == name]
    Console(highlight=False, soft_wrap=True).print(
        *(_sections(labs[0]) if options.lab else _course(labs)), sep="\n"
    )
    return 0


def plans(labs: Sequence[Outline]) -> dict[str, list[list[Outline]]]:
    """Return by name the parts of each plan: half a day is one part, a day two, five weeks five of about one length."""
    half = [lab for lab in labs if lab.number in HALF_DAY]
    day: list[Outline] = []
    for lab in labs:
        if sum(each.minutes for each in [*day, lab]) > DAY_MINUTES:
            break
        day.append(lab)
    return {"half": [half], "day": _shared(day, 2), "weeks": _shared(labs, WEEKS)}


def _shared(labs: Sequence[Outline], parts: int) -> list[list[Outline]]:
    """Labs in their order, in parts of about one length."""
    whole = sum(lab.minutes for lab in labs) or 1
    out: list[list[Outline]] = [[] for _ in range(parts)]
    before = 0
    for lab in labs:
        out[min(int((before + lab.minutes / 2) * parts / whole), parts - 1)].append(lab)
        before += lab.minutes
    return [part for part in out if part]


def _course(labs: Sequence[Outline]) -> Iterator[Table | str]:
    table = Table(box=None)
    for column in ("lab", "led", "alone", "needs"):
        table.add_column(say(f"course.{column}"), justify="right" if column in ("led", "alone") else "left")
    for lab in labs:
        table.add_row(lab.title, str(lab.minutes), str(lab.alone), lab.needs)
    yield table
    for name, parts in plans(labs).items():
        yield f"\n{say(f'course.plan.{name}')}"
        yield from (f"  {line}" for line in _lines(parts))
    yield f"\n{say('course.more')}"


def _lines(parts: Sequence[Sequence[Outline]]) -> Iterator[str]:
    for number, part in enumerate(parts, 1):
        names = "; ".join(lab.title for lab in part)
        first = f"{number}. " if len(parts) > 1 else ""
        yield first + say("course.part", names=names, minutes=sum(lab.minutes for lab in part))


def _sections(lab: Outline) -> Iterator[Table]:
    table = Table(title=lab.title, title_justify="left", box=None)
    table.add_column(say("course.section"))
    table.add_column(say("course.minutes"), justify="right")
    table.add_column(say("course.opens"))
    for section in lab.sections:
        opens = f"kubedev lab {lab.number}#{section.cell}"
        table.add_row(section.title, str(max(1, round(section.minutes))), opens)
    yield table


def written(page: str, labs: Sequence[Outline]) -> str:
    """Return the course page with its tables made anew from the labs."""
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}\n{markdown(labs)}\n{END}{rest.partition(END)[2]}"


def markdown(labs: Sequence[Outline]) -> str:
    """Return the tables of labs and plans as labs/README.md has them."""
    heads = [say(f"course.{column}") for column in ("lab", "led", "alone", "needs")]
    rows = [f"| {' | '.join(heads)} |", "| --- | --- | --- | --- |"]
    rows += [
        f"| [{lab.title}]({lab.name}.ipynb) | {lab.minutes} | {lab.alone} | {lab.needs} |" for lab in labs
    ]
    lines = ["\n".join(rows)]
    for name, parts in plans(labs).items():
        lines.append(f"**{say(f'course.plan.{name}')}**")
        marks = [f"{'' if line[0].isdigit() and '. ' in line[:3] else '- '}{line}" for line in _lines(parts)]
        lines.append("\n".join(marks))
    return "\n\n".join(lines)
