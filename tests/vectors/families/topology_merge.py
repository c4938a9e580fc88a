"""The merge of hints under each policy, at once and (where there are few permutations) by permutation."""

from typing import Any

from kubedev.kubelet.topology.bitmask import mask_of, nodes_of
from kubedev.kubelet.topology.hints import Hints, TopologyHint
from kubedev.kubelet.topology.merge import Merger, NUMAInfo, merge_at_once, merge_by_permutation
from kubedev.kubelet.topology.policy_options import TopologyPolicyOptions
from kubedev.kubelet.topology.topology import PolicyDecision, TopologyManager, decide

FEW = 2000


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """The merged hint and whether the policy admits, or a text where the two mergers differ."""
    decision = _decide(case, merge_at_once)
    if (
        decision.merge
        and decision.merge.permutations <= FEW
        and decision != _decide(case, merge_by_permutation)
    ):
        return {"admit": "the two mergers differ"}
    mask = decision.hint.numa_node_affinity
    return {
        "affinity": None if mask is None else list(nodes_of(mask)),
        "preferred": decision.hint.preferred,
        "admit": decision.admit,
    }


def _decide(case: dict[str, Any], merger: Merger) -> PolicyDecision:
    distances = {int(node): row for node, row in (case["distances"] or {}).items()}
    manager = TopologyManager(
        case["policy"],
        "container",
        TopologyPolicyOptions(case["prefer_closest_numa_nodes"]),
        NUMAInfo(tuple(case["numa_nodes"]), distances),
    )
    providers = [p and {resource: _hints(hints) for resource, hints in p.items()} for p in case["providers"]]
    return decide(manager, providers, merger)


def _hints(hints: list[dict[str, Any]] | None) -> Hints:
    if hints is None:
        return None
    return tuple(
        TopologyHint(h["mask"] if h["mask"] is None else mask_of(h["mask"]), h["preferred"]) for h in hints
    )
