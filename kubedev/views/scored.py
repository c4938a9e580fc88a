"""How a plugin came to a node's score, in words: the numbers of its reasons, normalized, times the weight."""

from typing import Any

from kubedev.api.names import CPU, MEMORY
from kubedev.api.selectors import PreferredSchedulingTerm, Taint
from kubedev.scheduler.plugins.image_locality import ImageShare
from kubedev.scheduler.plugins.node_resources_balanced_allocation import Fraction
from kubedev.scheduler.plugins.resource_scores import ResourceScore
from kubedev.scheduler.plugins.topology.inter_pod_affinity import DomainPoints
from kubedev.scheduler.plugins.topology.pod_topology_spread import SpreadPoints
from kubedev.scheduler.scoring import PluginScores
from kubedev.views.catalogue import say

__all__ = ["explained", "short"]

_SHORT = {
    "NodeResourcesFit": "Fit",
    "NodeResourcesBalancedAllocation": "Balanced",
    "ImageLocality": "Image",
    "NodeAffinity": "Affinity",
    "TaintToleration": "Taint",
    "PodTopologySpread": "Spread",
    "InterPodAffinity": "InterPod",
}
_MIB = 1 << 20


def short(plugin: str) -> str:
    """A name for the head of a column."""
    return _SHORT.get(plugin, plugin)


def explained(scores: PluginScores, node: str) -> str:
    """The raw score from its reasons, the normalized one, and what is added to the sum."""
    raw, normalized = scores.raw[node], scores.normalized[node]
    nothing = say("scored.nothing" if scores.plugin in _SHORT else "scored.own", raw=raw.value)
    reasons = "; ".join(map(_reason, raw.why)) or nothing
    most = max(score.value for score in scores.raw.values())
    kind = "same" if raw.value == normalized else "normalized"
    after = say(f"scored.{kind}", raw=raw.value, normalized=normalized, most=most)
    weighted = say("scored.weighted", normalized=normalized, weight=scores.weight, sum=scores.weighted(node))
    rule = say(f"scored.rule.{_SHORT[scores.plugin]}") + " " if scores.plugin in _SHORT and raw.why else ""
    return f"{scores.plugin}, {node}: {reasons}. {rule}{after} {weighted}"


def _reason(why: Any) -> str:
    match why:
        case ResourceScore():
            used, room = (_amount(why.name, amount) for amount in (why.requested, why.allocatable))
            return say(
                "scored.resource", name=why.name, used=used, room=room, score=why.score, weight=why.weight
            )
        case Fraction():
            used, room = (_amount(why.name, amount) for amount in (why.requested, why.allocatable))
            return say("scored.fraction", name=why.name, used=used, room=room, fraction=f"{why.fraction:.4g}")
        case ImageShare():
            return say(
                "scored.image", size=why.size // _MIB, spread=f"{why.spread:.3g}", points=why.points // _MIB
            )
        case PreferredSchedulingTerm():
            return say("scored.term", weight=why.weight)
        case Taint():
            return say("scored.taint", taint=f"{why.key}={why.value}:{why.effect}")
        case DomainPoints():
            return say("scored.domain", label=why.topology_key, value=why.value, points=why.points)
        case SpreadPoints():
            return say("scored.spread", label=why.topology_key, pods=why.pods, points=f"{why.points:.3g}")
        case _:
            return str(why)


def _amount(name: str, amount: int) -> str:
    scale = 1000 if name == CPU else 1 << 30 if name == MEMORY else 1
    return f"{amount / scale:.4g}{'Gi' * (name == MEMORY)}"
