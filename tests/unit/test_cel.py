"""Selectors in CEL: what is true of a device, what cannot be said of it, and what nobody can ask."""

from itertools import pairwise

import pytest

from kubedev.api.cel import CompileError, EvaluationError, compile_selector, view_of
from kubedev.api.cel.semver import Semver
from kubedev.api.fields import Fields
from kubedev.api.resource_slices import BasicDevice

DEVICE = BasicDevice.read(
    Fields(
        {
            "attributes": {
                "model": {"string": "A100"},
                "numa": {"int": 1},
                "ecc": {"bool": True},
                "driverVersion": {"version": "1.2.0-rc.2"},
                "std.io/index": {"int": 7},
            },
            "capacity": {"memory": {"value": "40Gi"}},
        }
    )
)
GPU = 'device.attributes["gpu.example.com"]'
MEMORY = 'device.capacity["gpu.example.com"].memory'


def matches(expression: str) -> bool:
    return compile_selector(expression).matches(view_of("gpu.example.com", DEVICE))


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver == "gpu.example.com"',
        f'{GPU}.model == "A100" && {GPU}.numa == 1',
        f'{GPU}["model"].startsWith("A1") && {GPU}.model.endsWith("00") && {GPU}.model.contains("10")',
        f"!({GPU}.numa > 1) && {GPU}.numa >= 1 && {GPU}.numa < 1.5",
        f"{GPU}.ecc",
        f'{GPU}.model in ["H100", "A100"] && !({GPU}.numa in [])',
        f'"model" in {GPU} && !("colour" in {GPU})',
        f"has({GPU}.model) && !has({GPU}.colour)",
        'device.attributes["std.io"].index == 7',
        '!has(device.attributes["nobody.io"].x) && !("nobody.io" in device.attributes)',
        f'{GPU}.exists(name, name.startsWith("driver")) && {GPU}.all(name, size(name) > 2)',
        "[1, 2, 3].filter(x, x > 1).map(x, x * 2) == [4, 6] && [1, 2].exists_one(x, x == 2)",
        f'{MEMORY}.compareTo(quantity("40Gi")) == 0 && {MEMORY}.isGreaterThan(quantity("39Gi"))',
        f'{MEMORY} == quantity("40960Mi") && {MEMORY}.sub(quantity("1Gi")).isLessThan({MEMORY})',
        f'{GPU}.driverVersion.isLessThan(semver("1.2.0")) && {GPU}.driverVersion.major() == 1',
        f'{GPU}.driverVersion.compareTo(semver("1.2.0-rc.2+build")) == 0',
        f"cel.bind(gpu, {GPU}, gpu.ecc ? gpu.numa == 1 : false)",
        r'"\x41\u00e9\n" == "A\U000000e9" + "\n" && r"\n" == "\\n" && """a"b""" == ' + "'a\"b'",
        "0x1F == 31 && 7u + 1u == 8u && -7 / 2 == -3 && -7 % 3 == -1 && 1e2 == 100.0",
    ],
)
def test_an_expression_that_is_true_of_the_device(expression: str) -> None:
    assert matches(expression) is True


def test_values_of_different_types_are_not_equal_and_that_is_no_error() -> None:
    assert matches(f"{GPU}.model == 1") is False
    assert matches(f"{GPU}.ecc == 1") is False
    assert matches(f'{GPU}.numa != "1"') is True
    assert matches(f"{GPU}.numa == 1.0") is True


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        (f'{GPU}.colour == "red"', "no such key: colour"),
        ('device.attributes["nobody.io"].x == 1', "no such key: x"),
        (f"{GPU}.model > 1", "no such overload"),
        (f"{GPU}.numa.startsWith(device.driver)", "no such overload"),
        (f"!{GPU}.model", "no such overload"),
        (f"{GPU}.numa / 0 == 1", "division by zero"),
        (f"{GPU}.numa + 9223372036854775807 > 0", "integer overflow"),
        (f"{GPU}.model", "CEL result of type string could not be converted to bool"),
        (f"[1][{GPU}.numa] == 1", "index out of bounds: 1"),
        ("int(device.driver) == 1", "cannot convert 'gpu.example.com' to int"),
        (f'int("{"9" * 5000}") == 1', "cannot convert '9999"),
        ('int("9223372036854775808") == 1', "integer overflow"),
        ('quantity("much") == quantity("1")', "quantities must match the regular expression"),
        ('semver("1.0") == semver("1.0.0")', "Invalid Semantic Version"),
    ],
)
def test_what_cannot_be_said_of_the_device_is_an_error(expression: str, error: str) -> None:
    with pytest.raises(EvaluationError, match=error):
        matches(expression)


def test_what_decides_counts_more_than_an_error() -> None:
    assert matches(f'{GPU}.colour == "red" || device.driver == "gpu.example.com"') is True
    assert matches(f'{GPU}.colour == "red" && device.driver == "other"') is False
    assert matches("[0, 1].exists(x, 1 / x == 1)") is True
    assert matches("[0, 1].all(x, 1 / x == 2)") is False
    with pytest.raises(EvaluationError, match="no such key: colour"):
        matches(f'{GPU}.colour == "red" || device.driver == "other"')


@pytest.mark.parametrize(
    ("expression", "problem", "column"),
    [
        ("device.foo == 1", "undefined field 'foo'", 7),
        ("!!", "Syntax error", 3),
        ("", "Syntax error", 1),
        ("device.driver == 1", "found no matching overload for '_==_' applied to '(string, int)'", 15),
        (f'{MEMORY} >= quantity("1Gi")', "found no matching overload for '_>=_'", 43),
        ("gpu == 1", "undeclared reference to 'gpu'", 1),
        ("device.driver.shout()", "undeclared reference to 'shout'", 20),
        ('device.driver in ["a", 1]', "expected type 'string' but found 'int'", 24),
        ("device.driver && true", "expected type 'bool' but found 'string'", 7),
        ("has(device)", "invalid argument to has()", 4),
        ("1.exists(x, x)", "cannot be range of a comprehension", 1),
        ("9223372036854775808 > 0", "invalid int literal", 1),
        ("9" * 5000 + " > 0", "invalid int literal", 1),
        ("9" * 5000 + "u > 0u", "invalid uint literal", 1),
        ('"never ends', "token recognition error", 1),
        ("true ? 1", "Syntax error: expected ':'", 9),
        ("while", "reserved identifier: while", 1),
    ],
)
def test_what_nobody_can_ask_is_refused_with_its_place(expression: str, problem: str, column: int) -> None:
    with pytest.raises(CompileError) as caught:
        compile_selector(expression)
    text = caught.value.text(expression)
    first, *_, place = text.splitlines()
    assert f"compilation failed: ERROR: <input>:1:{column}: " in first
    assert problem in first
    assert place == " | " + "." * (column - 1) + "^"


@pytest.mark.parametrize(
    ("expression", "of"), [("1", "int"), ('"a"', "string"), ("dyn(true)", "dyn"), ("[true]", "list(bool)")]
)
def test_a_selector_has_to_be_true_or_false(expression: str, of: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_selector(expression)
    assert caught.value.text(expression) == f"must evaluate to bool or the unknown type, not {of}"


@pytest.mark.parametrize("deep", ["(" * 400 + "true" + ")" * 400, "+".join(["1"] * 4000) + " > 0"])
def test_what_is_nested_too_deeply_is_refused(deep: str) -> None:
    with pytest.raises(CompileError, match="expression recursion limit exceeded"):
        compile_selector(deep)


def test_what_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubedev.api.cel.evaluation.MAX_COST", 10_000)
    many = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
    nested = "true"
    for depth in range(7):
        nested = f"{many}.all(x{depth}, {nested})"
    with pytest.raises(EvaluationError, match="operation cancelled: actual cost limit exceeded"):
        matches(f"{nested} || true")


def test_what_grows_too_long_is_given_up() -> None:
    grown = "x40 == device.driver"
    for depth in range(40, 0, -1):
        grown = f"cel.bind(x{depth}, x{depth - 1} + x{depth - 1}, {grown})"
    with pytest.raises(EvaluationError, match="operation cancelled: actual cost limit exceeded"):
        matches(f"cel.bind(x0, device.driver, {grown}) || true")


def test_a_long_list_of_conditions_is_not_deep() -> None:
    assert matches(" && ".join([f"{GPU}.ecc"] * 300))


def test_a_version_that_is_none_is_an_error_whatever_is_asked() -> None:
    device = BasicDevice.read(Fields({"attributes": {"v": {"version": "1.0"}}}))
    with pytest.raises(EvaluationError, match="attribute v: parse semantic version: "):
        view_of("gpu.example.com", device)
    nothing = BasicDevice.read(Fields({"attributes": {"v": {}}}))
    with pytest.raises(EvaluationError, match="attribute v: unsupported attribute value"):
        view_of("gpu.example.com", nothing)


def test_versions_are_in_the_order_of_semver() -> None:
    # the example of semver.org, item 11
    texts = (
        "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0"
    )
    versions = list(map(Semver.parse, texts.split()))
    for older, newer in pairwise(versions):
        assert older.compare(newer) == -1
        assert newer.compare(older) == 1
    for wrong in ("1.0", "v1.0.0", "01.0.0", "1.0.0-", "1.0.0-01", "1.0.0+", "1.0.0 "):
        with pytest.raises(ValueError, match="Semantic Version"):
            Semver.parse(wrong)
