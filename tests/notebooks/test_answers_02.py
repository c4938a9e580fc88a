"""Lab 02's exercises: unsolved they say what is broken, the answers solve them, wrong answers do not."""

import pytest

from tests.notebooks.exercises import answers, check_with

LAB = "02-registration"

ANEW = "lab = registration.RegistrationLab('02-ten'); gpu = lab.by_hand('example.com/gpu', ['g0', 'g1'])"
"""The second exercise's scene: the kubelet no longer dials the plugin that ran before."""


@pytest.mark.parametrize("exercise", [1, 2, 3, 4])
def test_the_answer_is_right(exercise: int) -> None:
    assert check_with(LAB, exercise, answers(LAB)[exercise - 1])


@pytest.mark.parametrize(
    ("exercise", "answer", "sentence"),
    [
        (1, "", "no plugin of example.com/gpu is registered with the kubelet that runs on gpu-node-1 now"),
        (
            1,
            "quiet.register()",
            "Its last Register was refused: failed to dial device plugin: context deadline exceeded",
        ),
        (1, "quiet.send('g0'); quiet.start()", "device g1 of example.com/gpu is not on gpu-node-1"),
        (1, "quiet.start(); quiet.stop()", "the plugin of example.com/gpu on gpu.sock is stopped"),
        (2, "", "gpu.sock: the kubelet of gpu-node-1 dials it since Register was called"),
        (2, f"{ANEW}; gpu.run('serve')", "no plugin of example.com/gpu is registered"),
        (3, "", "card-a.sock was superseded by card-b.sock, and their lists are not added up"),
        (3, "a.stop()", "pod pair is Pending, not Running"),
        (3, "b.send('card-a', 'card-b')", "card-a.sock was superseded by card-b.sock"),
        (3, "b.send('card-a', 'card-b'); a.stop()", "the plugin of test.com/dev on card-b.sock is stopped"),
        (4, "", "from absent: your events are none, and they lead to absent"),
        (
            4,
            "way_back = lambda graph, state: ['Register', 'dialed', 'options come']",
            "from dialing: your events are Register, dialed, options come, and they lead to nowhere",
        ),
        (
            4,
            "def way_back(graph, state):\n"
            "    path = networkx.shortest_path(graph, state, 'connected')\n"
            "    return [next(iter(graph[a][b])) for a, b in zip(path, path[1:])] + ['list comes']",
            "from connected: your events are list comes, and 0 are enough",
        ),
        (4, "way_back = lambda graph, state: graph.nowhere", "absent: your function raised AttributeError"),
    ],
)
def test_a_wrong_answer_is_told_what_is_broken(exercise: int, answer: str, sentence: str) -> None:
    checked = check_with(LAB, exercise, answer)
    assert not checked
    assert any(sentence in broken for broken in checked.broken), checked.broken
