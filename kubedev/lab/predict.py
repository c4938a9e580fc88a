"""Predict, then see: a question before the cell that shows the answer, and the gap after it.

Wrong is interesting, never scored, and nothing is locked: who predicts nothing goes on all the same. What a
reader chose is kept beside the notebook and offered again when the kernel was lost.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from html import escape
from math import ceil
from pathlib import Path
from typing import Any

from kubedev.views.catalogue import say
from kubedev.views.style import text_width

__all__ = ["ANSWERS", "Gap", "Prediction", "predict"]

ANSWERS = Path(".kubedev-answers.json")
"""What readers chose, by question; relative to the notebook's folder."""

Value = int | str


def predict(key: str, question: str, **fields: Iterable[Value]) -> "Prediction":
    """Ask a question: each field is chosen among its values. `key` is the question's name in the answers' file."""
    return Prediction(key, question, {name: tuple(values) for name, values in fields.items()})


class Prediction:
    """A question with its choices; display it to answer it. `answers` holds what was chosen so far."""

    def __init__(self, key: str, question: str, fields: Mapping[str, tuple[Value, ...]]) -> None:
        if not fields or not all(fields.values()):
            raise ValueError(
                "expected a name and its possible values for each field, as in capacity=range(9)"
            )
        self.key, self.question, self.fields = key, question, fields
        self.answers: dict[str, Value] = {
            name: value for name, value in _kept().get(key, {}).items() if value in fields.get(name, ())
        }
        self._widget: Any = None

    def choose(self, **answers: Value) -> None:
        """Answer in code. Raises ValueError for a field or value that is not on offer."""
        for name, value in answers.items():
            if value not in self.fields.get(name, ()):
                offer = ", ".join(map(str, self.fields.get(name, self.fields)))
                raise ValueError(f"expected {name} among {offer}; got {value!r}")
        self.answers |= answers
        with suppress(OSError):  # a folder that cannot be written keeps nothing, and that is all
            ANSWERS.write_text(json.dumps({**_kept(), self.key: self.answers}, indent=1))

    def compare(self, **facts: Value | Collection[Value]) -> "Gap":
        """What was predicted beside what is; several right values are given as a set or list."""
        return Gap(self, facts)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        if self._widget is None:
            self._widget = _form(self)
        bundle = self._widget._repr_mimebundle_(**options)
        bundle["text/plain"] = self.question
        bundle["text/html"] = _html(
            "predict", say("predict.title"), f"<p>{escape(self.question)}</p>{self._offer()}"
        )
        return bundle

    def _offer(self) -> str:
        """What can be chosen, for a page without a kernel."""
        items = (
            f"<li>{escape(_words(name))}: {' · '.join(escape(str(value)) for value in values)}</li>"
            for name, values in self.fields.items()
        )
        return f"<ul>{''.join(items)}</ul>"


class Gap:
    """The gap between a prediction and what is: shown as a table, true where nothing was predicted wrong."""

    def __init__(self, prediction: Prediction, facts: Mapping[str, Value | Collection[Value]]) -> None:
        self.rows = [(name, prediction.answers.get(name), _right(fact), fact) for name, fact in facts.items()]

    def __bool__(self) -> bool:
        return all(said is None or said in right for _, said, right, _ in self.rows)

    def _verdict(self, said: Value | None, right: Collection[Value]) -> str:
        if said is None:
            return say("predict.none")
        return say("predict.right") if said in right else say("predict.wrong")

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(say(f'predict.{h}'))}</th>" for h in ("what", "said", "is", "verdict"))
        rows = "".join(
            f"<tr><td>{escape(_words(name))}</td><td>{'–' if said is None else escape(str(said))}</td>"
            f"<td><b>{escape(_shown(right))}</b></td><td>{escape(self._verdict(said, right))}</td></tr>"
            for name, said, right, _ in self.rows
        )
        return _html(
            "gap", say("predict.gap"), f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        )

    def __repr__(self) -> str:
        return "; ".join(
            f"{name}: {say('predict.said')} {'–' if said is None else said}, {say('predict.is')} {_shown(right)}"
            for name, said, right, _ in self.rows
        )


def _words(name: str) -> str:
    """A field's name as it is shown: `first_list` is "first list"; a resource's name stays as it is."""
    return name if "/" in name else name.replace("_", " ")


def _right(fact: Value | Collection[Value]) -> tuple[Value, ...]:
    return (fact,) if isinstance(fact, int | str) else tuple(fact)


def _shown(right: tuple[Value, ...]) -> str:
    return say("predict.or").join(map(str, right))


def _kept() -> dict[str, dict[str, Value]]:
    try:
        kept = json.loads(ANSWERS.read_text())
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _html(kind: str, title: str, body: str) -> str:
    return f'<div class="kubedev-{kind}"><strong>{escape(title)}</strong>{body}</div>'


def _form(prediction: Prediction) -> Any:
    import ipywidgets as widgets

    from kubedev.lab.controls import control

    def row(name: str, values: tuple[Value, ...]) -> Any:
        choice = control(
            widgets.ToggleButtons,
            options=[str(v) for v in values],
            value=str(prediction.answers[name]) if name in prediction.answers else None,
            style={"button_width": "auto"},
        )
        by_text = {str(v): v for v in values}
        choice.observe(lambda change: prediction.choose(**{name: by_text[change["new"]]}), "value")
        return control(widgets.HBox, [control(widgets.Label, _words(name), layout={"width": width}), choice])

    width = f"{max(110, *(ceil(text_width(_words(name))) for name in prediction.fields))}px"

    question = control(
        widgets.HTML, _html("predict", say("predict.title"), f"<p>{escape(prediction.question)}</p>")
    )
    return control(
        widgets.VBox, [question, *(row(name, values) for name, values in prediction.fields.items())]
    )
