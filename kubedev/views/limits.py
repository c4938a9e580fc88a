"""What a container wants against its limits, CPU beside memory, period by period."""

from kubedev.kubelet.pressure.two_limits import PERIOD, LimitsRun
from kubedev.views.catalogue import say
from kubedev.views.grammar import Card, Column, Facts, Row, Words, picture
from kubedev.views.parts import Legend
from kubedev.views.picture import Picture, table
from kubedev.views.plots import Bar, Bars, Piece
from kubedev.views.style import WIDTH

__all__ = ["limits_picture"]


def limits_picture(run: LimitsRun, width: float = WIDTH, most: float = 0) -> Picture:
    """Draw both resources over the same time; the scale of CPU time goes to `most` ms in a period."""
    cpu = say("limits.cpu.slow" if run.done > run.free else "limits.cpu.free", done=run.done, free=run.free)
    if run.killed is None:
        memory = say("limits.memory.free", peak=run.peak)
    else:
        memory = say("limits.memory.killed", at=run.peak, after=(run.killed + 1) * PERIOD)
    sentence = say("limits.sentence", cpu=cpu, memory=memory)
    cut = f"{say('limits.cut', drawn=len(run.ran) * PERIOD)}." if run.cut else ""
    cards = (Card(say("limits.cpu"), *_cpu(run, most or run.most)), Card(say("limits.memory"), *_memory(run)))
    rows = [
        (f"{index * PERIOD} ms", f"{ran:g} ms", f"{wanted:g} ms", f"{memory} MiB")
        for index, (ran, wanted, memory) in enumerate(zip(run.ran, run.wanted, run.memory, strict=True))
    ]
    facts = Facts(table("limits", "time ran wanted used", rows))
    body = Column(facts, Row(*cards), *([Words(f"… {cut}", bold=True, anchor="end")] if cut else []))
    return picture(say("limits.title"), f"{sentence} {cut}".strip(), body, width)


def _cpu(run: LimitsRun, most: float) -> tuple[Bars, Legend]:
    bars = [
        Bar(_at(n), (Piece(ran, words=tip), Piece(wanted - ran, "edge", tip, outlined=True)))
        for n, (ran, wanted) in enumerate(zip(run.ran, run.wanted, strict=True))
        for tip in (say("limits.period", at=n * PERIOD, ran=ran, wanted=wanted),)
    ]
    tones = [(say("limits.ran"), "accent", False), (say("limits.throttled"), "edge", True)]
    words = say("limits.words.cpu", limit=run.cpu_words, quota=f"{run.quota or 0:g}", period=PERIOD)
    return _bars(bars, most, run.quota, words, "ms"), Legend(tones=tones)


def _memory(run: LimitsRun) -> tuple[Bars, Legend]:
    bars = [
        Bar(
            _at(n),
            (Piece(used, "unhealthy" if killed else "accent", tip),),
            f"✕ {say('limits.killed')}" * killed,
        )
        for n, used in enumerate(run.memory)
        for killed, tip in ((n == run.killed, say("limits.used.at", at=n * PERIOD, used=used)),)
    ]
    tones = [(say("limits.used"), "accent", False), (say("limits.killed"), "unhealthy", False)]
    return _bars(bars, run.most_memory, run.memory_limit, run.memory_words, "MiB"), Legend(tones=tones)


def _bars(bars: list[Bar], top: float, limit: float | None, words: str, unit: str) -> Bars:
    said = say("limits.limit", limit=words) if limit is not None else say("limits.limit.none")
    top = max(top, limit or 0, *(bar.total for bar in bars), 1)
    return Bars(bars, top, ticks=(0, top), unit=unit, limit=limit, limit_words=said, high=190)


def _at(period: int) -> str:
    return f"{period * PERIOD} ms" if period % 4 == 0 else ""
