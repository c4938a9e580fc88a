"""What becomes of a notebook's cells on the way to slides, and what `kubedev slides` says of bad input."""

import subprocess
from pathlib import Path
from typing import Any

import nbformat
import pytest

from kubedev.tools import notebooks
from kubedev.tools.deck import Code, deck_html
from kubedev.tools.slides import main

HERE = Path(__file__).parent
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="


def cell(kind: str, source: str, slide: str = "-", outputs: tuple[dict[str, Any], ...] = ()) -> Any:
    metadata = {"slideshow": {"slide_type": slide}}
    if kind == "markdown":
        return nbformat.v4.new_markdown_cell(source, metadata=metadata)
    made = [nbformat.v4.new_output("display_data", data) for data in outputs]
    return nbformat.v4.new_code_cell(source, metadata=metadata, outputs=made)


def slides_of(*cells: Any, folder: Path = HERE) -> str:
    """The sections of a deck."""
    html = deck_html(nbformat.v4.new_notebook(cells=list(cells)), {}, folder)
    return html.partition('<div class="slides">')[2].partition("</div></div>\n<nav>")[0]


def test_slides_sub_slides_fragments_and_skipped_cells() -> None:
    html = slides_of(
        cell("code", "secret = 1", "skip"),
        cell("markdown", "# A", "slide"),
        cell("markdown", "goes on"),
        cell("markdown", "below", "subslide"),
        cell("code", "x = 1", "fragment"),
        cell("markdown", "## B", "slide"),
    )
    assert html.count("<section><section>") == 2
    assert html.count("<section>") == 2 + 3
    assert html.count("data-fragment") == 1
    assert "secret" not in html
    assert html.index("goes on") < html.index("below") < html.index("data-fragment") < html.index("B</h2>")


def test_notes_lose_the_fold_that_hides_them_in_the_notebook() -> None:
    notes = "<details><summary>For the speaker</summary>\n\nSay **this**.\n\n</details>"
    html = slides_of(cell("markdown", "# A", "slide"), cell("markdown", notes, "notes"))
    assert '<aside class="notes"><p>Say <strong>this</strong>.</p>' in html
    assert "For the speaker" not in html
    assert "details" not in html


def test_an_answer_that_is_folded_in_the_notebook_is_open_on_its_slide() -> None:
    answer = "<details><summary>Why? (Open it when you have seen the gap)</summary>\n\nBecause.\n\n</details>"
    html = slides_of(cell("markdown", answer, "subslide"))
    assert "<p>Because.</p>" in html
    assert "summary" not in html


def test_an_image_is_inside_and_a_link_to_a_lab_leads_to_its_slides(tmp_path: Path) -> None:
    import base64

    (tmp_path / "dot.png").write_bytes(base64.b64decode(PIXEL))
    text = "![dot](dot.png) [next](01-next.ipynb) [far](https://example.com/a.ipynb)"
    html = slides_of(cell("markdown", text, "slide"), folder=tmp_path)
    assert f'src="data:image/png;base64,{PIXEL}"' in html
    assert 'href="01-next.html"' in html
    assert 'href="https://example.com/a.ipynb"' in html


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ({"text/html": "<b>rich</b>", "text/plain": "poor"}, "<b>rich</b>"),
        ({"text/plain": "a < b"}, "<pre>a &lt; b</pre>"),
        ({"image/png": PIXEL, "text/plain": "poor"}, f"data:image/png;base64,{PIXEL}"),
        ({"application/vnd.plotly.v1+json": {"data": ["</script>"]}}, '["<\\/script>"]'),
    ],
)
def test_the_richest_format_that_a_page_alone_can_show(data: dict[str, Any], shown: str) -> None:
    html = slides_of(cell("code", "x", "slide", (data,)))
    assert shown in html
    assert "poor" not in html


def test_a_widget_without_a_picture_is_left_out() -> None:
    data = {"application/vnd.jupyter.widget-view+json": {"model_id": "1"}, "text/plain": "Button()"}
    assert "Button" not in slides_of(cell("code", "x", "slide", (data,)))


def test_t5_what_a_cell_prints_piece_by_piece_is_one_text() -> None:
    made = cell("code", "print(1)", "slide")
    made.outputs = [nbformat.v4.new_output("stream", name="stdout", text=f"{n}\n") for n in range(3)]
    html = slides_of(made)
    assert html.count('class="block output"') == 1
    assert "<pre>0\n1\n2</pre>" in html


def test_t5_a_text_for_the_room_stands_in_place_of_the_readers_and_sources_are_left_out() -> None:
    seen = cell("markdown", "Click a device.", "slide")
    seen.metadata["kubedev"] = {"room": "Watch *d0*."}
    html = slides_of(seen, cell("markdown", "## Where it bites\n\nHere.\n\n## Go sources\n\n`manager.go`"))
    assert "Click" not in html
    assert "Watch <em>d0</em>." in html
    assert "Here." in html
    assert "manager.go" not in html


@pytest.mark.parametrize(("code", "texts"), [("read", ["print"]), ("all", ["print", "draw"]), ("none", [])])
def test_t3_code_that_is_not_to_be_read_is_left_out(code: Code, texts: list[str]) -> None:
    shown = [
        cell("code", "draw(1)", "slide", ({"image/png": PIXEL},)),
        cell("code", "print(1)", "slide", ({"text/plain": "1"},)),
    ]
    html = deck_html(nbformat.v4.new_notebook(cells=shown), {}, HERE, code)
    assert [
        text for text in ("print", "draw") if f'<span class="nb">{text}' in html or f'"n">{text}' in html
    ] == texts


def test_t6_slides_are_made_from_the_labs_as_they_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labs = tmp_path / "labs"
    labs.mkdir()
    (labs / "00-a.ipynb").write_text("as it came")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(tmp_path)]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "labs"]):
        subprocess.run([*git, *command], check=True)
    (labs / "00-a.ipynb").write_text("with answers")
    monkeypatch.setattr(notebooks, "shipped", lambda: labs)
    monkeypatch.setattr(notebooks, "is_installed", lambda: False)
    assert notebooks.original(labs / "00-a.ipynb") == "as it came"
    assert notebooks.original(tmp_path / "mine.ipynb") is None
    monkeypatch.setattr(notebooks, "is_installed", lambda: True)  # then the package has what came
    assert notebooks.original(tmp_path / "kubedev-labs" / "00-a.ipynb") == "with answers"


def test_nothing_is_asked_from_a_network() -> None:
    html = deck_html(nbformat.v4.new_notebook(cells=[cell("markdown", "# A", "slide")]), {}, HERE)
    assert 'src="http' not in html
    assert "<link" not in html
    assert "@import" not in html
    assert len(html) < 400_000  # without plotly, which is large, and inside only where there is a chart


def test_an_unknown_lab_and_a_failing_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["99", "--out", str(tmp_path)])
    assert stopped.value.code == 2
    assert "no lab '99'" in capsys.readouterr().err
    broken = tmp_path / "broken.ipynb"
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    notebook.cells = [nbformat.v4.new_code_cell("1 / 0", id="divide")]
    nbformat.write(notebook, broken)
    assert main([str(broken), "--out", str(tmp_path / "slides")]) == 1
    assert capsys.readouterr().out == "broken  failed  cell divide: ZeroDivisionError: division by zero\n"
    assert list((tmp_path / "slides").iterdir()) == []
