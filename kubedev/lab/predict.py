"""Predict, then see: a question before the cell that shows the answer, and the gap after it.

Wrong is interesting, never scored, and nothing is locked: who predicts nothing goes on all the same. What a
reader chose is kept beside the notebook and offered again when the kernel was lost.
"""

from collections.abc import Collection, Iterable, Mapping
from html import escape
from typing import Any

from kubedev.lab import record
from kubedev.views.catalogue import say
from kubedev.views.question import Question

__all__ = ["Gap", "Prediction", "predict"]

REVEAL = False
"""Whether what is shows though nobody predicted anything, as on slides."""

Value = int | str


def predict(key: str, question: str, **fields: Iterable[Value]) -> "Prediction":
    """Ask a question: each field is chosen among its values. `key` is the question's name in the answers' file."""
    return Prediction(key, question, {name: tuple(values) for name, values in fields.items()})


class Prediction:
    """A question with its choices: display it, choose, lock. `answers` holds what was chosen so far.

    What it is appears in the same card as soon as both are there: the facts, and a locked prediction.
    """

    def __init__(self, key: str, question: str, fields: Mapping[str, tuple[Value, ...]]) -> None:
        if not fields or not all(fields.values()):
            raise ValueError(
                "expected a name and its possible values for each field, as in capacity=range(9)"
            )
        self.key, self.question, self.fields = key, question, fields
        self.answers: dict[str, Value] = {
            name: value for name, value in record.answers(key).items() if value in fields.get(name, ())
        }
        self.locked = False
        self._gap: Gap | None = None
        self._widget: Question | None = None

    @property
    def complete(self) -> bool:
        """Whether something was chosen for each field."""
        return self.answers.keys() == self.fields.keys()

    def choose(self, **answers: Value) -> None:
        """Answer in code. Raises ValueError for a field or value that is not on offer."""
        for name, value in answers.items():
            if value not in self.fields.get(name, ()):
                offer = ", ".join(map(str, self.fields.get(name, self.fields)))
                raise ValueError(f"expected {name} among {offer}; got {value!r}")
        self.answers |= answers
        record.answered(self.key, self.answers)
        self._show()

    def lock(self) -> None:
        """Stand by what was chosen. Raises ValueError while a field is open."""
        if not self.complete:
            left = ", ".join(_words(name) for name in self.fields if name not in self.answers)
            raise ValueError(f"expected an answer for each field; still open: {left}")
        self.locked = True
        self._show()

    def unlock(self) -> None:
        """Choose anew."""
        self.locked = False
        self._show()

    def compare(self, **facts: Value | Collection[Value]) -> "Gap":
        """What was predicted beside what is; several right values are given as a set or list.

        Who has chosen everything stands by it. Where something is open, what it is stays hidden until it is locked.
        """
        self._gap = Gap(self, facts)
        self.locked = self.locked or self.complete
        if self.complete:
            record.predicted(self.key, bool(self._gap))
        self._show()
        return self._gap

    def _repr_mimebundle_(self, **options: Any) -> Any:
        html = _html("predict", say("predict.title"), f"<p>{escape(self.question)}</p>{self._offer()}")
        return self._shown().bundle(html, self.question, **options)

    def _shown(self) -> Question:
        if self._widget is None:
            self._widget = Question(self._card(), self._told)
        return self._widget

    def _show(self) -> None:
        if self._widget is not None:
            self._widget.show(self._card())

    def _told(self, what: str, value: Any) -> None:
        if what == "choose" and not self.locked:
            self.choose(**{name: self.fields[name][index] for name, index in value.items()})
        elif what == "lock" and value and self.complete:
            self.lock()
        elif what == "lock" and not value:
            self.unlock()

    def _card(self) -> dict[str, Any]:
        gap = self._gap if self.locked or REVEAL else None
        return {
            "question": self.question,
            "rows": [(name, _words(name), list(map(str, values))) for name, values in self.fields.items()],
            "answers": {name: self.fields[name].index(value) for name, value in self.answers.items()},
            "locked": self.locked,
            "seen": None if gap is None else [self._seen(row) for row in gap.rows],
            "sentence": "" if gap is None else gap.sentence,
        }

    def _seen(self, row: "Row") -> dict[str, Any]:
        name, said, right, _ = row
        values = self.fields.get(name, ())
        other = [value for value in right if value not in values]
        return {
            "said": said,
            "right": said in right,
            "is": [values.index(value) for value in right if value in values],
            "other": _shown(tuple(other)),
        }

    def _offer(self) -> str:
        """What can be chosen, for a page without a kernel."""
        items = (
            f"<li>{escape(_words(name))}: {' · '.join(escape(str(value)) for value in values)}</li>"
            for name, values in self.fields.items()
        )
        return f"<ul>{''.join(items)}</ul>"


Row = tuple[str, Value | None, tuple[Value, ...], Value | Collection[Value]]
"""A field, what was said, what is right, and the fact as it was given."""


class Gap:
    """The gap between a prediction and what is: the same card again, true where nothing was predicted wrong."""

    def __init__(self, prediction: Prediction, facts: Mapping[str, Value | Collection[Value]]) -> None:
        self._prediction, self._facts = prediction, dict(facts)

    @property
    def rows(self) -> list[Row]:
        """Each field with what was said and what is, in the order in which the fields are asked."""
        answers, asked = self._prediction.answers, list(self._prediction.fields)
        facts = sorted(
            self._facts.items(), key=lambda pair: asked.index(pair[0]) if pair[0] in asked else len(asked)
        )
        return [(name, answers.get(name), _right(fact), fact) for name, fact in facts]

    def __bool__(self) -> bool:
        return all(said is None or said in right for _, said, right, _ in self.rows)

    @property
    def sentence(self) -> str:
        """The gap in a sentence or two."""
        gaps = [
            say(f"predict.gap.{self._kind(said)}", what=_head(name), said=said, right=_shown(right))
            for name, said, right, _ in self.rows
            if said is not None and said not in right
        ]
        return " ".join(gaps) or say("predict.gap.none")

    def _kind(self, said: Value) -> str:
        """How a gap is said: of one field its name is not needed, as the question has said it."""
        return "many" if len(self._facts) > 1 else "yes-no" if said in ("yes", "no") else "one"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return self._prediction._shown().bundle(self._repr_html_(), repr(self), **options)

    def _repr_html_(self) -> str:
        if not (self._prediction.locked or REVEAL):
            return _html("gap", say("predict.gap"), f"<p>{escape(say('predict.hidden'))}</p>")
        head = "".join(f"<th>{escape(say(f'predict.{h}'))}</th>" for h in ("what", "said", "is", "verdict"))
        rows = "".join(
            f"<tr><td>{escape(_words(name))}</td><td>{'–' if said is None else escape(str(said))}</td>"
            f"<td><b>{escape(_shown(right))}</b></td><td>{escape(_verdict(said, right))}</td></tr>"
            for name, said, right, _ in self.rows
        )
        return _html(
            "gap", say("predict.gap"), f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        )

    def __repr__(self) -> str:
        if not (self._prediction.locked or REVEAL):
            return say("predict.hidden")
        return "; ".join(
            f"{name}: {say('predict.said')} {'–' if said is None else said}, {say('predict.is')} {_shown(right)}"
            for name, said, right, _ in self.rows
        )


def _verdict(said: Value | None, right: Collection[Value]) -> str:
    if said is None:
        return say("predict.none")
    return say("predict.right") if said in right else say("predict.wrong")


def _words(name: str) -> str:
    """A field's name as it is shown: `first_list` is "first list"; a resource's name stays as it is."""
    return name if "/" in name else name.replace("_", " ")


def _head(name: str) -> str:
    """The same at the beginning of a sentence: what is a name or a mask stays as it is."""
    words = _words(name)
    return words[:1].upper() + words[1:] if words.replace(" ", "").isalpha() else words


def _right(fact: Value | Collection[Value]) -> tuple[Value, ...]:
    return (fact,) if isinstance(fact, int | str) else tuple(fact)


def _shown(right: tuple[Value, ...]) -> str:
    return say("predict.or").join(map(str, right))


def _html(kind: str, title: str, body: str) -> str:
    return f'<div class="kubedev-{kind}"><strong>{escape(title)}</strong>{body}</div>'
