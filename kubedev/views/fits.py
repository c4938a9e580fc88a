"""Lab 09: what a pod asks for on top of what each node's pods ask for, and the sentence that is made of the answers."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from string import ascii_lowercase

from kubedev.api.names import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from kubedev.api.requests import Resource, compute_pod_resource_request
from kubedev.scheduler.cycle import Decision
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.fits import InsufficientResource
from kubedev.scheduler.status import Status
from kubedev.views.catalogue import say
from kubedev.views.controls import act
from kubedev.views.counted import Count, Counted
from kubedev.views.fills import Fill, Fills
from kubedev.views.grammar import Block, Card, Column, Facts, Field, Grid, Part, Row, Space, Words, picture
from kubedev.views.part import Around
from kubedev.views.parts import Legend
from kubedev.views.picture import Look, Picture, table
from kubedev.views.style import WIDTH

__all__ = ["Asked", "asked_picture", "fits_picture", "fits_pictures"]

_NAMED = 36  # nodes that have a card with words each; more have their bars and their letters
_SCALES = {CPU: 1000, MEMORY: 1 << 30, EPHEMERAL_STORAGE: 1 << 30}  # cores, and GiB


@dataclass(frozen=True, slots=True)
class Asked:
    """One case: a node, what a pod requests of it, the scheduler's answer, and the kubelet's in words."""

    title: str
    node: NodeInfo
    request: Resource
    status: Status
    kubelet: str = ""


def fits_picture(
    decision: Decision,
    nodes: Sequence[NodeInfo],
    looked: int | None = None,
    width: float = WIDTH,
    do: str = "",
    *more: Part,
) -> Picture:
    """Draw the nodes, of which the first `looked` were looked at so far (by default all), and the sentence of them.

    Where a node has a card, pressing it does `do` with its name. `more` stands above the nodes.
    """
    return fits_pictures(decision, nodes, [len(nodes) if looked is None else looked], width, do, *more)[0]


def fits_pictures(
    decision: Decision,
    nodes: Sequence[NodeInfo],
    lookeds: Iterable[int],
    width: float = WIDTH,
    do: str = "",
    *more: Part,
) -> list[Picture]:
    """The same for several numbers of nodes that were looked at; a node that does not change is laid out once."""
    checks = {name: check.status for name, check in decision.found.checks.items()} if decision.found else {}
    order = _reasons(list(checks.values()))
    letters = dict(zip(order, ascii_lowercase, strict=False))
    request = compute_pod_resource_request(decision.pod)
    asks = [name for name in _names(request) if request.get(name)] or [CPU, MEMORY]
    many = len(nodes) > _NAMED
    tile = partial(_tile, request=request, names=asks, letters=letters, many=many, do=do)
    later = [tile(node, checks.get(node.name)) for node in nodes]
    before = [_Steady(tile(node, None), end) for node, end in zip(nodes, later, strict=True)]
    asked = ", ".join(
        f"{name} {_number(name, request.get(name), unit=True)}" for name in asks if request.get(name)
    )
    pod = decision.pod.name
    words = say("fits.asks", pod=pod, asked=asked or say("fits.nothing"), bars=", ".join(asks))
    above, out = Column(Words(words), *more, _legend(), gap=6), []
    for looked in lookeds:
        seen = {node.name: checks[node.name] for node in nodes[:looked] if node.name in checks}
        tiles: list[Part] = [*later[:looked], *before[looked:]]
        if 0 < looked < len(nodes):
            tiles[looked - 1] = tile(nodes[looked - 1], seen.get(nodes[looked - 1].name), lit=True)
        grid = Grid(*tiles, across=25 if many else 12, gap=8)
        framed = Row(Space(wide=1), grid, Space(wide=1), shares=(0, 1, 0), gap=0)  # its edges are drawn whole
        facts = Facts(
            table(
                "fits", "node verdict plugin reason sums", [_row(node, seen.get(node.name)) for node in nodes]
            )
        )
        fit = sum(status.is_success for status in seen.values())
        said = "looked" if looked < len(nodes) else "some" if fit else "sentence"
        sentence = say(f"fits.{said}", looked=looked, fit=fit, count=len(nodes), pod=pod)
        told: Part = Card("", Counted(*_pieces(order, letters, seen, checks, len(nodes))))
        if do and fit:  # the sentence is not written, so the letters are told
            told = Words(". ".join(f"{letter}: {reason}" for reason, letter in letters.items()), "muted")
        out.append(picture(say("fits.title", pod=pod), sentence, Column(facts, above, framed, told), width))
    return out


def _pieces(
    order: Mapping[str, str],
    letters: Mapping[str, str],
    seen: Mapping[str, Status],
    checks: Mapping[str, Status],
    nodes: int,
) -> Iterator[Count]:
    """The sentence so far, each reason with the number that it has now and the one that it will have."""
    fit = sum(status.is_success for status in seen.values())
    yield Count(
        f"{fit}/{nodes}", say("fits.available"), tone="free" if fit else "accent", last=f"{fit}/{nodes}"
    )
    for reason, plugin in order.items():
        count, last = (sum(reason in s.reasons for s in some.values()) for some in (seen, checks))
        words = reason + ("." if reason == [*order][-1] else ",")
        below = say("fits.from", letter=letters.get(reason, ""), plugin=plugin)
        yield Count(str(count), words, below, "unhealthy", count > 0, str(last))


def asked_picture(title: str, cases: Sequence[Asked], width: float = WIDTH) -> Picture:
    """Draw a card for each case: its bars, and what the scheduler and the kubelet answer."""
    cards, sums = [], any(case.request.get(n) for case in cases for n in _names(case.request))
    for case in cases:
        names = [n for n in _names(case.request) if case.request.get(n)] or [CPU]
        names += [PODS] if any(lack.resource_name == PODS for lack in _lacks(case.status)) else []
        by = "" if _lacks(case.status) or not case.status.plugin else f"{case.status.plugin}: "
        answers = [(say("fits.scheduler"), by + _told(case.status), case.status.is_success)]
        answers += [(say("fits.kubelet"), case.kubelet, case.kubelet == say("fits.admitted"))] * bool(
            case.kubelet
        )
        fields = [
            Field(head, Words(words, "free" if good else "unhealthy"), shown=True)
            for head, words, good in answers
        ]
        bars = Fills(*_fills(case.node, case.status, case.request, names))
        amounts = Field(say("table.sums"), Words(_sums(case.node, case.request, names), "muted", mono=True))
        cards.append(Card(case.title, *([bars, amounts] if sums else []), *fields))
    fit = sum(case.status.is_success for case in cases)
    sentence = say("fits.cases", fit=fit, count=len(cases))
    return picture(
        title, sentence, Column(Grid(*cards, across=4, caption=title), *([_legend()] if sums else [])), width
    )


class _Steady(Around):
    """A node's tile, as high and as wide from the beginning as it will be `later`, so that no node moves."""

    def __init__(self, part: Part, later: Part) -> None:
        super().__init__(part)
        self.later = later

    def lay(self, width: float, key: str) -> Block:
        block = self.part.lay(width, key)
        return Block(max(block.height, self.later.lay(width, key).height), block.draw)

    def least(self) -> float:
        return max(self.part.least(), self.later.least())


def _tile(
    node: NodeInfo,
    status: Status | None,
    request: Resource,
    names: Sequence[str],
    letters: Mapping[str, str],
    many: bool,
    lit: bool = False,
    do: str = "",
) -> Part:
    """A node with its name, the letters of its reasons and its bars; of many nodes no more than letters and bars."""
    refused = status is not None and not status.is_success
    tone = "unhealthy" if refused else "free"
    given = "".join(letters.get(reason, "") for reason in status.reasons) if status else " "
    tag = Words(given or "✓", tone, anchor="start" if many else "end")
    bars = Fills(*_fills(node, status, request, names), high=6 if many else 9)
    if many:
        return Column(tag, bars, gap=1)
    lacks = _lacks(status)
    room = _sums(node, request, names[-1:]) if do else "–"
    foot = _sum(lacks[0]) if lacks else say(f"fits.by.{status.plugin}") if status and refused else room
    words = Words(foot, tone if refused else "muted", mono=True)
    look: Look = "lit" if lit else "dead" if refused else "plain"
    tip = _told(status)
    action = act(do, node=node.name) if do else ""
    tip = f"{node.name}: {tip}" if do else tip
    return Card(node.name, bars, words, look=look, corner=[tag], tooltip=tip, key=node.name, action=action)


def _reasons(statuses: Collection[Status]) -> dict[str, str]:
    """The reasons in the order in which the message has them, each with its plugin."""
    plugins = {reason: status.plugin for status in statuses for reason in status.reasons}
    counts = Counter(reason for status in statuses for reason in status.reasons)
    return {reason: plugins[reason] for reason in sorted(plugins, key=lambda r: f"{counts[r]} {r}")}


def _names(request: Resource) -> list[str]:
    return [CPU, MEMORY, EPHEMERAL_STORAGE, *request.scalar_resources]


def _lacks(status: Status | None) -> list[InsufficientResource]:
    return [why for why in status.why if isinstance(why, InsufficientResource)] if status else []


def _fills(node: NodeInfo, status: Status | None, request: Resource, names: Sequence[str]) -> Iterator[Fill]:
    """A bar for each resource; where another plugin refused before, nobody compared anything."""
    lacks = {lack.resource_name for lack in _lacks(status)}
    compared = status is not None and (status.is_success or bool(lacks))
    for name in names:
        taken, room, asked = _amounts(node, request, name)
        yield Fill(name.rpartition("/")[2], taken, room, asked if compared else None, name in lacks)


def _amounts(node: NodeInfo, request: Resource, name: str) -> tuple[int, int, int]:
    if name == PODS:
        return len(node.pods), node.allocatable.allowed_pod_number, 1
    return node.requested.get(name), node.allocatable.get(name), request.get(name)


def _number(name: str, amount: int, *, unit: bool = False) -> str:
    scale = _SCALES.get(name, 1)
    return f"{amount / scale:.4g}{'Gi' * (unit and scale == 1 << 30)}"


def _sum(lack: InsufficientResource) -> str:
    used, asked, room = (_number(lack.resource_name, n) for n in (lack.used, lack.requested, lack.capacity))
    return f"{used}+{asked}>{room}"


def _sums(node: NodeInfo, request: Resource, names: Sequence[str]) -> str:
    """Taken, asked and there, of each resource."""
    amounts = {name: [_number(name, n) for n in _amounts(node, request, name)] for name in names}
    return "; ".join(
        f"{name.rpartition('/')[2]} {taken}+{asked} / {room}"
        for name, (taken, room, asked) in amounts.items()
    )


def _told(status: Status | None) -> str:
    if status is None:
        return say("fits.waits")
    return status.message or say("fits.fits")


def _row(node: NodeInfo, status: Status | None) -> tuple[str, ...]:
    sums = "; ".join(lack.arithmetic for lack in _lacks(status))
    answer = say("fits.waits" if status is None else "fits.fits" if status.is_success else "fits.refuses")
    return node.name, answer, status.plugin if status else "", status.message if status else "", sums


def _legend() -> Legend:
    tones = (("taken", "edge", False), ("ghost", "accent", True), ("over", "unhealthy", False))
    return Legend(tones=[(say(f"fits.{name}"), tone, outlined) for name, tone, outlined in tones])
