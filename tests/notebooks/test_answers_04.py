"""Lab 04's exercises: unsolved they say what is broken, the answers solve them, wrong answers do not."""

import pytest

from tests.notebooks.exercises import answers, check_with

LAB = "04-allocate"


@pytest.mark.parametrize("exercise", [1, 2, 3, 4])
def test_the_answer_is_right(exercise: int) -> None:
    assert check_with(LAB, exercise, answers(LAB)[exercise - 1])


@pytest.mark.parametrize(
    ("exercise", "answer", "sentence"),
    [
        (1, "", "the container gets d0, d1: a torn pair, though d0, d3 are free"),
        (
            1,
            "prefer = lambda request: ['d0', 'd3']",
            "with d3, d4, d7 free, the container gets d3, d4: a torn pair, though d4, d7 are free",
        ),
        (1, "def prefer(request): raise RuntimeError('no topology file')", "desc = no topology file"),
        (2, "", "pod two-step is Failed, not Running"),
        (2, "lab.plugin(gpu, devices=3, numa=1)", "Requested: 2, Available: 1"),
        (2, "lab.delete('two-step'); lab.apply(two_step)", "Requested: 2, Available: 1"),
        (
            3,
            "",
            "two plugins want env NVIDIA_VISIBLE_DEVICES. d1 is kept, d0 of nvidia.com/gpu.shared is dropped",
        ),
        (
            3,
            "lab.set_health('d0', healthy=True, resource=whole); lab.delete('stream')\n"
            "lab.apply(allocate.pod_yaml('stream', {whole: 1, shared: 1}))",
            "env NVIDIA_VISIBLE_DEVICES=d0 is wanted by nvidia.com/gpu, nvidia.com/gpu.shared",
        ),
        (3, "lab.delete('stream')", "there is no pod stream"),
        (4, "", "d1 (3 needed, 2 in use, 1 unhealthy): your answer gives 'all', and it has to be 'healthy'"),
        (
            4,
            "last = lambda graph, device: 'taken' if device in graph.nodes['taken']['devices'] else 'available'",
            "it has to be 'unaligned'",
        ),
        (4, "last = lambda graph, device: graph.last", "your function raised AttributeError"),
    ],
)
def test_a_wrong_answer_is_told_what_is_broken(exercise: int, answer: str, sentence: str) -> None:
    checked = check_with(LAB, exercise, answer)
    assert not checked
    assert any(sentence in broken for broken in checked.broken), checked.broken


def test_one_device_is_not_two() -> None:
    half = "lab.delete('stream'); lab.apply(allocate.pod_yaml('stream', {whole: 1}))"
    assert check_with(LAB, 3, half).broken == [
        "pod stream runs on gpu-node-1 and holds no device of nvidia.com/gpu.shared"
    ]
