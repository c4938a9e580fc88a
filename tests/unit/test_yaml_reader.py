"""YAML as kubectl reads it: where that differs from PyYAML, and what is refused at which line."""

from typing import Any

import pytest
import yaml

from kubedev.api import yaml_reader
from kubedev.api.manifests import ManifestError, load
from kubedev.api.yaml_reader import YAMLError, documents

ERROR = object()

# A scalar as it is written: what kubectl makes of it, where PyYAML's SafeLoader makes something else of it.
DIFFERENT: dict[str, Any] = {
    # base 60 is not known
    "12:30": "12:30",
    "1:30": "1:30",
    "190:20:30": "190:20:30",
    "190:20:30.15": "190:20:30.15",
    "0000:03:02.1": "0000:03:02.1",
    "-1:30": "-1:30",
    # one letter is a word too
    "y": True,
    "Y": True,
    "n": False,
    "N": False,
    # octal is written with 0o as well, and 08 is a number all the same
    "0o17": 15,
    "0O17": 15,
    "-0o17": -15,
    "08": 8,
    "-09": -9,
    # capital letters before the digits
    "0X1F": 31,
    "0B11": 3,
    # a float needs no point before its exponent, nor a sign in it
    "1e3": 1000,
    "1E3": 1000,
    "12e03": 12000,
    "1.5e3": 1500,
    "-2e-1": -0.2,
    # beyond 64 bits a number is a float, beyond all floats a text
    "18446744073709551616": float(2**64),
    "9223372036854775808": float(2**63),
    "1.0e+999": "1.0e+999",
    "9" * 400: "9" * 400,
    "0xFFFFFFFFFFFFFFFFF": "0xFFFFFFFFFFFFFFFFF",
    # JSON knows no infinite numbers
    ".inf": ERROR,
    "-.INF": ERROR,
    ".NaN": ERROR,
    # dates stay texts
    "2001-12-14": "2001-12-14",
    "2001-12-14t21:59:43.10-05:00": "2001-12-14t21:59:43.10-05:00",
    "2001-12-14 21:59:43": "2001-12-14 21:59:43",
    # a sign of its own type in YAML 1.1
    "=": "=",
    # a whole number that is written as a float
    "1.0": 1,
    "100.": 100,
    # tags
    "!!binary aGVsbG8=": "hello",
    "!!float 3": 3,
    "!!timestamp 2001-12-14": "2001-12-14",
    "!mine 12": "12",
    "!!python/name:os.system x": "x",
    "!!set {a, b}": {"a": None, "b": None},
    "!!omap [a: 1]": [{"a": 1}],
    "!!pairs [a: 1, a: 2]": [{"a": 1}, {"a": 2}],
}
# What both make the same of.
SAME: dict[str, Any] = {
    "yes": True,
    "No": False,
    "ON": True,
    "off": False,
    "true": True,
    "FALSE": False,
    "tRUE": "tRUE",
    "~": None,
    "null": None,
    "nUll": "nUll",
    "": None,
    "0": 0,
    "010": 8,
    "0x1F": 31,
    "0b11": 3,
    "1_000": 1000,
    "-17": -17,
    "+17": 17,
    "0.5": 0.5,
    ".5": 0.5,
    "._5": "._5",
    "1e999": "1e999",
    "1.5e+3": 1500,
    "'12'": "12",
    '"yes"': "yes",
    "!!str 12": "12",
    "!!int '12'": 12,
    "a:b": "a:b",
    "1.2.3": "1.2.3",
    "100m": "100m",
    "1Gi": "1Gi",
}


def read(text: str) -> Any:
    try:
        return next(iter(documents(f"v: {text}"))).value["v"]
    except YAMLError:
        return ERROR


def pyyaml(text: str) -> Any:
    try:
        return yaml.safe_load(f"v: {text}")["v"]
    except (yaml.YAMLError, ValueError, AttributeError):
        return ERROR


def alike(left: Any, right: Any) -> bool:
    return bool(type(left) is type(right) and left == right)


@pytest.mark.parametrize("text", DIFFERENT, ids=lambda text: text[:20])
def test_r3_scalars_that_kubectl_reads_otherwise_than_pyyaml(text: str) -> None:
    value = DIFFERENT[text]
    assert alike(read(text), value)
    assert not alike(pyyaml(text), value)


@pytest.mark.parametrize("text", SAME)
def test_r3_scalars_that_both_read_alike(text: str) -> None:
    assert alike(read(text), SAME[text])
    assert pyyaml(text) == SAME[text]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a: &x {k: 1, l: 2}, b: {<<: *x, k: 3}}", {"k": 3, "l": 2}),
        ("{a: &x {k: 1, l: 2}, b: {k: 3, <<: *x}}", {"k": 1, "l": 2}),
        ("{a: &x {k: 1}, b: {<<: [*x, {k: 2, m: 3}]}}", {"k": 1, "m": 3}),
        ("{a: &x [1], b: [*x, *x]}", [[1], [1]]),
        ('{b: {"<<": 1}}', {"<<": 1}),
        ("{b: {0x10: a, 1.50: b, yes: c, 08: d, 1234567.0: e}}", None),
    ],
)
def test_r3_merge_keys_count_in_their_order_and_keys_become_texts(text: str, value: Any) -> None:
    found = next(iter(documents(f"---\n{text}"))).value["b"]
    assert found == (value or {"16": "a", "1.5": "b", "true": "c", "8": "d", "1.234567e+06": "e"})


def test_r3_where_libyaml_is_not_there_it_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_reader, "Parser", yaml.SafeLoader)
    for text, value in {**DIFFERENT, **SAME}.items():
        assert alike(read(text), value), text
    with pytest.raises(YAMLError, match="line 2: control characters are not allowed"):
        list(documents("a: 1\nb: \x01"))


POD = """apiVersion: v1
kind: Pod
metadata:
  name: p
  annotations: {at: ANNOTATION}
spec:
  containers:
  - name: app
    image: i
    env: [{name: BUS, value: VALUE}]
    resources:
      limits:
        nvidia.com/gpu: GPUS
"""


def pod(annotation: str = "a", value: str = "b", gpus: str = "1") -> str:
    return POD.replace("ANNOTATION", annotation).replace("VALUE", value).replace("GPUS", gpus)


def refused(text: str) -> str:
    with pytest.raises(ManifestError) as caught:
        load(text, "my.yaml")
    return str(caught.value)


def test_r3_an_address_and_a_time_of_day_are_texts_and_no_number_of_devices() -> None:
    (found,) = load(pod("12:30", "0000:03:02.1")).pods
    assert found.containers[0].envs == (("BUS", "0000:03:02.1"),)
    assert found.annotations == {"at": "12:30"}
    assert 'Invalid value: "1:30"' in refused(pod(gpus="1:30"))


@pytest.mark.parametrize("value", ["yes", "0x10", "1e3", "null"])
def test_r3_what_is_no_text_for_kubectl_is_none_here(value: str) -> None:
    if value == "null":
        assert load(pod(value=value)).pods[0].containers[0].envs == (("BUS", ""),)
    else:
        shown = {"yes": "true", "0x10": "16", "1e3": "1000"}[value]
        assert f"env[0].value: expected a text, got {shown}: put it in quotes (line 10)" in refused(
            pod(value=value)
        )


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("&a\napiVersion: v1\nkind: List\nitems: [*a]", ["line 4", "anchor 'a' value contains itself"]),
        ('a: 1\nb: !!timestamp "abc"', ["line 2", "cannot decode !!str `abc` as a !!timestamp"]),
        ("a: !!int 1.5", ["line 1", "cannot decode !!float `1.5` as a !!int"]),
        ("a: !!binary '?'", ["line 1", "!!binary value contains invalid base64 data"]),
        ("a: !!binary Ä", ["line 1", "!!binary value contains invalid base64 data"]),
        ("a: 1\nb: .nan", ["line 2", "json: unsupported value: NaN"]),
        ("a: *x", ["line 1", "unknown anchor 'x' referenced"]),
        ("a: {<<: 1}", ["line 1", "map merge requires map or sequence of maps as the value"]),
        ("{{ .Values.x }}: 1", ["invalid map key", "helm template"]),
        ("~: 1", ["line 1", "unsupported map key", "got null"]),
        ("a: 1\n--- b: 2", ["line 2", "invalid Yaml document separator: b: 2"]),
        ("a: \x01", ["line 1", "control characters are not allowed"]),
        (pod(gpus="1" * 5000), ["limits[nvidia.com/gpu]", "must be"]),
        (
            pod().replace("spec:", f"spec:\n  priority: {'9' * 5000}"),
            ["spec.priority", "whole number", "line 7"],
        ),
        (pod().replace("spec:", "spec:\n  priority: 4294967296"), ["spec.priority", "2147483647", "line 7"]),
        (pod().replace("  name: p", "  name: !!binary /w=="), ["metadata.name", "\ufffd"]),
        ("a: " + "[" * 600 + "]" * 600, ["nested too deeply", "500"]),
        ('{"a": 1, "a": 2}', ['key "a" already set in map']),
        ('{"a": ' + "[" * 100_000, ["nested too deeply"]),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else "",
)
def test_r7_refused_with_place_and_reason(text: str, parts: list[str]) -> None:
    said = refused(text)
    for part in ("my.yaml", *parts):
        assert part in said
    for word in ("True", "None", "b'", "nan", "Error"):
        assert word not in said.replace("unsupported value: NaN", "")


def test_r7_a_billion_laughs() -> None:
    lines = ["a: &a0 [x, x]", *(f"b{i}: &a{i + 1} [{', '.join([f'*a{i}'] * 10)}]" for i in range(9))]
    assert "document contains excessive aliasing" in refused("\n".join(lines))


def test_json_is_read_with_its_own_escapes() -> None:
    text = '{"a": "\\ud83d\\ude00 \\/"}\n{"a": 1e2}'
    assert [found.value for found in documents(text)] == [{"a": "😀 /"}, {"a": 100}]


def test_documents_are_numbered_as_they_stand_in_the_file() -> None:
    text = "# head\n---\na: 1\n---\n---  # third\nb: 2\n"
    assert [(found.number, found.value) for found in documents(text)] == [(1, {"a": 1}), (3, {"b": 2})]
    assert [found.number for found in documents("a: 1\n---\nb: 2")] == [1, 2]
