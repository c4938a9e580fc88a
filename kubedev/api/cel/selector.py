"""Selectors of devices: an expression that is true of some devices and not of others.

Go: `k8s.io/dynamic-resource-allocation/cel/compile.go: CompileCELExpression, DeviceMatches`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from kubedev.api.cel.checker import type_of_expression
from kubedev.api.cel.evaluation import value_of
from kubedev.api.cel.functions import EvaluationError
from kubedev.api.cel.lexer import CompileError
from kubedev.api.cel.semver import Semver
from kubedev.api.cel.syntax import RECURSION_LIMIT, Expression, parse
from kubedev.api.cel.types import ANY, BOOL, DEVICE, type_of
from kubedev.api.resource_slices import BasicDevice, DeviceAttribute

__all__ = ["Selector", "View", "compile_selector", "view_of"]

View = Mapping[str, Any]
"""A device as expressions see it."""
TOO_DEEP = f"expression recursion limit exceeded: {RECURSION_LIMIT}"


class Domains(dict[str, dict[str, Any]]):
    """Names by domain; a domain that nobody mentioned is an empty one, and is in no list."""

    default: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Selector:
    """An expression that can be asked of devices."""

    expression: str
    tree: Expression = field(repr=False)

    def matches(self, view: View) -> bool:
        """Whether it is true of a device. Raises EvaluationError where that cannot be said. Go: `DeviceMatches`."""
        try:
            result = value_of(self.tree, {"device": view})
        except RecursionError:
            raise EvaluationError(TOO_DEEP) from None
        if not isinstance(result, bool):
            name = type_of(result).name
            raise EvaluationError(
                f"CEL result of type {name} could not be converted to bool: "
                f"type conversion error from '{name}' to 'bool'"
            )
        return result


@lru_cache(maxsize=256)
def compile_selector(expression: str) -> Selector:
    """A selector of a text. Raises CompileError, whose `text` shows where and what; Go: `CompileCELExpression`."""
    try:
        tree = parse(expression)
        found = type_of_expression(tree, {"device": DEVICE})
    except RecursionError:
        raise CompileError(TOO_DEEP) from None
    if found not in (BOOL, ANY):
        raise CompileError(f"must evaluate to bool or the unknown type, not {found}")
    return Selector(expression, tree)


def view_of(driver: str, device: BasicDevice) -> View:
    """What expressions can see of a driver's device. Raises EvaluationError for an attribute without a value."""
    attributes = {name: attribute_value(name, one) for name, one in device.attributes.items()}
    return {
        "driver": driver,
        "attributes": by_domain(attributes, driver),
        "capacity": by_domain(device.capacity, driver),
    }


def attribute_value(name: str, attribute: DeviceAttribute) -> Any:
    """An attribute's value as CEL has it, or EvaluationError. Go: `getAttributeValue`."""
    if not attribute.kind:
        raise EvaluationError(f"attribute {name}: unsupported attribute value")
    if attribute.kind != "version":
        return attribute.value
    try:
        return Semver.parse(str(attribute.value))
    except ValueError as error:
        raise EvaluationError(f"attribute {name}: parse semantic version: {error}") from None


def by_domain(named: Mapping[str, Any], driver: str) -> Domains:
    """Values by domain and name."""
    domains = Domains()
    for name, value in named.items():
        domain, short = qualified(name, driver)
        domains.setdefault(domain, {})[short] = value
    return domains


def qualified(name: str, driver: str) -> tuple[str, str]:
    """A name's domain, which is the driver's where it says none, and the rest. Go: `parseQualifiedName`."""
    domain, slash, short = name.partition("/")
    return (domain, short) if slash else (driver, name)
