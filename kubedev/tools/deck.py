"""A notebook with its outputs as one HTML page of slides: reveal.js, pictures and styles are inside.

Here cells become sections with blocks; how many blocks fit on a slide is measured in the page, by `reveal/deck.js`.
"""

import base64
import json
import mimetypes
import re
from collections.abc import Iterator, Mapping
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from nbconvert.filters import Highlight2HTML, ansi2html, markdown2html
from nbformat import NotebookNode

from kubedev.console import read_bytes
from kubedev.views.catalogue import say
from kubedev.views.live import page_script, page_sheet, unpacked

__all__ = ["deck_html"]

# reveal.js, reveal.css and notes.js are reveal.js 4.6.1 as it came, under the MIT licence beside them.
_ASSETS = Path(__file__).with_name("reveal")
_WIDGET = "application/vnd.jupyter.widget-view+json"
_CHART = "application/vnd.plotly.v1+json"
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<style>{styles}</style></head>
<body class="kd" data-title="{title}">
<div class="reveal"><div class="slides">{sections}</div></div>
<nav><button aria-label="{back}">‹</button><output></output><button aria-label="{forward}">›</button></nav>
{scripts}</body></html>
"""


def deck_html(notebook: NotebookNode, pictures: Mapping[str, str], folder: Path) -> str:
    """Return the slides of a notebook that was executed.

    `pictures` is the HTML of its pictures by their widgets' ids; images are looked for in `folder`, the notebook's.
    """
    sections = "".join(
        f"<section>{''.join(stack)}</section>" for stack in _stacks(notebook, pictures, folder)
    )
    return _PAGE.format(
        title=escape(_title(notebook)),
        styles=_asset("reveal.css") + page_sheet() + _asset("deck.css"),
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
    for source in (page_script(), _asset("deck.js")):
        yield f'<script type="module">{source}</script>'


def _title(notebook: NotebookNode) -> str:
    found = (re.search(r"^# +(.+)", c.source, re.M) for c in notebook.cells if c.cell_type == "markdown")
    return next((match[1].strip() for match in found if match), "kubedev")


def _stacks(notebook: NotebookNode, pictures: Mapping[str, str], folder: Path) -> list[list[str]]:
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
            page += _blocks(cell, kind == "fragment", pictures, folder)
    turn()
    return [stack for stack in stacks if stack]


def _markdown(source: str) -> str:
    """Markdown as HTML, without the folds that hide notes and answers in the notebook."""
    unfolded = re.sub(r"<summary>.*?</summary>|</?details[^>]*>", "", source, flags=re.S)
    return re.sub(r'<a class="anchor-link".*?</a>', "", markdown2html(unfolded))


def _blocks(cell: NotebookNode, fragment: bool, pictures: Mapping[str, str], folder: Path) -> Iterator[str]:
    """What a cell shows, in the pieces that must not be torn apart."""
    block = partial(_block, fragment=fragment, cell=cell.get("id", ""))
    if cell.cell_type == "markdown":
        html = re.sub(
            r'(?<=src=")[^":]+(?=")', lambda match: _image(folder / match[0]), _markdown(cell.source)
        )
        html = re.sub(r'(href="[\w./-]+)\.ipynb(?=[#"])', r"\1.html", html)
        yield block("prose", html)
        return
    if cell.cell_type != "code":
        return
    if cell.source.strip() and not cell.metadata.get("jupyter", {}).get("source_hidden"):
        highlight = Highlight2HTML(pygments_lexer="python3")  # type: ignore[no-untyped-call]
        yield block("code", highlight(cell.source))
    for output in cell.outputs:
        shown = _output(output, pictures)
        if shown:
            yield block(*shown)


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
    if "data-kubedev-frames" in html:
        now = pictures.get(data.get(_WIDGET, {}).get("model_id", ""), html)
        return "picture", _bare(now)
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
