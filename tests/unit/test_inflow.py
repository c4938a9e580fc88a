"""Lists that come faster than they are handled: nothing piles up, and the last one counts."""

import threading

from kubedev.api.messages import Device
from kubedev.wire.inflow import AHEAD, Inflow


class Loop:
    """Notes what it is told, and handles it when the test says so."""

    def __init__(self) -> None:
        self.told: list[object] = []
        self.inflow = Inflow(lambda devices: self.told.append(devices[0].id), self.told.append)

    def put(self, *numbers: int) -> None:
        for number in numbers:
            self.inflow.put((Device(f"d{number}"),))

    def handle(self) -> None:
        before = -1
        while before != len(self.told):
            before = len(self.told)
            self.inflow.handled()


def test_lists_are_told_one_at_a_time_and_in_order() -> None:
    loop = Loop()
    loop.put(1, 2, 3)
    assert loop.told == ["d1"]
    loop.inflow.handled()
    assert loop.told == ["d1", "d2"]
    loop.handle()
    assert loop.told == ["d1", "d2", "d3"]


def test_all_lists_of_a_plugin_that_flaps_are_told() -> None:
    loop = Loop()
    loop.put(*range(AHEAD))  # one of them is told at once
    loop.handle()
    assert loop.told == [f"d{i}" for i in range(AHEAD)]


def test_the_end_is_told_after_the_lists_that_wait() -> None:
    loop = Loop()
    loop.put(1, 2)
    loop.inflow.end("EOF")
    assert loop.told == ["d1"]
    loop.handle()
    assert loop.told == ["d1", "d2", "EOF"]


def test_r1_of_a_flood_only_the_last_list_is_told_and_the_reader_waits() -> None:
    loop = Loop()
    sent = [0]

    def flood() -> None:
        for number in range(AHEAD + 50):
            loop.put(number)
            sent[0] = number

    reader = threading.Thread(target=flood, daemon=True)
    reader.start()
    while sent[0] < AHEAD:
        pass
    reader.join(0.2)
    assert reader.is_alive(), "it waits for room"
    assert sent[0] == AHEAD
    assert loop.told == ["d0"]
    loop.inflow.handled()
    reader.join(10)
    assert loop.told == ["d0", f"d{AHEAD}"]
    loop.handle()
    assert loop.told[-1] == f"d{AHEAD + 49}"


def test_a_stream_that_is_closed_lets_its_reader_go_and_tells_the_end_at_once() -> None:
    loop = Loop()
    loop.put(*range(AHEAD))
    reader = threading.Thread(target=lambda: loop.put(AHEAD, AHEAD + 1), daemon=True)
    reader.start()
    loop.inflow.close()
    reader.join(10)
    assert not reader.is_alive()
    loop.inflow.end("closed")
    assert loop.told == ["d0", "closed"]
