"""Exercises as a reader meets them: the notebook's own cells, with the answers that instructors have."""

import ast
import re
from typing import Any

import nbformat

from tests.conftest import ROOT

Names = dict[str, Any]


def answers(lab: str) -> list[str]:
    """The code of a lab's answers, exercise by exercise."""
    return re.findall(r"```python\n(.*?)```", (ROOT / f"labs/answers/{lab[:2]}.md").read_text("utf-8"), re.S)


def check_with(lab: str, exercise: int, answer: str = "") -> Any:
    """Run an exercise's cells with an answer behind its own `yours` cell; what its check says."""
    cells = nbformat.read(ROOT / f"labs/{lab}.ipynb", as_version=4).cells
    code = {cell.id: cell.source for cell in cells if cell.cell_type == "code"}
    names: Names = {}
    for key, source in code.items():
        if key.startswith("imports"):
            run(source, names)
    own = {key: source for key, source in code.items() if key.startswith(f"exercise-{exercise}-")}
    result = None
    for key, source in own.items():
        if key.endswith("-check"):
            run(answer, names)
        result = run(source, names)
    return result


def run(source: str, names: Names) -> Any:
    """Run a cell: the value of its last line, if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
