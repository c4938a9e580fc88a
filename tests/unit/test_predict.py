"""Predictions: choose, lock, see."""

import json
from pathlib import Path
from typing import Any

import pytest

from kubedev.lab import predict
from kubedev.lab.predict import Prediction


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which what was chosen is kept."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ask() -> Prediction:
    return predict("numbers", "What does it say?", capacity=[6, 7, 8], allocatable=[6, 7, 8])


def card(prediction: Prediction) -> dict[str, Any]:
    shown: dict[str, Any] = prediction._shown().card
    return shown


def press(prediction: Prediction, **message: Any) -> None:
    prediction._shown()._handle_custom_msg(message, [])


def test_s16_the_gap_is_a_sentence_and_right_is_told_from_wrong() -> None:
    prediction = ask()
    press(prediction, choose={"capacity": 2})
    press(prediction, choose={"allocatable": 1})
    press(prediction, lock=True)
    prediction.compare(capacity=8, allocatable=8)
    shown = card(prediction)
    assert shown["sentence"] == "Allocatable: you said 7; it is 8."
    assert [(row["right"], row["said"], row["is"]) for row in shown["seen"]] == [
        (True, 8, [2]),
        (False, 7, [2]),
    ]


def test_s16_unanswered_after_run_all_the_answer_stays_hidden() -> None:
    prediction = ask()
    gap = prediction.compare(capacity=8, allocatable=7)
    assert card(prediction)["seen"] is None
    bundle = gap._repr_mimebundle_()
    assert "8" not in bundle["text/plain"] + bundle["text/html"]
    prediction.choose(capacity=8)
    assert card(prediction)["seen"] is None, "one is still open"
    press(prediction, lock=True)
    assert not prediction.locked
    prediction.choose(allocatable=7)
    press(prediction, lock=True)
    assert card(prediction)["sentence"] == "It is as you said."
    assert "<b>7</b>" in gap._repr_html_()


def test_a_locked_prediction_stays_until_it_is_unlocked() -> None:
    prediction = ask()
    with pytest.raises(ValueError, match="still open: capacity, allocatable"):
        prediction.lock()
    prediction.choose(capacity=6, allocatable=6)
    prediction.lock()
    press(prediction, choose={"capacity": 2})
    assert prediction.answers["capacity"] == 6
    press(prediction, lock=False)
    press(prediction, choose={"capacity": 2})
    assert prediction.answers["capacity"] == 8


def test_several_right_answers_and_one_that_was_not_on_offer() -> None:
    prediction = predict("which", "Which?", device=["d0", "d1", "d2"], count=[1, 2])
    prediction.choose(device="d1", count=1)
    prediction.compare(device={"d1"} | {"d0"}, count=5)
    which, count = card(prediction)["seen"]
    assert which["right"]
    assert sorted(which["is"]) == [0, 1]
    assert (count["right"], count["is"], count["other"]) == (False, [], "5")


def test_what_was_chosen_is_offered_again_and_is_not_yet_locked(folder: Path) -> None:
    ask().choose(capacity=8, allocatable=7)
    again = ask()
    assert again.answers == {"capacity": 8, "allocatable": 7}
    assert not again.locked
    kept = json.loads((folder / ".kubedev-answers.json").read_text("utf-8"))
    assert kept == {"numbers": {"capacity": 8, "allocatable": 7}}


def test_what_is_no_answer_is_refused() -> None:
    with pytest.raises(ValueError, match="expected capacity among 6, 7, 8; got 9"):
        ask().choose(capacity=9)


def test_facts_in_another_order_stand_at_their_own_fields() -> None:
    prediction = ask()
    prediction.choose(capacity=8, allocatable=7)
    prediction.lock()
    gap = prediction.compare(allocatable=7, capacity=8)
    assert [name for name, *_ in gap.rows] == ["capacity", "allocatable"]
    assert [row["is"] for row in card(prediction)["seen"]] == [[2], [1]]
