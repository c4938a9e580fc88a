"""Lab 06: the merge. First how many permutations there are, then they or what they come to, then the policies."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from kubedev.kubelet.topology.hints import TopologyHint, hint_count
from kubedev.kubelet.topology.merge import Candidate, Merge, Permutation, permutation_count, permutations
from kubedev.kubelet.topology.topology import PolicyDecision
from kubedev.views.catalogue import say
from kubedev.views.grammar import Card, Column, Facts, Part, Row, Words, picture
from kubedev.views.listing import Entry, Listing
from kubedev.views.masks import mask_words
from kubedev.views.picture import Look, Picture, Table, table
from kubedev.views.style import SIZE_TITLE, WIDTH

__all__ = [
    "MOST_PERMUTATIONS",
    "Tried",
    "hint_words",
    "merge_picture",
    "policy_card",
    "preferred_words",
    "try_permutations",
]

MOST_PERMUTATIONS = 5000
"""More permutations than this are not tried one by one, only counted."""

_PER_SECOND = 5_000_000  # of the Go code, on one core
_ROWS = 6


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
    decision: PolicyDecision,
    others: Sequence[PolicyDecision] = (),
    step: int | None = None,
    width: float = WIDTH,
) -> Picture:
    """Draw the merge of one policy, and beside it what each of `others` (usually all four) decides.

    `step` is the number of permutations tried so far; without it all are. Where they are too many, the
    merged hints are shown with the number of permutations that lead to each.
    """
    shown = others or (decision,)
    cards = [policy_card(each, chosen=each.policy == decision.policy) for each in shown]
    policies = Card(say("merge.policies"), *cards)
    body: Part = policies
    if decision.merge is not None:
        body = Column(_count(decision.merge), Row(_merge(decision.merge, step), policies, shares=(2, 1)))
    sentence = say(
        "merge.sentence",
        policy=decision.policy,
        mask=mask_words(decision.hint.numa_node_affinity),
        preferred=preferred_words(decision.hint),
        outcome=_outcome(decision),
    )
    return picture(say("merge.title"), sentence, Column(body, Facts(_policy_table(shown))), width)


def preferred_words(hint: TopologyHint) -> str:
    """Return whether a hint is preferred, in words."""
    return say("merge.is.preferred" if hint.preferred else "merge.not.preferred")


def hint_words(hint: TopologyHint) -> str:
    """Return a hint in short: its mask, and a star where it is preferred."""
    return mask_words(hint.numa_node_affinity) + " ★" * hint.preferred


def _outcome(decision: PolicyDecision) -> str:
    return say("merge.admitted" if decision.admit else "merge.refused")


def policy_card(decision: PolicyDecision, *more: str, chosen: bool = False, error: str = "") -> Card:
    """What a policy decides, and what else is to be said of it; an `error` of the allocation refuses the pod, too."""
    mask = mask_words(decision.hint.numa_node_affinity)
    why = say("merge.policies.why", mask=mask, preferred=preferred_words(decision.hint))
    why = say("merge.policies.none") if decision.merge is None else why
    admit = decision.admit and not error
    look: Look = "lit" if chosen else "plain" if admit else "impossible"
    outcome = Words(("✓ " if admit else "✕ ") + (error or _outcome(decision)))
    said = [Words(each, "muted") for each in (why, *more)]
    return Card(decision.policy, outcome, *said, look=look, key=f"policy/{decision.policy}" * chosen)


def _count(merge: Merge) -> Card:
    total = permutation_count(merge.filtered)
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
    number = Words(words, bold=True, size=SIZE_TITLE)
    return Card(
        "", Row(number, Words(product, "muted"), shares=(0, 1), middle=True, gap=18), Words(remark, "muted")
    )


def _merge(merge: Merge, step: int | None) -> Part:
    """The permutations one by one, where they can be tried, and what they come to."""
    if permutation_count(merge.filtered) > MOST_PERMUTATIONS:
        return _candidates(merge, 2 * _ROWS)
    tried = try_permutations(merge)
    return Column(_permutations(tried, len(tried) if step is None else step), _candidates(merge, _ROWS - 2))


def _permutations(tried: Sequence[Tried], step: int) -> Part:
    start = max(0, min(step - _ROWS + 3, len(tried) - _ROWS))
    best = max((t.number for t in tried[:step] if t.best), default=0)
    window = ""
    if len(tried) > _ROWS:
        window = say("merge.window", first=start + 1, last=start + _ROWS, total=f"{len(tried):,}")
        if best and not start < best <= start + _ROWS:
            window = say("merge.window.best", best=f"{best:,}", window=window)
    entries = [
        _tried(item, done=item.number <= step, best=item.number == best)
        for item in tried[start : start + _ROWS]
    ]
    corner = [Words(window, "muted")] if window else []
    listing = Listing(*entries, mono=(1, 2))
    return Card(say("merge.permutations"), listing, Facts(_permutation_table(tried)), corner=corner)


def _tried(item: Tried, *, done: bool, best: bool) -> Entry:
    hints = " & ".join(map(hint_words, item.permutation.hints))
    merged = "→ " + hint_words(item.permutation.merged)
    cells = (f"{item.number:,}", hints, merged if done else "", item.because if done else "")
    return Entry(cells, lit=best, quiet=not done, key=f"permutation/{item.number}")


def _candidates(merge: Merge, rows: int) -> Part:
    """The merged hints, best first, and how many permutations lead to each: nothing is tried."""
    candidates = merge.candidates
    shown = candidates[:rows]
    most = max((c.permutations for c in shown), default=1)
    entries = []
    for n, candidate in enumerate(shown):
        behind = candidate.loses_by(shown[0])
        why = say(f"merge.behind.{behind}") if behind else say("merge.best")
        share = candidate.permutations / most
        cells = (hint_words(candidate.hint), share, f"{candidate.permutations:,}", why)
        entries.append(Entry(cells, lit=n == 0, quiet=n > 0))
    window = say("merge.window", first=1, last=rows, total=len(candidates))
    corner = [Words(window, "muted")] if len(candidates) > rows else []
    listing: Part = Listing(*entries, mono=(0,)) if entries else Words(say("hints.none"), "muted")
    return Card(say("merge.candidates"), listing, Facts(_candidate_table(merge)), corner=corner)


def _permutation_table(tried: Sequence[Tried]) -> Table:
    rows = tuple(
        (
            str(t.number),
            " & ".join(map(hint_words, t.permutation.hints)),
            hint_words(t.permutation.merged),
            t.because,
        )
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
        (d.policy, mask_words(d.hint.numa_node_affinity), preferred_words(d.hint), _outcome(d))
        for d in decisions
    )
    return table("policies", "policy mask preferred outcome", rows)
