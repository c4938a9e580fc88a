"""Lab 03's exercises: unsolved they say what is broken, the answers solve them, wrong answers do not."""

import pytest

from tests.notebooks.exercises import answers, check_with

LAB = "03-list-and-watch"


@pytest.mark.parametrize("exercise", [1, 2, 3])
def test_the_answer_is_right(exercise: int) -> None:
    assert check_with(LAB, exercise, answers(LAB)[exercise - 1])


@pytest.mark.parametrize(
    ("exercise", "answer", "sentence"),
    [
        (1, "", "pod second is Pending, not Running"),
        (
            1,
            "lab.advance(3600)",
            "device d0 of nvidia.com/gpu on gpu-node-1 is unhealthy, and pod trainer holds it",
        ),
        (1, "lab.delete('second')", "there is no pod second"),
        (2, "", "nvidia.com/gpu on gpu-node-1 is not back: capacity 4, allocatable 0"),
        (2, "lab.advance(101); lab.plugin(gpu, devices=4)", "fell to 0 at 301 s"),
        (2, "lab.plugin(gpu, devices=3)", "fell to 3 at 200 s"),
        (3, "", "the list has 4620000 bytes, and the kubelet takes 4194304"),
        (3, "slices = slices[:50_000]", "the list has 50000 devices, not 60000"),
        (
            3,
            "slices = [Device(f'm{i % 50_000}') for i in range(60_000)]",
            "device m0 is in the list more than once",
        ),
    ],
)
def test_a_wrong_answer_is_told_what_is_broken(exercise: int, answer: str, sentence: str) -> None:
    checked = check_with(LAB, exercise, answer)
    assert not checked
    assert any(sentence in broken for broken in checked.broken), checked.broken


def test_who_was_too_late_may_go_back() -> None:
    late = "lab.advance(101)\nwhile lab.state.now > 200: lab.back()\nlab.plugin(gpu, devices=4, numa=1)"
    assert check_with(LAB, 2, late)
