"""A duty of a device plugin, and what becomes of it when a plugin is judged."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from kubedev.deviceplugin.duties.seen import Seen

__all__ = ["Duty", "Finding", "Outcome", "Verdict", "broken", "fine", "judged", "not_tried", "warning"]

Outcome = Literal["ok", "warning", "broken", "not applicable"]


@dataclass(frozen=True, slots=True)
class Finding:
    """How a duty was kept, and what was seen of it."""

    outcome: Outcome
    seen: str


@dataclass(frozen=True, slots=True)
class Duty:
    """What a kubelet, or a pod on it, expects of a plugin.

    `source` is where Kubernetes says or does so, `advice` what to do if it is not kept, `stage` when it can be judged.
    It is broken only where a real kubelet or a pod would visibly fail; what is merely unwise is a warning.
    """

    key: str
    asks: str
    source: str
    advice: str
    stage: str
    judge: Callable[[Seen], Finding]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One duty of one plugin, judged."""

    duty: Duty
    outcome: Outcome
    seen: str


def judged(duties: tuple[Duty, ...], seen: Seen, stage: str | None = None) -> tuple[Verdict, ...]:
    """The verdicts on a plugin of which this was seen; with `stage`, only those that can be judged after it."""
    findings = ((duty, duty.judge(seen)) for duty in duties if stage in (None, duty.stage))
    return tuple(Verdict(duty, finding.outcome, finding.seen) for duty, finding in findings)


def fine(seen: str) -> Finding:
    """It is kept."""
    return Finding("ok", seen)


def warning(seen: str) -> Finding:
    """It is kept in a way that may surprise somebody."""
    return Finding("warning", seen)


def broken(seen: str) -> Finding:
    """A real kubelet, or a pod on it, fails."""
    return Finding("broken", seen)


def not_tried(why: str) -> Finding:
    """It does not apply, or it did not come to it."""
    return Finding("not applicable", why)
