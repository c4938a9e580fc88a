"""Finds, runs and compares vectors; `python -m tests.vectors` and pytest both use it."""

import importlib
import importlib.util
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FAMILIES = sorted(path.stem for path in HERE.glob("*.json"))

Case = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one file: how many of its cases agree, and the differences of those that do not."""

    passed: int
    total: int
    differences: list[str]


def files(paths: list[Path]) -> Iterator[Path]:
    """The vector files among paths: a file stands for itself, a folder for the .json files in it."""
    for path in paths:
        yield from sorted(path.glob("*.json")) if path.is_dir() else [path]


def family_of(path: Path) -> str | None:
    """The family a file belongs to: the longest known name that its name starts with."""
    return max((f for f in FAMILIES if path.stem.startswith(f)), key=len, default=None)


def is_built(family: str) -> bool:
    """Whether kubedev answers this family yet."""
    return importlib.util.find_spec(f"tests.vectors.families.{family}") is not None


def comparer(family: str) -> Callable[[Case], list[str]]:
    """The function that compares one case of a family with kubedev's answer."""
    module = importlib.import_module(f"tests.vectors.families.{family}")
    if hasattr(module, "differences"):
        return module.differences  # type: ignore[no-any-return]
    return lambda case: list(unequal(case["out"], module.answer(case["in"]), "out"))


def unequal(expected: Any, actual: Any, where: str) -> Iterator[str]:
    """Where two values differ. A mapping is compared at the expected keys at the top only, exactly below."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        keys = expected if where == "out" else expected.keys() | actual.keys()
        for key in sorted(keys):
            if key not in expected or key not in actual:
                side = "unexpected" if key in actual else "missing"
                yield f"{where}.{key}: {side} {actual.get(key, expected.get(key))!r}"
            else:
                yield from unequal(expected[key], actual[key], f"{where}.{key}")
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for i, (left, right) in enumerate(zip(expected, actual, strict=True)):
            yield from unequal(left, right, f"{where}[{i}]")
    elif expected != actual or isinstance(expected, bool) != isinstance(actual, bool):
        yield f"{where}: expected {expected!r}, got {actual!r}"


def run(path: Path, family: str) -> Result:
    """Run one file. A case that raises counts as different: the exception is the difference."""
    compare = comparer(family)
    passed, differences = 0, []
    cases = json.loads(path.read_text())["cases"]
    for case in cases:
        try:
            found = compare(case)
        except Exception as error:
            found = [f"{type(error).__name__}: {error}"]
        if found:
            differences.append(f"{case['name']}: " + "; ".join(found[:3]))
        else:
            passed += 1
    return Result(passed, len(cases), differences)
