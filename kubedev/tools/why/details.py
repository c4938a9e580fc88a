"""What is behind a node's refusal beyond its words: which labels, pods, domains, volumes and ports."""

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from kubedev.api.objects import Node, Pod
from kubedev.api.storage import PersistentVolume
from kubedev.api.values import replace
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.node_ports import host_ports, ports_conflict
from kubedev.scheduler.plugins.taint_toleration import (
    DO_NOT_SCHEDULE_EFFECTS,
    find_matching_untolerated_taint,
)
from kubedev.scheduler.plugins.topology.pod_affinity_terms import AffinityTerm, parse_affinity_terms
from kubedev.scheduler.plugins.topology.spread_constraints import hard_constraints
from kubedev.scheduler.plugins.topology.spread_counts import Skew, count_for_filter
from kubedev.scheduler.plugins.volumes.node_volume_limits import VolumeLimit
from kubedev.scheduler.queue.queued_pod import key_of
from kubedev.scheduler.selectors.labels import Selector
from kubedev.scheduler.status import Status
from kubedev.tools.why.missing_labels import missing_labels
from kubedev.tools.why.words import port_of, some, taint_of
from kubedev.tools.why.world import World

__all__ = ["about_claims", "claims_in", "details_of", "names_like", "with_claim"]

MOST = 4


def details_of(world: World, pod: Pod, info: NodeInfo, status: Status) -> Iterator[str]:
    """Sentences about one node's refusal; none where its words, or sums, say it all."""
    if status.plugin == "NodeAffinity":
        lacking = missing_labels(pod, info.node)
        if lacking:
            yield f"{info.name} lacks {', '.join(f'{key}={value}' for key, value in lacking.items())}"
    if status.plugin == "NodePorts":
        for port in host_ports(pod):
            taking = [key_of(one.pod) for one in info.pods if ports_conflict(host_ports(one.pod), (port,))]
            if taking:
                yield f"host port {port_of(port)} of {info.name} is taken by {some(taking, MOST)}"
    if status.plugin in ("VolumeBinding", "VolumeZone"):
        yield from about_claims(world, pod, info.node)
    for why in status.why:
        if isinstance(why, Skew):
            noun = "pod" if why.match_num == 1 else "pods"
            yield (
                f"{why.topology_key}={why.value} has {why.match_num} such {noun}, with this one "
                f"{why.match_num + why.self_match_num}; the domain with the fewest has {why.min_match_num}: a skew of "
                f"{why.skew} > maxSkew {why.max_skew}"
            )
            yield from about_emptiest(world, pod, why)
        elif isinstance(why, VolumeLimit):
            yield f"{why.driver}: attached {why.attached} + new {why.new} > limit {why.limit}"
        elif isinstance(why, AffinityTerm):
            yield from about_term(world, pod, info.node, why)
        elif status.plugin == "InterPodAffinity" and isinstance(why, tuple):
            key, value = why
            others = [key_of(one) for one in in_domain(world, key, value) if keeps_away(one, pod)]
            yield f"kept away by the anti-affinity of {some(others, MOST) or 'pods'} in {key}={value}"


def about_emptiest(world: World, pod: Pod, skew: Skew) -> Iterator[str]:
    """The nodes of the domain with the fewest pods, and which taints keep the pod off them."""
    state = count_for_filter(pod, hard_constraints(pod), world.nodes)
    smallest = state.smallest.get(skew.topology_key)
    if smallest is None or smallest[0][1] != skew.min_match_num:  # another reason makes the minimum
        return
    value = smallest[0][0]
    constraints = [one for one in state.constraints if one.topology_key == skew.topology_key]
    counted = [
        info.node
        for info in world.nodes
        if info.node.labels.get(skew.topology_key) == value
        and any(one.counts_node(pod, info.node, state.required) for one in constraints)
    ]
    kept = {
        node.name: taint
        for node in counted
        if (taint := find_matching_untolerated_taint(node.taints, pod.tolerations, DO_NOT_SCHEDULE_EFFECTS))
    }
    names = some([node.name for node in counted], MOST)
    told = f"{skew.topology_key}={value} has {skew.min_match_num}; of it count {names}"
    if kept:
        taints = ", ".join(dict.fromkeys(map(taint_of, kept.values())))
        told += f"; the pod does not tolerate the taint {taints} of {some(list(kept), MOST)}"
    yield told


def about_term(world: World, pod: Pod, node: Node, term: AffinityTerm) -> Iterator[str]:
    """Who a term of the pod's means, in the node's domain."""
    value = node.labels.get(term.topology_key)
    if value is None:
        yield f"{node.name} has no label {term.topology_key}, which its affinity counts by"
        return
    there = [key_of(one) for one in in_domain(world, term.topology_key, value) if term.matches(one)]
    domain = f"{term.topology_key}={value}"
    yield (
        f"in {domain} there is {some(there, MOST)}"
        if there
        else f"in {domain} there is no pod with {shown(term.selector)}"
    )


def shown(selector: Selector) -> str:
    """A selector as one would write it."""
    parts = []
    for one in selector.requirements:
        values = ",".join(one.values)
        parts.append(
            f"{one.key}={values}"
            if one.operator in ("In", "=")
            else f"{one.key} {one.operator} {values}".strip()
        )
    return ", ".join(parts) or "any labels"


def in_domain(world: World, key: str, value: str) -> Iterable[Pod]:
    """The pods on nodes with this label."""
    return (one.pod for info in world.nodes if info.node.labels.get(key) == value for one in info.pods)


def keeps_away(one: Pod, pod: Pod) -> bool:
    """Whether a pod's own anti-affinity means the other."""
    return any(term.matches(pod) for term in parse_affinity_terms(one).required_anti_affinity)


def about_claims(world: World, pod: Pod, node: Node | None = None) -> Iterator[str]:
    """What becomes of the pod's claims; with a node, of those whose volumes cannot be used there."""
    storage = world.state.listers.storage
    names = [volume.claim_name for volume in pod.volumes if volume.claim_name is not None]
    for name in names:
        claim = storage.claim(f"{pod.namespace}/{name}")
        if claim is None:
            there = claims_in(world, pod.namespace)
            others = f", or name one that is there: {some(there, MOST)}" if there else ""
            yield f"there is no claim {name} in {pod.namespace}: create it{others}"
            for other in names_like(name, there):
                message = world.decide(with_claim(pod, name, other), preempting=False).message
                if message:
                    yield f"with claimName: {other} the scheduler says: {message}"
            continue
        volume = storage.volume(claim.volume_name) if claim.volume_name else None
        if volume is None:
            yield f"claim {name} is not bound; its class is {claim.storage_class or 'none'}"
        elif wanted := needs(volume):
            yield f"claim {name} is bound to volume {volume.name}, which can be used where {wanted}"


def claims_in(world: World, namespace: str) -> list[str]:
    """The names of a namespace's claims."""
    claims = world.state.listers.storage.claims
    return sorted(key.partition("/")[2] for key in claims if key.startswith(f"{namespace}/"))


def names_like(name: str, names: Sequence[str]) -> list[str]:
    """Names that may be meant."""
    return get_close_matches(name, names, 2, 0.6)


def with_claim(pod: Pod, name: str, other: str) -> Pod:
    """The pod with another claim in place of one."""
    volumes = (
        replace(volume, claim_name=other) if volume.claim_name == name else volume for volume in pod.volumes
    )
    return replace(pod, volumes=tuple(volumes))


def needs(volume: PersistentVolume) -> str:
    """What a volume asks of its node."""
    terms = (
        " and ".join(
            f"{one.key} {one.operator} {','.join(one.values)}".strip() for one in term.match_expressions
        )
        for term in volume.node_affinity or ()
    )
    return " or ".join(term for term in terms if term)
