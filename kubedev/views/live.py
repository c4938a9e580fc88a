"""Pictures in a page: as a widget, and as frames that are stepped through where no kernel is."""

import base64
import gzip
import json
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from kubedev.views.catalogue import say
from kubedev.views.document import document, patches, to_json
from kubedev.views.picture import Picture, Table
from kubedev.views.style import FONT
from kubedev.views.svg import inline, style_sheet, theme_sheet

__all__ = ["LivePicture", "frames_html", "page_script", "page_sheet", "unpacked", "with_frames"]

# plotly does not know the page's theme: white becomes the page's ground, dark becomes light, and hues stay.
_DARK_CHART = "filter:invert(1) hue-rotate(180deg);mix-blend-mode:screen"
_HERE = Path(__file__).parent
_PAGE_RULES = f"""
.kubedev{{background:var(--kd-ground);color:var(--kd-ink);font-family:{FONT};font-size:15px;
 padding:14px 0;max-width:1320px}}
.kubedev .kd-title{{font-size:20px;font-weight:700;line-height:1.3}}
.kubedev p.kd-sentence{{color:var(--kd-muted);font-size:15px;line-height:1.45;margin:3px 0 12px;
 min-height:1.45em}}
.kubedev .kd-scroll{{overflow-x:auto}}
.kubedev [data-action]{{pointer-events:all}}.kubedev [data-handle]{{cursor:grab;touch-action:none}}
.kubedev svg{{display:block;width:100%;min-width:1010px;height:auto}}
.kubedev details{{margin-top:10px;color:var(--kd-ink)}}
.kubedev summary{{cursor:pointer;color:var(--kd-muted)}}
.kubedev table{{border-collapse:collapse;margin:10px 0;font-size:14px;color:var(--kd-ink)}}
.kubedev caption{{text-align:left;font-weight:600;padding:4px 0;color:var(--kd-ink)}}
.kubedev th,.kubedev td{{text-align:left;padding:3px 16px 3px 0;border-bottom:1px solid var(--kd-line);
 background:none;vertical-align:top}}
.kubedev .kd-steps{{display:flex;gap:12px;align-items:center;margin-top:10px}}
.kubedev .kd-steps[hidden]{{display:none}}
.kubedev .kd-steps button{{font:inherit;padding:5px 12px;border-radius:8px;cursor:pointer;
 color:var(--kd-ink);background:var(--kd-card);border:1px solid var(--kd-edge)}}
.kubedev .kd-steps button:disabled{{opacity:.45;cursor:default}}
.kubedev .kd-steps input{{flex:1;max-width:420px}}
:is([data-jp-theme-light=false],.vscode-dark) .js-plotly-plot{{{_DARK_CHART}}}
@media(prefers-color-scheme:dark){{:root:not([data-jp-theme-light]) body:not([data-jp-theme-light])
 .js-plotly-plot{{{_DARK_CHART}}}}}
"""


def page_sheet() -> str:
    """Return the whole style sheet of a page that shows pictures."""
    return theme_sheet() + style_sheet() + _PAGE_RULES.replace("\n", "")


def page_script() -> str:
    """Return the script that shows pictures and steps through frames."""
    return (_HERE / "picture.js").read_text("utf-8") + (_HERE / "live.js").read_text("utf-8")


class LivePicture(anywidget.AnyWidget):
    """A picture in the page, which stays as it is: what changes stands on a stage."""

    _esm = page_script()
    _css = page_sheet()
    whole = traitlets.Dict().tag(sync=True)

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        super().__init__(whole={"document": to_json(document(picture)), "table": say("frame.table")})

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget's own formats, and HTML for a page that has no kernel."""
        bundle = super()._repr_mimebundle_(**options)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data is not None:
            data.update(self.without_kernel())
        return bundle

    def without_kernel(self) -> dict[str, str]:
        """Return what stands for the picture where no kernel is: a line of text, and HTML."""
        text = f"{self.picture.title}. {self.picture.sentence}"
        return {"text/html": frames_html([self.picture]), "text/plain": text}


def frames_html(pictures: Sequence[Picture], start: int = 0) -> str:
    """Return HTML, whole in itself, that shows one of some pictures, by default the first, and steps through all."""
    first, steps = patches(pictures)
    words = {
        "back": say("frame.back"),
        "forward": say("frame.forward"),
        "history": say("frame.history"),
        "table": say("frame.table"),
    }
    packed = _packed({"first": first, "steps": steps, "words": words})
    picture = pictures[start]
    tables = "".join(map(_table, picture.tables))
    svg = inline(picture)
    return (
        f'<div class="kd kubedev" data-kubedev-frames data-start="{start}">'
        f'<style>{page_sheet()}</style><div class="kd-stage">'
        f'<div class="kd-title">{escape(picture.title)}</div>'
        f'<p class="kd-sentence">{escape(picture.sentence)}</p><div class="kd-scroll">{svg}</div>'
        f"<details><summary>{say('frame.table')}</summary>{tables}</details></div>"
        f'<script type="application/gzip">{packed}</script>'
        f'<script type="module">{page_script()}</script></div>'
    )


def unpacked(html: str) -> str:
    """Return a page with frames in which their data stand as JSON: longer, and there at once."""

    def plain(found: re.Match[str]) -> str:
        data = _plain(found[1]).replace("</", "<\\/")
        return f'<script type="application/json">{data}</script>'

    return re.sub(_DATA, plain, html)


def with_frames(html: str, first: object, steps: Sequence[object], start: int) -> str:
    """Return a page with frames (`frames_html`) that has these frames instead, as documents and patches, and opens
    at `start`.
    """

    def changed(found: re.Match[str]) -> str:
        data = _packed({**json.loads(_plain(found[1])), "first": first, "steps": steps})
        return f'<script type="application/gzip">{data}</script>'

    return re.sub(_DATA, changed, re.sub(r'data-start="\d+"', f'data-start="{start}"', html))


_DATA = r'<script type="application/gzip">(.*?)</script>'


def _packed(data: object) -> str:
    text = json.dumps(data, ensure_ascii=False)
    return base64.b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode("ascii")


def _plain(packed: str) -> str:
    return gzip.decompress(base64.b64decode(packed)).decode("utf-8")


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in table.columns)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
    caption = f"<caption>{escape(table.caption)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
