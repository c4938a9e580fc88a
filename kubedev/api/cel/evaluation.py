"""The value of an expression. Go: `cel-go/interpreter/interpretable.go`.

`&&`, `||`, `exists` and `all` look at all they have where one of it fails: what decides, decides.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import count
from typing import Any

from kubedev.api.cel.functions import FUNCTIONS, MAX_COST, METHODS, CostError, EvaluationError, found_in
from kubedev.api.cel.syntax import (
    Bind,
    Call,
    Comprehension,
    Expression,
    Ident,
    ListOf,
    Literal,
    MapOf,
    Select,
)
from kubedev.api.cel.types import has_type, type_of

__all__ = ["value_of"]

Scope = Mapping[str, Any]
NO_SUCH_OVERLOAD = "no such overload"
STEPS = "@steps"
"""Where a scope counts them: no variable has such a name."""


def value_of(found: Expression, variables: Scope) -> Any:
    """The value of a checked expression with these variables. Raises EvaluationError where it has none."""
    try:
        return evaluate(found, {**variables, STEPS: count(1)})
    except CostError:
        raise EvaluationError("operation cancelled: actual cost limit exceeded") from None


def evaluate(found: Expression, scope: Scope) -> Any:
    """The value of a part of an expression."""
    if next(scope[STEPS]) > MAX_COST:
        raise CostError
    return EVALUATIONS[type(found)](found, scope)


def evaluate_literal(found: Literal, scope: Scope) -> Any:
    return found.value


def evaluate_ident(found: Ident, scope: Scope) -> Any:
    return scope[found.name]


def evaluate_select(found: Select, scope: Scope) -> Any:
    operand = evaluate(found.operand, scope)
    if not isinstance(operand, Mapping):
        raise EvaluationError(NO_SUCH_OVERLOAD)
    value, there = found_in(found.field, operand)
    if found.test:
        return there
    if not there:
        raise EvaluationError(f"no such key: {found.field}")
    return value


def evaluate_call(found: Call, scope: Scope) -> Any:
    if found.function in ("_&&_", "_||_"):
        return decided((partial(evaluate, side, scope) for side in found.args), found.function == "_||_")
    if found.function == "_?_:_":
        condition = boolean(evaluate(found.args[0], scope))
        return evaluate(found.args[1 if condition else 2], scope)
    args = [evaluate(arg, scope) for arg in found.args]
    for overload in (METHODS if found.member else FUNCTIONS)[found.function]:
        if len(overload.params) == len(args) and all(map(has_type, args, overload.params)):
            return overload.call(*args)
    raise EvaluationError(NO_SUCH_OVERLOAD)


def boolean(value: Any) -> bool:
    """A value that has to be true or false."""
    if not isinstance(value, bool):
        raise EvaluationError(NO_SUCH_OVERLOAD)
    return value


def decided(answers: Iterable[Callable[[], Any]], decides: bool) -> bool:
    """Whether one of the answers is the one that decides; an error counts only where none is."""
    error: EvaluationError | None = None
    for answer in answers:
        try:
            if boolean(answer()) is decides:
                return decides
        except EvaluationError as found:
            error = error or found
    if error is not None:
        raise error
    return not decides


def evaluate_list(found: ListOf, scope: Scope) -> Any:
    return tuple(evaluate(item, scope) for item in found.items)


def evaluate_map(found: MapOf, scope: Scope) -> Any:
    entries: dict[Any, Any] = {}
    for key, value in found.entries:
        name = evaluate(key, scope)
        if name in entries:
            raise EvaluationError(f"Failed with repeated key: {name}")
        entries[name] = evaluate(value, scope)
    return entries


def evaluate_comprehension(found: Comprehension, scope: Scope) -> Any:
    over = evaluate(found.range, scope)
    if not isinstance(over, tuple | Mapping):
        raise EvaluationError(f"got '{type_of(over).name}', expected iterable type")
    inner = [{**scope, found.variable: item} for item in over]
    if found.macro in ("exists", "all"):
        test = found.test
        assert test is not None
        return decided((partial(evaluate, test, one) for one in inner), found.macro == "exists")
    passed = [one for one in inner if found.test is None or boolean(evaluate(found.test, one))]
    if found.macro == "exists_one":
        return len(passed) == 1
    if found.transform is None:
        return tuple(one[found.variable] for one in passed)
    return tuple(evaluate(found.transform, one) for one in passed)


def evaluate_bind(found: Bind, scope: Scope) -> Any:
    return evaluate(found.body, {**scope, found.name: evaluate(found.value, scope)})


EVALUATIONS: Mapping[type, Callable[[Any, Scope], Any]] = {
    Literal: evaluate_literal,
    Ident: evaluate_ident,
    Select: evaluate_select,
    Call: evaluate_call,
    ListOf: evaluate_list,
    MapOf: evaluate_map,
    Comprehension: evaluate_comprehension,
    Bind: evaluate_bind,
}
"""How each kind of expression is evaluated."""
