"""Label selectors: what they match, and what they refuse."""

import pytest

from kubedev.api.selectors import LabelSelector, LabelSelectorRequirement
from kubedev.scheduler.selectors.labels import (
    EVERYTHING,
    NOTHING,
    Requirement,
    SelectorError,
    from_label_selector,
    new_requirement,
)


@pytest.mark.parametrize(
    ("operator", "values", "labels", "expected"),
    [
        ("In", ("a", "b"), {"k": "b"}, True),
        ("In", ("a", "b"), {}, False),
        ("NotIn", ("a",), {"k": "b"}, True),
        ("NotIn", ("a",), {}, True),
        ("NotIn", ("a",), {"k": "a"}, False),
        ("Exists", (), {"k": ""}, True),
        ("Exists", (), {}, False),
        ("DoesNotExist", (), {}, True),
        ("DoesNotExist", (), {"k": ""}, False),
        ("Gt", ("5",), {"k": "6"}, True),
        ("Gt", ("5",), {"k": "5"}, False),
        ("Gt", ("5",), {}, False),
        ("Gt", ("5",), {"k": "six"}, False),
        ("Lt", ("5",), {"k": "-7"}, True),
        ("Lt", ("5",), {"k": " 4"}, False),
        ("Lt", ("5",), {"k": "1_0"}, False),
        ("Lt", ("5",), {"k": "-9223372036854775809"}, False),
        ("Gt", ("5",), {"k": "1" * 5000}, False),
    ],
)
def test_operators(operator: str, values: tuple[str, ...], labels: dict[str, str], expected: bool) -> None:
    assert new_requirement("k", operator, values).matches(labels) is expected


def test_no_selector_matches_nothing_and_an_empty_one_everything() -> None:
    assert from_label_selector(None) == NOTHING
    assert from_label_selector(LabelSelector()) == EVERYTHING
    assert EVERYTHING.matches({})
    assert not NOTHING.matches({})
    assert not NOTHING.with_requirements([Requirement("k", "Exists")]).matches({"k": "v"})


def test_unknown_operator() -> None:
    selector = LabelSelector(match_expressions=(LabelSelectorRequirement("k", "Gt", ("1",)),))
    with pytest.raises(SelectorError, match=r'^"Gt" is not a valid label selector operator$'):
        from_label_selector(selector)


def test_each_fault_is_told_with_its_place() -> None:
    with pytest.raises(SelectorError) as caught:
        new_requirement("", "Gt", ("x y", "1"), "at[0]")
    places = [error.split(": ")[0] for error in caught.value.errors]
    assert places == ["at[0].key", "at[0].values", "at[0].values[0]", "at[0].values[0][]"]
    assert "for 'Gt', 'Lt' operators, exactly one value is required" in caught.value.errors[1]
    assert '[]string{"x y", "1"}' in caught.value.errors[1]
    assert str(caught.value).startswith("[at[0].key: Invalid value: ")


def test_a_label_value_has_at_most_63_characters() -> None:
    new_requirement("k", "In", ("v" * 63,))
    with pytest.raises(SelectorError, match="must be no more than 63 characters"):
        new_requirement("k", "In", ("v" * 64,))
