"""Labels and the selectors that choose by them.

Parsing is where nonsense is refused, with the texts of Go; a selector that was parsed only answers yes or
no. Go: `k8s.io/apimachinery/pkg/labels/selector.go`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kubedev.api.gotext import quote
from kubedev.api.names import qualified_name_problems
from kubedev.api.selectors import LabelSelector

__all__ = [
    "EVERYTHING",
    "NOTHING",
    "Requirement",
    "Selector",
    "SelectorError",
    "from_label_selector",
    "from_labels",
    "go_strings",
    "join_errors",
    "label_value_problems",
    "new_requirement",
]

Labels = Mapping[str, str]

MAX_LABEL_VALUE = 63
LABEL_VALUE = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
LABEL_VALUE_WRONG = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    f"for validation is '{LABEL_VALUE}')"
)
INTEGER = r"[+-]?0*[0-9]{1,19}"
WRONG_NUMBER_OF_VALUES = {
    "In": "for 'in', 'notin' operators, values set can't be empty",
    "NotIn": "for 'in', 'notin' operators, values set can't be empty",
    "Exists": "values set must be empty for exists and does not exist",
    "DoesNotExist": "values set must be empty for exists and does not exist",
    "Gt": "for 'Gt', 'Lt' operators, exactly one value is required",
    "Lt": "for 'Gt', 'Lt' operators, exactly one value is required",
}
LABEL_SELECTOR_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


class SelectorError(ValueError):
    """A selector that cannot be understood; `errors` are the single faults, in the order of the fields."""

    def __init__(self, errors: Iterable[str]) -> None:
        self.errors = tuple(dict.fromkeys(errors))
        super().__init__(join_errors(self.errors))


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on the label `key`; the operators are In, NotIn, Exists, DoesNotExist, Gt and Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Labels) -> bool:
        """Whether the labels fulfil the condition. A label that is absent fulfils NotIn."""
        value = labels.get(self.key)
        if self.operator == "In":
            return value in self.values
        if self.operator == "NotIn":
            return value not in self.values
        if self.operator in ("Exists", "DoesNotExist"):
            return (value is None) == (self.operator == "DoesNotExist")
        number, bound = parse_int(value or ""), parse_int(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if self.operator == "Gt" else number < bound


@dataclass(frozen=True, slots=True)
class Selector:
    """All requirements have to hold; none at all means that everything matches."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is no restriction: the selector matches everything."""
        return not self.requirements and not self.nothing

    def matches(self, labels: Labels) -> bool:
        """Whether the labels fulfil every requirement."""
        if self.nothing:
            return False
        for requirement in self.requirements:  # noqa: SIM110 - asked for each pod: a generator costs twice the time
            if not requirement.matches(labels):
                return False
        return True

    def with_requirements(self, requirements: Sequence[Requirement]) -> "Selector":
        """A selector that asks for more; nothing stays nothing."""
        return self if self.nothing else Selector((*self.requirements, *requirements))


EVERYTHING = Selector()
NOTHING = Selector(nothing=True)


def from_labels(labels: Labels) -> Selector:
    """The selector for exactly these labels; they are not validated, as in Go's SelectorFromSet."""
    return Selector(tuple(Requirement(key, "In", (value,)) for key, value in sorted(labels.items())))


def from_label_selector(selector: LabelSelector | None) -> Selector:
    """Parse a manifest's labelSelector: None matches nothing, an empty one everything.

    Raises SelectorError. Go: `k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go: LabelSelectorAsSelector`.
    """
    if selector is None:
        return NOTHING
    requirements = [
        new_requirement(key, "In", (value,)) for key, value in sorted(selector.match_labels.items())
    ]
    for expression in selector.match_expressions:
        if expression.operator not in LABEL_SELECTOR_OPERATORS:
            raise SelectorError([f"{quote(expression.operator)} is not a valid label selector operator"])
        requirements.append(new_requirement(expression.key, expression.operator, expression.values))
    return Selector(tuple(requirements))


@lru_cache(maxsize=4096)
def new_requirement(key: str, operator: str, values: tuple[str, ...], path: str = "") -> Requirement:
    """A requirement whose key, values and their number are valid for the operator, which must be a known one.

    Raises SelectorError with one text a fault, each beginning with the place of the fault below `path`.
    Go: `k8s.io/apimachinery/pkg/labels/selector.go: NewRequirement`.
    """
    prefix = f"{path}." if path else ""
    errors = []
    if problems := qualified_name_problems(key):
        errors.append(f"{prefix}key: Invalid value: {quote(key)}: {'; '.join(problems)}")
    if not number_of_values_is_right(operator, len(values)):
        errors.append(
            f"{prefix}values: Invalid value: {go_strings(values)}: {WRONG_NUMBER_OF_VALUES[operator]}"
        )
    if operator in ("Gt", "Lt"):
        errors += [
            f"{prefix}values[{i}]: Invalid value: {quote(value)}: "
            "for 'Gt', 'Lt' operators, the value must be an integer"
            for i, value in enumerate(values)
            if parse_int(value) is None
        ]
    for i, value in enumerate(values):
        if problems := label_value_problems(value):
            errors.append(f"{prefix}values[{i}][{key}]: Invalid value: {quote(value)}: {'; '.join(problems)}")
    if errors:
        raise SelectorError(errors)
    return Requirement(key, operator, values)


def number_of_values_is_right(operator: str, number: int) -> bool:
    if operator in ("In", "NotIn"):
        return number > 0
    return number == (1 if operator in ("Gt", "Lt") else 0)


def parse_int(text: str) -> int | None:
    """Go's strconv.ParseInt(text, 10, 64): Python's int would take spaces and underscores too."""
    if not re.fullmatch(INTEGER, text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def label_value_problems(value: str) -> list[str]:
    """Why this is no value for a label; empty where it is one. Go: `IsValidLabelValue`."""
    problems = []
    if len(value.encode()) > MAX_LABEL_VALUE:
        problems.append(f"must be no more than {MAX_LABEL_VALUE} characters")
    if not re.fullmatch(LABEL_VALUE, value):
        problems.append(LABEL_VALUE_WRONG)
    return problems


def join_errors(errors: Sequence[str]) -> str:
    """Several errors as one text, as Go's aggregate prints them."""
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"


def go_strings(texts: Sequence[str]) -> str:
    """A list of texts as Go's %#v prints it."""
    return f"[]string{{{', '.join(map(quote, texts))}}}"
