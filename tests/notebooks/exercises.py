"""A lab's cells, run one after another in this process, so that a test can answer its exercises."""

import ast
import re
from pathlib import Path
from typing import Any

import nbformat

from tests.conftest import ROOT

__all__ = ["Notebook", "answers", "check_with", "read_before"]


class Notebook:
    """The code cells of a lab by their ids, and the names that they have made so far."""

    def __init__(self, name: str) -> None:
        path = Path(ROOT / "labs" / f"{name}.ipynb")
        cells = nbformat.read(path, as_version=4).cells
        self.cells = {cell.id: cell.source for cell in cells if cell.cell_type == "code"}
        self.names: dict[str, Any] = {}
        self.run(*(id_ for id_ in self.cells if id_.startswith("imports")))

    def run(self, *ids: str) -> Any:
        """Run cells; the value of the last one."""
        value = None
        for id_ in ids:
            value = self.say(self.cells[id_])
        return value

    def say(self, source: str) -> Any:
        """Run some source; the value of its last line, if that is an expression."""
        tree = ast.parse(source)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), self.names)
        if not isinstance(last, ast.Expr):
            return None
        return eval(compile(ast.Expression(last.value), "cell", "eval"), self.names)

    def exercise(self, name: str, answer: str | None = None) -> Any:
        """Run an exercise's scene, what stands in its cell, then an answer if one is given; what the check says."""
        self.run(f"{name}-scene", f"{name}-yours")
        if answer is not None:
            self.say(answer)
        return self.run(f"{name}-check")


def read_before(lab: str) -> dict[str, str]:
    """For each code cell of a lab, by its id, what stands above it, code too, but for what is folded."""
    read, above = "", {}
    for cell in nbformat.read(ROOT / "labs" / f"{lab}.ipynb", as_version=4).cells:
        if cell.cell_type == "code":
            above[cell.id] = read
        read += re.sub("<details>.*?</details>", "", cell.source, flags=re.S) + " "
    return above


def answers(lab: str) -> list[str]:
    """The code of a lab's answers, exercise by exercise."""
    return re.findall(r"```python\n(.*?)```", (ROOT / f"labs/answers/{lab[:2]}.md").read_text("utf-8"), re.S)


def check_with(lab: str, exercise: int, answer: str = "") -> Any:
    """Run the cells of an exercise with an answer before its check; what the check says."""
    notebook = Notebook(lab)
    said = None
    for id_ in (id_ for id_ in notebook.cells if id_.startswith(f"exercise-{exercise}-")):
        if id_.endswith("-check"):
            notebook.say(answer)
        said = notebook.run(id_)
    return said
