"""The grammar of pictures: what is measured, wrapped and placed, whatever the tree and however wide the column."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubedev.views.board import Board, BoardRow, Decision, Decisions, Head
from kubedev.views.calls import Calls, Said, StateDiagram, Transition
from kubedev.views.controls import Button, act
from kubedev.views.document import document
from kubedev.views.grammar import Card, Column, Facts, Field, Grid, Knob, Part, Row, Space, Words, picture
from kubedev.views.parts import Cells, Device, Legend
from kubedev.views.picture import Band, Box, Cell, Line, Panel, Picture, Pill, Table, Text
from kubedev.views.plots import Bar, Bars, Lane, Piece, Span, Steps, TimeLine
from kubedev.views.style import DeviceState, flow, text_width
from kubedev.views.wires import Way, Wired
from tests.unit.picture_checks import inside, overlapping, problems

LONG = "a-word-of-fifty-characters-that-nobody-can-break-at-spaces"
STATES = tuple(DeviceState)


def draw(body: Part, width: float = 1080) -> Picture:
    return picture("A title", "A sentence.", body, width)


def texts(shown: Picture) -> list[Text]:
    return [mark for mark in shown.marks if isinstance(mark, Text)]


def places(shown: Picture) -> dict[str, tuple[float, float, float, float]]:
    return {m.key: (m.x, m.y, m.width, m.height) for m in shown.marks if isinstance(m, Box | Panel)}


# Measuring and wrapping


@given(st.text("ab -/.:", min_size=1, max_size=200), st.integers(20, 400), st.booleans())
def test_what_flows_is_whole_and_fits(text: str, width: int, mono: bool) -> None:
    lines = flow(text, width, mono=mono)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(text_width(line, mono=mono) <= width for line in lines)


def test_words_are_never_cut() -> None:
    said = f"what explains something, {LONG}, is told to its end however little room it has"
    for width in (1080, 300, 90):
        shown = draw(Card("t", Words(said, key="said")), width)
        lines = [m.text for m in texts(shown) if m.key.startswith("said")]
        assert "".join(lines).replace(" ", "") == said.replace(" ", "")
        assert not [line for line in lines if "…" in line]
        assert problems(shown) == []


def test_a_word_breaks_where_it_has_a_seam() -> None:
    assert flow("vendor.example.com/gpu", 150, mono=True) == ("vendor.example.", "com/gpu")
    assert flow("GetDevicePluginOptions", 150, mono=True) == ("GetDevicePlugin", "Options")


# Placing


def test_side_by_side_goes_below_one_another_where_there_is_no_room() -> None:
    cards = [Card(f"card {n}", Words("words " * 8), key=f"c{n}") for n in range(3)]
    wide, narrow = places(draw(Row(*cards), 1080)), places(draw(Row(*cards), 300))
    assert [round(wide[f"c{n}"][1]) for n in range(3)] == [0, 0, 0]
    assert [narrow[f"c{n}"][0] for n in range(3)] == [0, 0, 0]
    assert all(narrow[f"c{n}"][2] == 300 for n in range(3))


def test_cards_of_a_row_are_equally_high_and_what_they_hold_is_aligned() -> None:
    cards = [
        Card("a", Words("x " * 90), Words("end", key="e0"), key="c0"),
        Card("b", Words("x"), Words("end", key="e1"), key="c1"),
    ]
    shown = draw(Grid(*cards, across=2))
    assert places(shown)["c0"][3] == places(shown)["c1"][3]
    ends = [m.y for m in texts(shown) if m.key in ("e0", "e1")]
    assert ends[0] == ends[1]


def test_no_row_of_a_grid_is_nearly_empty() -> None:
    cards = [Card(str(n), key=f"c{n}") for n in range(4)]
    tops = [place[1] for place in places(draw(Grid(*cards, across=3))).values()]
    assert len(set(tops)) == 2
    assert tops.count(tops[0]) == 2


def test_a_share_of_nothing_takes_what_it_wishes() -> None:
    shown = draw(Row(Words("as wide as it is"), Words("the rest", key="rest"), shares=(0, 1), gap=10))
    rest = next(m for m in texts(shown) if m.key == "rest")
    assert rest.x == pytest.approx(Words("as wide as it is").wish() + 10)


def test_a_controls_place_is_in_the_picture() -> None:
    shown = draw(Card("Plugin", corner=[Knob(Button("kill", act("kill")), "kill")]), 300)
    control = next(m for m in shown.marks if m.key == "kill")
    assert control.x + control.width <= 300 - 10  # type: ignore[union-attr]


# Devices, boards, decisions


@pytest.mark.parametrize("count", [0, 1, 8, 64, 512])
def test_devices_are_all_there_and_eight_are_large(count: int) -> None:
    devices = [Device(str(n), STATES[n % 2], group=f"NUMA {n * 2 // count}") for n in range(count)]
    shown = draw(Cells(*devices), 600)
    cells = [m for m in shown.marks if isinstance(m, Cell)]
    assert len(cells) == count
    assert problems(shown) == []
    assert count != 8 or cells[0].size >= 38


def test_owners_without_room_are_told_in_words() -> None:
    devices = [Device(str(n), DeviceState.ALLOCATED, owner=LONG) for n in range(8)]
    said = "".join(m.text for m in texts(draw(Cells(*devices), 500)))
    assert f"{LONG} 8".replace(" ", "") in said.replace(" ", "")


def board(rows: int, heads: int = 10) -> Board:
    cells = [tuple(Device(str(n), STATES[0]) if n % 2 else None for n in range(heads)) for _ in range(rows)]
    lines = [BoardRow(f"NUMA {n}", each, "faint", lit=n == 1) for n, each in enumerate(cells)]
    return Board([Head(f"a long head {n}", "3") for n in range(heads)], lines)


def test_a_board_is_turned_where_its_heads_have_no_room() -> None:
    def threads(width: float) -> list[Line]:
        shown = draw(board(6), width)
        assert problems(shown) == []
        return [m for m in shown.marks if isinstance(m, Line)]

    assert all(line.points[0][1] == line.points[1][1] for line in threads(1400))
    assert all(line.points[0][0] == line.points[1][0] for line in threads(700))


def test_reasons_go_below_where_there_is_little_room() -> None:
    steps = Decisions(Decision("aligned", "takes d0, d1", "because of the mask", failed=True))

    def rows(width: float) -> list[float]:
        return [m.y for m in texts(draw(steps, width)) if m.text in ("takes d0, d1", "because of the mask")]

    assert len(set(rows(900))) == 1
    assert len(set(rows(320))) == 2


# Ways


def wired(*ways: Way, width: float = 800) -> Picture:
    above = Card(
        "Control plane",
        Row(
            Card("A", key="a", look="plain", high=60),
            Space(wide=90),
            Card("B", key="b", look="plain", high=60),
            gap=0,
            shares=(1, 0, 1),
        ),
    )
    below = Card(
        "Node",
        Words("a title of the node"),
        Row(
            Card("C", key="c", look="plain", high=60),
            Space(wide=90),
            Card("D", key="d", look="plain", high=60),
            gap=0,
            shares=(1, 0, 1),
        ),
    )
    return draw(Wired(Column(above, Space(44), below, gap=0), *ways), width)


def test_ways_between_two_have_lanes_of_their_own() -> None:
    shown = wired(Way("a", "b", "there"), Way("b", "a", "back"))
    there, back = (m for m in shown.marks if isinstance(m, Line))
    assert there.points[0][1] < back.points[0][1]
    assert problems(shown) == []


@pytest.mark.parametrize(("source", "target"), [("a", "b"), ("b", "a"), ("b", "d"), ("d", "b")])
def test_a_message_is_on_its_way_and_labels_make_room(source: str, target: str) -> None:
    ways = [
        Way(source, target, "goes", pill="hello", number=7),
        Way(target, source, "comes"),
        Way("a", "c", "up", round=True),
    ]
    shown = wired(*ways)
    assert [m.key for m in shown.marks if isinstance(m, Pill)] == ["lit/7"]
    assert problems(shown) == []


def test_a_message_without_room_is_told_in_short_or_not_at_all() -> None:
    def said(pill: str, short: str) -> list[str]:
        shown = wired(Way("a", "b", pill=pill, short=short))
        assert problems(shown) == []
        return [m.text for m in shown.marks if isinstance(m, Pill)]

    assert said("fits", "no") == ["fits"]
    assert said("this is far too long", "short") == ["short"]
    (some,) = said("this is far too long", "pod of a very long name")
    assert "pod of a very long name".startswith(f"{some} ")
    assert said(LONG, LONG) == []


def test_a_way_round_the_corner_is_there_while_something_is_on_it() -> None:
    assert not [m for m in wired(Way("a", "c", round=True)).marks if isinstance(m, Line)]
    shown = wired(Way("a", "c", round=True, pill="kill"))
    line = next(m for m in shown.marks if isinstance(m, Line))
    title = next(m for m in texts(shown) if m.text == "a title of the node")
    for (x0, y0), (x1, y1) in pairwise(line.points):
        crossed = (
            min(x0, x1) < title.x + 100 and max(x0, x1) > title.x and min(y0, y1) < title.y < max(y0, y1)
        )
        assert not crossed


# What is derived


def test_tables_and_alternative_text_come_from_the_same_values() -> None:
    cards = [
        Card(name, Field("count", Words(n)), Field("cells", Cells(Device("", STATES[0]))))
        for name, n in (("one", "1"), ("two", "2"))
    ]
    extra = Table("Extra", ("a",), (("b",),))
    steps = Decisions(Decision("rule", "d0", "free"), caption="Steps")
    shown = draw(Column(Grid(*cards, caption="Cards"), steps, board(2, 2), Facts(extra)))
    assert shown.tables[0].columns == ("what", "count", "cells")
    assert shown.tables[0].rows == (("one", "1", "1 free"), ("two", "2", "1 free"))
    assert shown.tables[1].rows == (("rule", "d0", "free"),)
    assert shown.tables[2] is extra
    assert shown.alt.startswith("A sentence. Shown: ")
    assert "one (1 free)" in shown.alt
    assert "a board of 2 rows and 2 columns" in shown.alt


# What has a scale, and what tells a story


def test_bars_stand_on_an_axis_that_does_not_move() -> None:
    def base(values: list[float]) -> tuple[float, float]:
        shown = draw(
            Bars([Bar(str(n), (Piece(value),)) for n, value in enumerate(values)], 4, ticks=(0, 4)), 500
        )
        ticks = [m.points[0][1] for m in shown.marks if isinstance(m, Line)]
        return ticks[0], ticks[1]

    assert base([1, 2]) == base([4, 0.001]) == base([0, 0])


def test_what_is_there_is_seen_however_little_it_is() -> None:
    shown = draw(Bars([Bar("a", (Piece(1e-6),)), Bar("b", (Piece(0),))], 1000), 500)
    assert [m.height for m in shown.marks if isinstance(m, Band)] == [pytest.approx(2)]
    line = draw(TimeLine([Lane("a", (Span(5, 5.000001),))], 1000), 500)
    assert [m.width for m in line.marks if isinstance(m, Band)] == [3]


def test_bars_are_as_high_as_their_values() -> None:
    shown = draw(Bars([Bar("a", (Piece(1),)), Bar("b", (Piece(2),))], 4, high=100), 500)
    one, two = (m for m in shown.marks if isinstance(m, Band))
    assert two.height + 1 == pytest.approx(2 * (one.height + 1)) == pytest.approx(50)


def test_states_stand_in_the_layers_in_which_they_can_be_reached() -> None:
    diagram = StateDiagram(LIFE, "dialing", caption="Life")
    assert diagram.layers() == [["absent"], ["dialing"], ["asking options"], ["connected"], ["disconnected"]]
    shown = draw(diagram)
    lit = [m.title for m in shown.marks if isinstance(m, Box) and m.look == "lit"]
    assert lit == ["dialing"]
    said = [m.text for m in texts(shown)]
    assert "From here: dialed → asking options · dial fails → absent" in said
    assert len(shown.tables[0].rows) == len(LIFE)


def test_calls_go_from_who_says_to_who_hears() -> None:
    shown = draw(
        Calls(
            ("plugin", "kubelet"),
            [Said("plugin", "kubelet", "Register"), Said("kubelet", "plugin", "Dial", lit=True)],
        )
    )
    there, back = (m.points for m in shown.marks if isinstance(m, Line) and m.arrow)
    assert there[0][0] < there[1][0]
    assert back[0][0] > back[1][0]
    assert there[0][1] < back[0][1]
    assert problems(shown) == []


words = st.sampled_from(["a", "some words that explain what is seen here", LONG, ""])


def cells(count: int, numas: int) -> Cells:
    owners = ("", "web", LONG)
    return Cells(
        *(
            Device(str(n), STATES[n % 5], group=f"NUMA {n * numas // count}", owner=owners[n % 3])
            for n in range(count)
        )
    )


def bars(count: int, value: float, limited: bool) -> Bars:
    pieces = (Piece(value, words="app"), Piece(1.0, "free", "helper"))
    limit, said = (2.0, "limit 2") if limited else (None, "")
    shown = [Bar(f"a moment {n}", pieces[: n % 2 + 1]) for n in range(count)]
    return Bars(shown, 4, ticks=(0, 1, 2, 2.01, 4), unit="CPUs", limit=limit, limit_words=said)


def time_line(count: int, until: float) -> TimeLine:
    spans = (Span(0, 1), Span(2, 2.0001, "unhealthy", "short"), Span(3))
    return TimeLine(
        [Lane(f"row {n}", spans[: n + 1]) for n in range(count)], until, ticks=(0, 1, 2, 300, 301), now=2
    )


def calls(count: int, parties: int) -> Calls:
    names = ("plugin", "kubelet", "a store")[:parties]
    said = [
        Said(names[n % parties], names[(n + 1) % parties], f"Call {n}", LONG * (n % 2), lit=n == 1)
        for n in range(count)
    ]
    return Calls(names, said)


LIFE = (
    Transition("absent", "Register", "dialing"), Transition("dialing", "dialed", "asking options"),
    Transition("asking options", "options come", "connected"), Transition("dialing", "dial fails", "absent"),
    Transition("connected", "stream ends", "disconnected"), Transition("disconnected", "Register", "dialing"),
)  # fmt: skip


anchors = st.sampled_from(["start", "middle", "end"])
leaves = st.one_of(
    st.builds(Words, words, bold=st.booleans(), mono=st.booleans(), anchor=anchors),
    st.builds(cells, st.integers(1, 70), st.integers(1, 4)),
    st.builds(lambda label: Knob(Button(label, act("x"))), st.sampled_from(["kill", "restart"])),
    st.builds(lambda n: Legend(*STATES[:n], preferred=True), st.integers(1, 5)),
    st.builds(board, st.integers(1, 6), st.integers(1, 5)),
    st.builds(bars, st.integers(1, 5), st.sampled_from([0.0, 0.01, 3.0]), st.booleans()),
    st.builds(time_line, st.integers(1, 4), st.sampled_from([0.0, 1.0, 470.0])),
    st.builds(lambda n: Steps([f"step {i}" for i in range(n)], n // 2), st.integers(1, 6)),
    st.builds(calls, st.integers(0, 4), st.integers(2, 3)),
    st.sampled_from(LIFE).map(lambda t: StateDiagram(LIFE, t.source)),
    st.builds(lambda w, v: Decisions(Decision("rule", v, w), Decision("other rule", "d0", w)), words, words),
)


def holders(held: st.SearchStrategy[Part]) -> st.SearchStrategy[Part]:
    some = st.lists(held, min_size=1, max_size=4)
    looks = st.sampled_from(["panel", "plain", "lit"])
    return st.one_of(
        some.map(lambda parts: Column(*parts)),
        some.map(lambda parts: Row(*parts)),
        some.map(lambda parts: Grid(*parts, across=3)),
        st.builds(lambda title, parts, look: Card(title, *parts, look=look), words, some, looks),
        some.map(lambda parts: Field("head", *parts, shown=True)),
    )


@settings(max_examples=120, deadline=None)
@given(st.recursive(leaves, holders, max_leaves=8), st.sampled_from([1080, 700, 480]))
def test_no_tree_overlaps_or_is_cut(tree: Part, width: int) -> None:
    body = Card("the root", tree) if tree.least() <= width - 28 else tree
    shown = draw(body, max(width, tree.least()))
    assert [found for found in problems(shown) if not found.startswith("wider")] == []
    document(shown)  # each key once
    grounds = [
        (m.key, (m.x, m.y, m.x + m.width, m.y + m.height)) for m in shown.marks if isinstance(m, Box | Panel)
    ]
    assert all(inside(shown, rect) for _, rect in grounds)
    crossing = [(a, b) for a, b in overlapping(grounds, 0) if not (a.startswith(b) or b.startswith(a))]
    assert crossing == []
    assert shown.height == draw(body, max(width, tree.least())).height
