"""A few rows of text as a table in the page, and as aligned lines elsewhere."""

from collections.abc import Iterable
from html import escape

__all__ = ["Rows"]


class Rows:
    """A table: column heads, and rows of text of the same length."""

    def __init__(self, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
        self.heads = tuple(heads)
        self.rows = [tuple(row) for row in rows]

    def __repr__(self) -> str:
        lines = [self.heads, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)

    def _repr_html_(self) -> str:
        left = 'style="text-align:left"'  # on each cell: a page may set its own for them
        head = "".join(f"<th {left}>{escape(text)}</th>" for text in self.heads)
        body = "".join(
            f"<tr>{''.join(f'<td {left}>{escape(text)}</td>' for text in row)}</tr>" for row in self.rows
        )
        return (
            '<div class="kubedev-rows"><table style="margin-left:0;overflow-wrap:anywhere">'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )
