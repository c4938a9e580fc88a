"""Lab 06: the merge. First how many permutations there are, then they or what they come to, then the policies."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from kubedev.kubelet.topology.hints import TopologyHint, hint_count
from kubedev.kubelet.topology.merge import Candidate, Merge, Permutation, permutation_count, permutations
from kubedev.kubelet.topology.topology import PolicyDecision
from kubedev.views.catalogue import say
from kubedev.views.masks import mask_words
from kubedev.views.picture import Band, Box, Look, Mark, Panel, Picture, Table, Text, table
from kubedev.views.style import SIZE_TITLE, WIDTH, fit, fit_middle, text_width

__all__ = ["MOST_PERMUTATIONS", "Tried", "merge_picture", "try_permutations"]

MOST_PERMUTATIONS = 5000
"""More permutations than this are not tried one by one, only counted."""

_PER_SECOND = 5_000_000  # of the Go code, on one core
_LEFT = 690.0
_RIGHT = _LEFT + 16
_TOP = 104.0
_ROW = 27.0
_ROWS = 6
_HEIGHT = 520.0
_LIST_HEIGHT = 46 + _ROW * _ROWS


@dataclass(frozen=True, slots=True)
class Tried:
    """A permutation that was tried: is it the best so far, and why (or why not)?"""

    number: int
    permutation: Permutation
    best: bool
    because: str


def try_permutations(merge: Merge, most: int = MOST_PERMUTATIONS) -> tuple[Tried, ...]:
    """Try permutations in Kubernetes' order, and say of each why it became the best so far, or why not."""
    best: Candidate | None = None
    tried = []
    for number, permutation in enumerate(islice(permutations(merge.filtered, merge.numa), most), 1):
        hint = permutation.merged
        if not hint.numa_node_affinity:
            tried.append(Tried(number, permutation, False, say("merge.no-nodes")))
            continue
        candidate = Candidate(hint, 1, merge.rank(hint.numa_node_affinity, hint.preferred))
        if best is None:
            because, wins = say("merge.first"), True
        elif field := best.loses_by(candidate):
            because, wins = say(f"merge.because.{field}"), True
        else:
            behind = candidate.loses_by(best)
            because, wins = say(f"merge.behind.{behind}" if behind else "merge.not better"), False
        best = candidate if wins else best
        tried.append(Tried(number, permutation, wins, because))
    return tuple(tried)


def merge_picture(
    decision: PolicyDecision, others: Sequence[PolicyDecision] = (), step: int | None = None
) -> Picture:
    """Draw the merge of one policy, and beside it what each of `others` (usually all four) decides.

    `step` is the number of permutations tried so far; without it all are. Where they are too many, the
    merged hints are shown with the number of permutations that lead to each.
    """
    merge = decision.merge
    marks: list[Mark] = []
    tables: list[Table] = []
    if merge is not None:
        total = permutation_count(merge.filtered)
        marks += _count(merge, total)
        if total <= MOST_PERMUTATIONS:
            tried = try_permutations(merge)
            marks += _permutations(tried, len(tried) if step is None else step)
            marks += _candidates(merge, _TOP + _LIST_HEIGHT + 12)
            tables.append(_permutation_table(tried))
        else:
            marks += _candidates(merge, _TOP)
        tables.append(_candidate_table(merge))
    marks += _policies(decision, others)
    tables.append(_policy_table(others or (decision,)))
    sentence = say(
        "merge.sentence",
        policy=decision.policy,
        mask=mask_words(decision.hint.numa_node_affinity),
        preferred=_preferred(decision.hint),
        outcome=_outcome(decision),
    )
    alt = say("merge.alt", sentence=sentence)
    return Picture(say("merge.title"), sentence, _HEIGHT, tuple(marks), tuple(tables), alt)


def _preferred(hint: TopologyHint) -> str:
    return say("merge.is.preferred" if hint.preferred else "merge.not.preferred")


def _outcome(decision: PolicyDecision) -> str:
    return say("merge.admitted" if decision.admit else "merge.refused")


def _count(merge: Merge, total: int) -> list[Mark]:
    words = say("merge.count", count=f"{total:,}") if total != 1 else say("merge.count.one")
    factors = [
        say("merge.factor", count=hint_count(r.hints) or say("hints.uncounted"), resource=r.resource or "-")
        for r in merge.filtered
        if r.resource
    ]
    product = say("merge.product", product=" × ".join(factors)) if factors else ""
    if total <= MOST_PERMUTATIONS:
        remark = say("merge.few")
    elif merge.searched:
        remark = say("merge.searched")
    else:
        seconds = total / _PER_SECOND
        unit = "hours" if seconds > 7200 else "minutes" if seconds > 120 else "seconds"
        remark = say("merge.many", time=say(f"merge.{unit}"))
    width = text_width(words, SIZE_TITLE, bold=True)
    room = WIDTH - width - 52
    return [
        Panel("count", 0, 0, WIDTH, 88),
        Text("count/number", 20, 38, words, SIZE_TITLE, bold=True),
        Text("count/product", 36 + width, 38, fit(product, room), tone="muted", tooltip=product),
        Text("count/remark", 20, 68, remark, tone="muted"),
    ]


def _permutations(tried: Sequence[Tried], step: int) -> list[Mark]:
    marks: list[Mark] = [Panel("list", 0, _TOP, _LEFT, _LIST_HEIGHT, say("merge.permutations"))]
    start = max(0, min(step - _ROWS + 3, len(tried) - _ROWS))
    best = max((t.number for t in tried[:step] if t.best), default=0)
    if len(tried) > _ROWS:
        window = say("merge.window", first=start + 1, last=start + _ROWS, total=f"{len(tried):,}")
        if best and not start < best <= start + _ROWS:
            window = say("merge.window.best", best=f"{best:,}", window=window)
        marks.append(Text("list/window", _LEFT - 18, _TOP + 25, window, tone="muted", anchor="end"))
    for row, item in enumerate(tried[start : start + _ROWS]):
        marks += _tried(item, _TOP + 54 + _ROW * row, done=item.number <= step, best=item.number == best)
    return marks


def _tried(item: Tried, y: float, *, done: bool, best: bool) -> list[Mark]:
    key = f"permutation/{item.number}"
    tone = "ink" if done else "muted"
    hints = " & ".join(_hint(hint) for hint in item.permutation.hints)
    merged = "→ " + _hint(item.permutation.merged)
    marks: list[Mark] = []
    if best:
        marks.append(Band(f"{key}/best", 8, y - 18, _LEFT - 16, _ROW))
    marks += [
        Text(f"{key}/number", 18, y, f"{item.number:,}", tone="muted", bold=True),
        Text(f"{key}/hints", 76, y, fit(hints, 240, mono=True), tone=tone, mono=True, tooltip=hints),
    ]
    if done:
        why = fit(item.because, _LEFT - 456 - 14)
        marks.append(
            Text(f"{key}/merged", 322, y, fit(merged, 124, mono=True), mono=True, bold=best, tooltip=merged)
        )
        marks.append(Text(f"{key}/why", 456, y, why, tone="ink" if item.best else "muted"))
    return marks


def _hint(hint: TopologyHint) -> str:
    return mask_words(hint.numa_node_affinity) + " ★" * hint.preferred


def _candidates(merge: Merge, top: float) -> list[Mark]:
    """The merged hints, best first, and how many permutations lead to each: nothing is tried."""
    rows = int((_HEIGHT - top - 46) // _ROW)
    marks: list[Mark] = [Panel("candidates", 0, top, _LEFT, _HEIGHT - top, say("merge.candidates"))]
    candidates = merge.candidates
    shown = candidates[:rows]
    most = max((c.permutations for c in shown), default=1)
    for row, candidate in enumerate(shown):
        y = top + 54 + _ROW * row
        key = f"candidate/{candidate.hint.numa_node_affinity}/{candidate.hint.preferred}"
        if row == 0:
            marks.append(Band(f"{key}/best", 8, y - 18, _LEFT - 16, _ROW))
        words = fit_middle(_hint(candidate.hint), 150, mono=True)
        behind = candidate.loses_by(shown[0])
        why = say(f"merge.behind.{behind}") if behind else say("merge.best")
        count = f"{candidate.permutations:,}"
        width = max(2.0, 90 * candidate.permutations / most)
        tone = "ink" if row == 0 else "muted"
        marks += [
            Text(f"{key}/hint", 18, y, words, mono=True, bold=row == 0, tooltip=_hint(candidate.hint)),
            Band(f"{key}/bar", 180, y - 11, width, 12, "edge", 3),
            Text(f"{key}/count", 412, y, count, tone=tone, anchor="end"),
            Text(f"{key}/why", 456, y, fit(why, _LEFT - 470), tone=tone),
        ]
    if len(candidates) > rows:
        window = say("merge.window", first=1, last=rows, total=len(candidates))
        marks.append(Text("candidates/window", _LEFT - 18, top + 25, window, tone="muted", anchor="end"))
    return marks


def _policies(decision: PolicyDecision, others: Sequence[PolicyDecision]) -> list[Mark]:
    """One card a policy: what it decides on this very node and pod."""
    width = WIDTH - _RIGHT
    marks: list[Mark] = [Panel("policies", _RIGHT, _TOP, width, _HEIGHT - _TOP, say("merge.policies"))]
    shown = others or (decision,)
    for row, other in enumerate(shown):
        y = _TOP + 42 + 91 * row
        looks = other.merge is None
        mask, preferred = mask_words(other.hint.numa_node_affinity), _preferred(other.hint)
        why = (
            say("merge.policies.none") if looks else say("merge.policies.why", mask=mask, preferred=preferred)
        )
        sign = "✓ " if other.admit else "✕ "
        look: Look = "lit" if other.policy == decision.policy else "plain" if other.admit else "impossible"
        lines = (sign + _outcome(other), fit(why, width - 62))
        marks.append(Box(f"policy/{other.policy}", _RIGHT + 16, y, width - 32, 80, other.policy, lines, look))
    return marks


def _permutation_table(tried: Sequence[Tried]) -> Table:
    rows = tuple(
        (str(t.number), " & ".join(map(_hint, t.permutation.hints)), _hint(t.permutation.merged), t.because)
        for t in tried[:200]
    )
    return table("permutations", "number hints merged why", rows)


def _candidate_table(merge: Merge) -> Table:
    rows = tuple(
        (
            mask_words(c.hint.numa_node_affinity),
            say("table.yes" if c.hint.preferred else "table.no"),
            f"{c.permutations:,}",
        )
        for c in merge.candidates[:200]
    )
    return table("candidates", "merged preferred permutations", rows)


def _policy_table(decisions: Sequence[PolicyDecision]) -> Table:
    rows = tuple(
        (d.policy, mask_words(d.hint.numa_node_affinity), _preferred(d.hint), _outcome(d)) for d in decisions
    )
    return table("policies", "policy mask preferred outcome", rows)
