"""What is behind a node's refusal beyond its words: which labels, pods, domains, volumes and ports."""

from collections.abc import Iterable, Iterator

from kubedev.api.objects import Node, Pod
from kubedev.api.storage import PersistentVolume
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.node_ports import host_ports, ports_conflict
from kubedev.scheduler.plugins.topology.pod_affinity_terms import AffinityTerm, parse_affinity_terms
from kubedev.scheduler.plugins.topology.spread_counts import Skew
from kubedev.scheduler.plugins.volumes.node_volume_limits import VolumeLimit
from kubedev.scheduler.queue.queued_pod import key_of
from kubedev.scheduler.selectors.labels import Selector
from kubedev.scheduler.status import Status
from kubedev.tools.why.missing_labels import missing_labels
from kubedev.tools.why.words import some
from kubedev.tools.why.world import World

__all__ = ["about_claims", "details_of"]

MOST = 4


def details_of(world: World, pod: Pod, info: NodeInfo, status: Status) -> Iterator[str]:
    """Sentences about one node's refusal; none where its words, or sums, say it all."""
    if status.plugin == "NodeAffinity":
        lacking = missing_labels(pod, info.node)
        if lacking:
            yield f"{info.name} lacks {', '.join(f'{key}={value}' for key, value in lacking.items())}"
    if status.plugin == "NodePorts":
        wanted = host_ports(pod)
        taking = [key_of(one.pod) for one in info.pods if ports_conflict(host_ports(one.pod), wanted)]
        if taking:
            yield f"on {info.name} the port is taken by {some(taking, MOST)}"
    if status.plugin in ("VolumeBinding", "VolumeZone"):
        yield from about_claims(world, pod, info.node)
    for why in status.why:
        if isinstance(why, Skew):
            yield (
                f"{why.topology_key}={why.value} has {why.match_num} such pods, with this one "
                f"{why.match_num + why.self_match_num}; the domain with the fewest has {why.min_match_num}: a skew of "
                f"{why.skew} > maxSkew {why.max_skew}"
            )
        elif isinstance(why, VolumeLimit):
            yield f"{why.driver}: attached {why.attached} + new {why.new} > limit {why.limit}"
        elif isinstance(why, AffinityTerm):
            yield from about_term(world, pod, info.node, why)
        elif status.plugin == "InterPodAffinity" and isinstance(why, tuple):
            key, value = why
            others = [key_of(one) for one in in_domain(world, key, value) if keeps_away(one, pod)]
            yield f"kept away by the anti-affinity of {some(others, MOST) or 'pods'} in {key}={value}"


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
            there = [key.partition("/")[2] for key in storage.claims if key.startswith(f"{pod.namespace}/")]
            yield f"there is no claim {name} in {pod.namespace}, only {some(there, MOST) or 'none at all'}"
            continue
        volume = storage.volume(claim.volume_name) if claim.volume_name else None
        if volume is None:
            yield f"claim {name} is not bound; its class is {claim.storage_class or 'none'}"
        elif wanted := needs(volume):
            yield f"claim {name} is bound to volume {volume.name}, which can be used where {wanted}"


def needs(volume: PersistentVolume) -> str:
    """What a volume asks of its node."""
    terms = (
        " and ".join(
            f"{one.key} {one.operator} {','.join(one.values)}".strip() for one in term.match_expressions
        )
        for term in volume.node_affinity or ()
    )
    return " or ".join(term for term in terms if term)
