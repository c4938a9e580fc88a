"""Lab 01's exercises: unsolved they say what is broken, the answers solve them, wrong answers do not."""

import pytest

from tests.notebooks.exercises import answers, check_with

LAB = "01-what-a-pod-asks-for"

APPLY = "answer = pods.apply(lab, pods.manifest(trainer, name='trainer'))"
APPLY_BOTH = "answers = [pods.apply(lab, pods.manifest(notebook, name=name)) for name in ('alice', 'bob')]"
ONE = "notebook = pods.container('notebook', limits={'nvidia.com/gpu': 1}); "


@pytest.mark.parametrize("exercise", [1, 2, 3])
def test_the_answer_is_right(exercise: int) -> None:
    assert check_with(LAB, exercise, answers(LAB)[exercise - 1])


@pytest.mark.parametrize(
    ("exercise", "answer", "sentence"),
    [
        (1, "", "must be equal to nvidia.com/gpu limit of 8"),
        (
            1,
            f"trainer = pods.container('main', requests={{'nvidia.com/gpu': 8}}); {APPLY}",
            "Limit must be set for non overcommitable resources",
        ),
        (
            1,
            f"trainer = pods.container('main', limits={{'nvidia.com/gpu': 1}}); {APPLY}",
            "pod trainer asks for 1 of nvidia.com/gpu, not for 8",
        ),
        (2, "", 'Invalid value: "500m": must be an integer'),
        (2, ONE + APPLY_BOTH, "pod bob is Pending, not Running. 0/1 nodes are available: 1 Insufficient"),
        (
            2,
            f"lab.plugin('nvidia.com/gpu', devices=[Device('card0'), Device('card1')]); {ONE}{APPLY_BOTH}",
            "pod bob holds card1, which is no part of card0",
        ),
        (3, "", "pod second is Pending, not Running. 0/1 nodes are available: 1 Insufficient cpu"),
        (3, "lab.delete('first')", "there is no pod first"),
        (
            3,
            "pods.apply(lab, pods.manifest(pods.container('batch', cpu=4), name='second'))",
            "pod second asks for 4 of cpu, not for 6",
        ),
        (
            3,
            "pods.apply(lab, pods.manifest(pods.container('serve', cpu=1), "
            "init=[pods.container('load', limits={'cpu': 8})], name='first'))",
            "container load of pod first may use 8 of cpu, and needs 12 to be as fast",
        ),
        (
            3,
            "pods.apply(lab, pods.manifest(pods.container('serve', cpu=1), name='first'))",
            "pod first has no container load any more",
        ),
    ],
)
def test_a_wrong_answer_is_told_what_is_broken(exercise: int, answer: str, sentence: str) -> None:
    checked = check_with(LAB, exercise, answer)
    assert not checked
    assert any(sentence in broken for broken in checked.broken), checked.broken
