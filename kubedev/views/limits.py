"""Lab 01: a container's hunger against its limits, CPU beside memory."""

from dataclasses import dataclass

from kubedev.views.catalogue import say
from kubedev.views.picture import Band, Line, Mark, Panel, Picture, Table, Text, table
from kubedev.views.style import WIDTH, text_width

__all__ = ["PERIOD", "LimitsRun", "limits_picture"]

PERIOD = 100
"""The kernel's period in milliseconds: a CPU limit is so much time in each of them."""

_GAP = 16.0
_PANEL = (WIDTH - _GAP) / 2
_HEIGHT = 330.0
_TOP, _BASE = 60.0, 258.0
_LEFT = 20.0


@dataclass(frozen=True, slots=True)
class LimitsRun:
    """What happens, period by period, and what comes of it.

    `ran` and `wanted` are milliseconds of CPU time, `memory` is in MiB at the end of each period; they may stop
    before the end. `done` is when the work is done, `free` when it would be without a limit, in ms; `peak` is the most
    memory that is ever used, and `killed` the period of the kill.
    """

    ran: tuple[float, ...]
    wanted: tuple[float, ...]
    quota: float | None
    done: int
    free: int
    memory: tuple[int, ...]
    memory_limit: int | None
    peak: int
    killed: int | None
    cpu_words: str = ""
    memory_words: str = ""

    @property
    def cut(self) -> bool:
        """Whether something still happens after the last period that is told here."""
        last = len(self.ran)
        grows = self.killed is None and max(self.memory, default=0) < self.peak
        return self.done > last * PERIOD or grows or (self.killed or 0) >= last > 0


def limits_picture(run: LimitsRun) -> Picture:
    """Draw both resources over the same time."""
    cpu = say("limits.cpu.slow" if run.done > run.free else "limits.cpu.free", done=run.done, free=run.free)
    if run.killed is None:
        memory = say("limits.memory.free", peak=run.peak)
    else:
        memory = say("limits.memory.killed", at=run.peak, after=(run.killed + 1) * PERIOD)
    sentence = say("limits.sentence", cpu=cpu, memory=memory)
    marks = [*_cpu(run), *_memory(run)]
    if run.cut:
        said = say("limits.cut", drawn=len(run.ran) * PERIOD)
        sentence = f"{sentence} {said}."
        marks.append(
            Text("cut", WIDTH - _LEFT, _HEIGHT - 18, f"… {said}", tone="strong", bold=True, anchor="end")
        )
    alt = say("limits.alt", sentence=sentence)
    return Picture(say("limits.title"), sentence, _HEIGHT, tuple(marks), (_table(run),), alt)


def _bars(count: int) -> tuple[float, float]:
    """The distance between two bars, and their width."""
    pitch = (_PANEL - 2 * _LEFT) / max(count, 1)
    return pitch, pitch - 4


def _cpu(run: LimitsRun) -> list[Mark]:
    marks: list[Mark] = [Panel("cpu", 0, 0, _PANEL, _HEIGHT, say("limits.cpu"))]
    most = max(*run.wanted, run.quota or 0, 1)
    pitch, width = _bars(len(run.ran))
    for index, (ran, wanted) in enumerate(zip(run.ran, run.wanted, strict=True)):
        x = _LEFT + pitch * index
        tip = say("limits.period", at=index * PERIOD, ran=ran, wanted=wanted)
        low, high = _y(ran, most), _y(wanted, most)
        if wanted > ran:
            marks.append(
                Band(f"cpu/{index}/wait", x + 1, high, width - 2, low - high - 2, "edge", 3, True, tip)
            )
        if ran:
            marks.append(Band(f"cpu/{index}/ran", x, low, width, _BASE - low, "accent", 3, tooltip=tip))
    marks += _axis("cpu", 0, len(run.ran), pitch)
    marks += _limit("cpu", 0, run.quota, most, run.cpu_words)
    marks += _legend("cpu", 0, (("ran", "accent", False), ("throttled", "edge", True)))
    return marks


def _memory(run: LimitsRun) -> list[Mark]:
    left = _PANEL + _GAP
    marks: list[Mark] = [Panel("memory", left, 0, _PANEL, _HEIGHT, say("limits.memory"))]
    most = max(*run.memory, run.memory_limit or 0, 1)
    pitch, width = _bars(len(run.memory))
    for index, used in enumerate(run.memory):
        if not used:
            continue
        x, y = left + _LEFT + pitch * index, _y(used, most)
        tip = say("limits.used.at", at=index * PERIOD, used=used)
        tone = "unhealthy" if index == run.killed else "accent"
        marks.append(Band(f"memory/{index}", x, y, width, _BASE - y, tone, 3, tooltip=tip))
        if index == run.killed:
            middle, word = x + width / 2, f"✕ {say('limits.killed')}"
            start = min(middle + width / 2 + 8, left + _PANEL - text_width(word, bold=True) - 16)
            at = (start, _BASE - 14)
            marks.append(Text("memory/killed", *at, word, tone="unhealthy", bold=True))
    marks += _axis("memory", left, len(run.memory), pitch)
    marks += _limit("memory", left, run.memory_limit, most, run.memory_words)
    marks += _legend("memory", left, (("used", "accent", False), ("killed", "unhealthy", False)))
    return marks


def _y(amount: float, most: float) -> float:
    return _BASE - (_BASE - _TOP) * amount / most


def _axis(key: str, left: float, count: int, pitch: float) -> list[Mark]:
    marks: list[Mark] = [Line(f"{key}/axis", ((left + 14, _BASE), (left + _PANEL - 14, _BASE)), "rule")]
    for index in range(0, count, 4):
        words = f"{index * PERIOD} ms"
        marks.append(Text(f"{key}/at/{index}", left + _LEFT + pitch * index, _BASE + 20, words, tone="muted"))
    return marks


def _limit(key: str, left: float, limit: float | None, most: float, words: str) -> list[Mark]:
    """The limit as a line, its words at the right end of the heading."""
    label = say("limits.limit", limit=words) if limit is not None else say("limits.limit.none")
    at = (left + _PANEL - 16, 25.0)
    marks: list[Mark] = [Text(f"{key}/limit/label", *at, label, tone="accent", bold=True, anchor="end")]
    if limit is not None:
        y = _y(limit, most)
        marks.append(Line(f"{key}/limit", ((left + 14, y), (left + _PANEL - 14, y)), "strong"))
    return marks


def _legend(key: str, left: float, entries: tuple[tuple[str, str, bool], ...]) -> list[Mark]:
    marks: list[Mark] = []
    x, y = left + _LEFT, _HEIGHT - 18
    for name, tone, outlined in entries:
        words = say(f"limits.{name}")
        marks.append(Band(f"{key}/legend/{name}", x, y - 13, 16, 16, tone, 4, outlined))
        marks.append(Text(f"{key}/legend/{name}/word", x + 23, y, words, tone="muted"))
        x += 23 + text_width(words) + 22
    return marks


def _table(run: LimitsRun) -> Table:
    rows = tuple(
        (f"{index * PERIOD} ms", f"{ran:g} ms", f"{wanted:g} ms", f"{memory} MiB")
        for index, (ran, wanted, memory) in enumerate(zip(run.ran, run.wanted, run.memory, strict=True))
    )
    return table("limits", "time ran wanted used", rows)
