"""Lab 10: a score as a curve over how full a node would be, which the reader bends."""

from collections.abc import Sequence

from kubedev.scheduler.cycle import Decision
from kubedev.scheduler.plugins.resource_scores import ResourceScore
from kubedev.views.catalogue import say
from kubedev.views.curve import Curve
from kubedev.views.grammar import Column, Facts, picture
from kubedev.views.picture import Picture, table
from kubedev.views.style import WIDTH

__all__ = ["shape_picture"]

Shape = Sequence[tuple[int, int]]


def shape_picture(shape: Shape, decision: Decision, width: float = WIDTH) -> Picture:
    """Draw the curve with the nodes on it, each where it would be with the pod; one resource is scored."""
    full = _full(decision)
    totals = decision.scores.totals if decision.scores else {}
    names = (say("shape.across"), say("shape.up"))
    curve = Curve(shape, (100, 10), (5, 1), names, {n: (u, totals[n] / 10) for n, u in full.items()})
    facts = Facts(table("shape", "node full score", [(n, str(u), str(totals[n])) for n, u in full.items()]))
    best = decision.scores.best() if decision.scores else (decision.node_name,)
    sentence = say("shape.sentence", best=say("shape.or").join(best), score=totals.get(best[0], 0))
    return picture(say("shape.title"), sentence, Column(facts, curve), width)


def _full(decision: Decision) -> dict[str, int]:
    """How full each node would be, in per cent."""
    plugins = decision.scores.plugins if decision.scores else ()
    reasons = ((name, why) for one in plugins for name, score in one.raw.items() for why in score.why)
    return {n: why.requested * 100 // why.allocatable for n, why in reasons if isinstance(why, ResourceScore)}
