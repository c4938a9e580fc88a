"""The type of an expression, before it is asked of anything. Go: `cel-go/checker/checker.go`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubedev.api.cel.functions import FUNCTIONS, METHODS, Overload
from kubedev.api.cel.lexer import CompileError
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
from kubedev.api.cel.types import (
    ANY,
    BOOL,
    DEVICE,
    DYN,
    QUANTITY,
    STRING,
    Type,
    fits,
    joined,
    list_of,
    map_of,
    resolved,
    type_of,
)

__all__ = ["type_of_expression"]

OBJECTS: Mapping[str, Mapping[str, Type]] = {
    DEVICE.name: {
        "driver": STRING,
        "attributes": map_of(STRING, map_of(STRING, ANY)),
        "capacity": map_of(STRING, map_of(STRING, QUANTITY)),
    }
}
"""The types with fields of their own."""

Scope = Mapping[str, Type]


def type_of_expression(found: Expression, scope: Scope) -> Type:
    """The type of an expression whose variables have the types of `scope`. Raises CompileError where it has none."""
    return CHECKS[type(found)](found, scope)


def check_literal(found: Literal, scope: Scope) -> Type:
    return type_of(found.value)


def check_ident(found: Ident, scope: Scope) -> Type:
    if found.name not in scope:
        raise CompileError(
            f"undeclared reference to '{found.name}' (in container ''): known is {', '.join(scope)}", found.at
        )
    return scope[found.name]


def check_select(found: Select, scope: Scope) -> Type:
    operand = type_of_expression(found.operand, scope)
    if operand.name in OBJECTS:
        fields = OBJECTS[operand.name]
        if found.field not in fields:
            raise CompileError(f"undefined field '{found.field}'", found.at)
        result = fields[found.field]
    elif operand.name == "map":
        result = operand.params[1]
    elif operand.is_dynamic:
        result = DYN
    else:
        raise CompileError(f"type '{operand}' does not support field selection", found.at)
    return BOOL if found.test else result


def check_call(found: Call, scope: Scope) -> Type:
    args = [type_of_expression(arg, scope) for arg in found.args]
    if found.function in ("_&&_", "_||_"):
        for arg, actual in zip(found.args, args, strict=True):
            need(actual, BOOL, arg)
        return BOOL
    if found.function == "_?_:_":
        need(args[0], BOOL, found.args[0])
        both = joined(args[1], args[2])
        if both is None:
            raise no_overload(found, args)
        return both
    overloads = (METHODS if found.member else FUNCTIONS).get(found.function)
    if overloads is None:
        known = ", ".join(sorted(METHODS if found.member else filter(str.isalpha, FUNCTIONS)))
        raise CompileError(
            f"undeclared reference to '{found.function}' (in container ''): kubedev knows {known}", found.at
        )
    results = possible_results(overloads, args)
    if not results:
        raise no_overload(found, args)
    return results[0] if all(result == results[0] for result in results) else DYN


def possible_results(overloads: Sequence[Overload], args: Sequence[Type]) -> list[Type]:
    """What the overloads give that can take these types."""
    found = []
    for overload in overloads:
        known: dict[Type, Type] = {}
        if len(overload.params) == len(args) and all(
            fits(actual, wanted, known) for actual, wanted in zip(args, overload.params, strict=True)
        ):
            found.append(resolved(overload.result, known))
    return found


def no_overload(found: Call, args: Sequence[Type]) -> CompileError:
    shown = ", ".join(map(str, args[found.member :]))
    applied = f"{args[0]}.({shown})" if found.member else f"({shown})"
    return CompileError(f"found no matching overload for '{found.function}' applied to '{applied}'", found.at)


def need(actual: Type, wanted: Type, found: Expression) -> None:
    """CompileError where an expression has another type than it is to have."""
    if joined(actual, wanted) is None:
        raise CompileError(f"expected type '{wanted}' but found '{actual}'", found.at)


def check_list(found: ListOf, scope: Scope) -> Type:
    return list_of(one_type(found.items, scope))


def check_map(found: MapOf, scope: Scope) -> Type:
    keys, values = ([entry[side] for entry in found.entries] for side in (0, 1))
    return map_of(one_type(keys, scope), one_type(values, scope))


def one_type(items: Sequence[Expression], scope: Scope) -> Type:
    """The type that all of these have: Kubernetes wants lists and maps to be of one type."""
    common: Type | None = None
    for item in items:
        actual = type_of_expression(item, scope)
        common = actual if common is None else joined(common, actual) or refuse_mixed(item, common, actual)
    return common or DYN


def refuse_mixed(item: Expression, wanted: Type, actual: Type) -> Type:
    raise CompileError(f"expected type '{wanted}' but found '{actual}'", item.at)


def check_comprehension(found: Comprehension, scope: Scope) -> Type:
    over = type_of_expression(found.range, scope)
    if over.name not in ("list", "map") and not over.is_dynamic:
        raise CompileError(
            f"expression of type '{over}' cannot be range of a comprehension (must be list, map, or dynamic)",
            found.range.at,
        )
    item = DYN if over.is_dynamic else over.params[0]
    inner = {**scope, found.variable: item}
    if found.test is not None:
        need(type_of_expression(found.test, inner), BOOL, found.test)
    if found.transform is not None:
        return list_of(type_of_expression(found.transform, inner))
    return list_of(item) if found.macro == "filter" else BOOL


def check_bind(found: Bind, scope: Scope) -> Type:
    return type_of_expression(found.body, {**scope, found.name: type_of_expression(found.value, scope)})


CHECKS: Mapping[type, Callable[[Any, Scope], Type]] = {
    Literal: check_literal,
    Ident: check_ident,
    Select: check_select,
    Call: check_call,
    ListOf: check_list,
    MapOf: check_map,
    Comprehension: check_comprehension,
    Bind: check_bind,
}
"""How the type of each kind of expression is found."""
