"""Quantity: parse, print, compare, add, subtract."""

from typing import Any

from kubedev.api.quantity import Quantity, QuantityError


def printed(quantity: Quantity) -> dict[str, Any]:
    return {
        "string": str(quantity),
        "canonical": quantity.canonical(),
        "format": quantity.format.value,
        "as_dec": quantity.as_dec(),
    }


def answer(case: dict[str, Any]) -> dict[str, Any]:
    if case["kind"] == "pair":
        a, b = Quantity.parse(case["a"]), Quantity.parse(case["b"])
        return {"cmp": a.cmp(b), "sum": printed(a + b), "diff": printed(a - b)}
    try:
        quantity = Quantity.parse(case["s"])
    except QuantityError as error:
        return {"error": str(error)}
    numbers = {"value": quantity.value(), "milli_value": quantity.milli_value(), "sign": quantity.sign()}
    return {"error": None, **numbers, **printed(quantity)}
