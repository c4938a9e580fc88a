"""A notebook with its outputs as one HTML page of slides: reveal.js, pictures and styles are inside.

Here cells become sections with blocks; how many blocks fit on a slide is measured in the page, by `reveal/deck.js`.
"""

import base64
import json
import mimetypes
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, Literal

from nbconvert.filters import Highlight2HTML, ansi2html, markdown2html
from nbformat import NotebookNode

from kubedev.console import read_bytes
from kubedev.views.catalogue import say
from kubedev.views.live import page_script, page_sheet, unpacked

__all__ = ["Code", "deck_html"]

Code = Literal["read", "all", "none"]
"""Which code is on slides: what is to be read (a cell whose text or table follows from it), all of it, or none."""

# reveal.js, reveal.css and notes.js are reveal.js 4.6.1 as it came, under the MIT licence beside them.
_ASSETS = Path(__file__).with_name("reveal")
_REVEAL_ON_PAPER = re.compile(r"@media print\{(?:[^{}]+\{[^{}]*\})*\}")  # deck.css prints
# How long a lab takes to work through, and where to read on.
_FOR_READERS = re.compile(r"^\*\d+ minutes\.[^*]*\* ?|^## Go sources.*", re.M | re.S)
_WIDGET = "application/vnd.jupyter.widget-view+json"
_CHART = "application/vnd.plotly.v1+json"
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<style>{styles}</style></head>
<body class="kd" data-title="{title}" data-minutes="{minutes}">
<div class="reveal"><div class="slides">{sections}</div></div>
<nav><button aria-label="{back}">‹</button><output></output><button aria-label="{forward}">›</button></nav>
{scripts}</body></html>
"""


@dataclass(frozen=True, slots=True)
class _Source:
    """Where the slides' parts come from: pictures and questions by their widgets' ids, the folder with images."""

    pictures: Mapping[str, str]
    folder: Path
    code: Code


def deck_html(
    notebook: NotebookNode,
    pictures: Mapping[str, str],
    folder: Path,
    code: Code = "read",
    minutes: int = 0,
) -> str:
    """Return the slides of a notebook that was executed.

    `pictures` is the HTML of its pictures and questions by their widgets' ids; images are looked for in `folder`, the
    notebook's. `minutes` are what the speaker's view plans with.
    """
    stacks = _stacks(notebook, _Source(pictures, folder, code))
    sections = "".join(f"<section>{''.join(stack)}</section>" for stack in stacks)
    return _PAGE.format(
        title=escape(_title(notebook)),
        minutes=minutes,
        styles=_REVEAL_ON_PAPER.sub("", _asset("reveal.css")) + page_sheet() + _asset("deck.css"),
        sections=sections,
        scripts="".join(_scripts(charts='class="block chart' in sections)),
        back=say("deck.back"),
        forward=f"{say('deck.forward')}. {say('deck.keys')}",
    )


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text("utf-8")


def _scripts(*, charts: bool) -> Iterator[str]:
    sources = [_asset("reveal.js"), _asset("notes.js")]
    if charts:
        from plotly.offline import get_plotlyjs

        sources.append(get_plotlyjs())
    for source in sources:
        yield "<script>" + source.replace("</script", "<\\/script") + "</script>"
    for source in (page_script(), _asset("deck.js") + _asset("show.js")):
        yield f'<script type="module">{source}</script>'


def _title(notebook: NotebookNode) -> str:
    found = (re.search(r"^# +(.+)", c.source, re.M) for c in notebook.cells if c.cell_type == "markdown")
    return next((match[1].strip() for match in found if match), "kubedev")


def _stacks(notebook: NotebookNode, source: _Source) -> list[list[str]]:
    """The slides, and below each its sub-slides, as the cells' metadata say."""
    stacks: list[list[str]] = []
    page: list[str] = []

    def turn() -> None:
        if page:
            stacks[-1].append(f"<section>{''.join(page)}</section>")
            page.clear()

    for cell in notebook.cells:
        kind = cell.metadata.get("slideshow", {}).get("slide_type", "-")
        if kind == "skip":
            continue
        if kind in ("slide", "subslide"):
            turn()
        if kind == "slide" or not stacks:
            stacks.append([])
        if kind == "notes":
            page.append(f'<aside class="notes">{_markdown(cell.source)}</aside>')
        else:
            page += _blocks(cell, kind == "fragment", source)
    turn()
    return [stack for stack in stacks if stack]


def _markdown(source: str) -> str:
    """Markdown as HTML, without the folds that hide notes and answers in the notebook."""
    unfolded = re.sub(r"<summary>.*?</summary>|</?details[^>]*>", "", source, flags=re.S)
    return re.sub(r'<a class="anchor-link".*?</a>', "", markdown2html(unfolded))


def _blocks(cell: NotebookNode, fragment: bool, source: _Source) -> Iterator[str]:
    """What a cell shows, in the pieces that must not be torn apart."""
    block = partial(_block, fragment=fragment, cell=cell.get("id", ""))
    if cell.cell_type == "markdown":
        text = cell.metadata.get("kubedev", {}).get("room", cell.source)  # for a room, where it differs
        text = _FOR_READERS.sub("", text)
        if not text.strip():
            return
        html = re.sub(
            r'(?<=src=")[^":]+(?=")', lambda match: _image(source.folder / match[0]), _markdown(text)
        )
        html = re.sub(r'(href="[\w./-]+)\.ipynb(?=[#"])', r"\1.html", html)
        yield block("prose", html)
        return
    if cell.cell_type != "code":
        return
    shown = [found for output in _joined(cell.outputs) if (found := _output(output, source.pictures))]
    if _has_code(cell, {kind for kind, _ in shown}, source.code):
        highlight = Highlight2HTML(pygments_lexer="python3")  # type: ignore[no-untyped-call]
        yield block("code", highlight(cell.source))
    for kind, html in shown:
        if kind != "check" or source.code == "all":
            yield block(kind, html)


_LOOKED_AT = {"picture", "chart", "image", "question", "check"}
"""Outputs that are not understood from the code before them."""


def _has_code(cell: NotebookNode, shown: set[str], code: Code) -> bool:
    lines = [line for line in cell.source.splitlines() if line.strip() and not line.startswith("#")]
    if code == "none" or not cell.source.strip() or cell.metadata.get("jupyter", {}).get("source_hidden"):
        return False
    return code == "all" or (bool(lines) and not any(kind.split()[0] in _LOOKED_AT for kind in shown))


def _joined(outputs: list[NotebookNode]) -> Iterator[NotebookNode]:
    """A cell's outputs; what it printed piece by piece is one."""
    last: NotebookNode | None = None
    for output in outputs:
        if last and output.output_type == "stream" and last.get("name") == output.name:
            last["text"] += output.text
            continue
        if last:
            yield last
        last = NotebookNode(output)
    if last:
        yield last


def _block(kind: str, html: str, fragment: bool, cell: str) -> str:
    return f'<div class="block {kind}" data-cell="{cell}"{" data-fragment" * fragment}>{html}</div>'


def _image(path: Path) -> str:
    kind = mimetypes.guess_type(path.name)[0] or "image/png"
    return f"data:{kind};base64,{base64.b64encode(read_bytes(path)).decode()}"


def _output(output: NotebookNode, pictures: Mapping[str, str]) -> tuple[str, str] | None:
    """The kind and HTML of an output, from the richest of its formats that a page alone can show."""
    if output.output_type == "stream":
        return "output", _lines(output.text)
    if output.output_type == "error":
        return "output", _lines("\n".join(output.traceback))
    data: Mapping[str, Any] = output.data
    html = str(data.get("text/html", ""))
    now = pictures.get(data.get(_WIDGET, {}).get("model_id", ""), html)
    if "data-kubedev-frames" in html:
        return "picture", _bare(now)
    if "data-kubedev-question" in now:
        return ("question answered" if "kubedev-gap" in html else "question"), now
    if "kubedev-check" in html:
        return "check", html
    if _CHART in data:
        figure = json.dumps(data[_CHART]).replace("</", "<\\/")
        return "chart", f'<script type="application/json">{figure}</script>'
    if html:
        return "output", html
    if "image/svg+xml" in data:
        return "image", str(data["image/svg+xml"])
    if "image/png" in data:
        return "image", f'<img alt="" src="data:image/png;base64,{data["image/png"].strip()}">'
    if _WIDGET in data or "text/plain" not in data:
        return None
    return "output", _lines(str(data["text/plain"]))


def _lines(text: str) -> str:
    html = ansi2html(text.rstrip())  # type: ignore[no-untyped-call]
    return f"<pre>{html}</pre>"


def _bare(html: str) -> str:
    """A picture with its data as JSON, without the style and the script, which the page has once for all of them."""
    script = f'<script type="module">{page_script()}</script>'
    return unpacked(html).replace(f"<style>{page_sheet()}</style>", "").replace(script, "")
