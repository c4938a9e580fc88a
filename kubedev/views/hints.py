"""Lab 05: the hints of each resource as a matrix of masks, with the numbers that say why.

Up to four NUMA nodes every mask has its place; on larger machines masks of one size share one, with counts
(every single mask then is in the table, and in `charts.hints_figure`).
"""

from collections.abc import Iterator, Sequence

from kubedev.kubelet.topology.hints import MaskVerdict, ResourceHints, hint_count, written_out
from kubedev.kubelet.topology.wide import WideHints
from kubedev.views.catalogue import say
from kubedev.views.grammar import Card, Column, Facts, Grid, Part, Row, Words, picture
from kubedev.views.masks import mask_words
from kubedev.views.picture import Look, Picture, Table, table
from kubedev.views.style import WIDTH

__all__ = ["hint_sentence", "hints_part", "hints_picture"]

_LABEL = 0.24  # of the width of the masks
_MOST_NODES = 4
_NOT_YET = "–"
_LOOKS: dict[str, Look] = {
    "preferred": "preferred",
    "not preferred": "plain",
    "too few": "impossible",
    "reusable left out": "impossible",
}


def hints_picture(
    resources: Sequence[ResourceHints], numa_nodes: Sequence[int], width: float = WIDTH
) -> Picture:
    """Draw the hints of all resources that one container (or pod) asks for."""
    sentence = "; ".join(hint_sentence(resource) for resource in resources) + "."
    return picture(say("hints.title"), sentence, hints_part(resources, numa_nodes), width)


def hints_part(
    resources: Sequence[ResourceHints], numa_nodes: Sequence[int], judged: int | None = None
) -> Part:
    """The same as a part of a larger picture; of a mask from number `judged` on it is not said what becomes of it."""
    by_mask = len(numa_nodes) <= _MOST_NODES
    rows = [Row(_label(each), _masks(each, judged, by_mask), shares=(_LABEL, 1)) for each in resources]
    return Column(Card("", *rows), Facts(_table(resources)))


def hint_sentence(resource: ResourceHints) -> str:
    """Say what a resource answers."""
    if resource.hints is None:
        return say("hints.sentence.null", resource=resource.resource)
    if not resource.hints:
        return say("hints.sentence.empty", resource=resource.resource, request=resource.request)
    preferred = [
        mask_words(hint.numa_node_affinity) for hint in written_out(resource.hints) if hint.preferred
    ]
    listed = " ".join(preferred[:4]) + " …" * (len(preferred) > 4) or say("hints.none")
    if isinstance(resource.hints, WideHints):
        return say(
            "hints.sentence.wide",
            count=f"{hint_count(resource.hints):,}" if hint_count(resource.hints) else say("hints.uncounted"),
            nodes=len(resource.hints.nodes),
            resource=resource.resource,
            request=resource.request,
            preferred=listed,
        )
    return say(
        "hints.sentence",
        count=hint_count(resource.hints),
        total=len(resource.masks),
        resource=resource.resource,
        request=resource.request,
        preferred=listed,
    )


def _label(resource: ResourceHints) -> Part:
    least = ""
    if resource.min_affinity_size is not None:
        least = say("hints.smallest", request=resource.request, size=resource.min_affinity_size)
    asks = Words(say("hints.request", request=resource.request), "muted", tooltip=least)
    return Column(Words(resource.resource, bold=True), asks, gap=2)


def _masks(resource: ResourceHints, judged: int | None, by_mask: bool) -> Part:
    if not resource.masks:
        return Words(say(f"hints.reason.{resource.reason}"), "muted")
    if not by_mask:
        return Grid(*_sizes(resource), across=8, gap=8)
    shown = len(resource.masks) if judged is None else judged
    cards = [_mask(resource, mask, seen=n < shown) for n, mask in enumerate(resource.masks)]
    return Grid(*cards, across=min(8, len(cards)), gap=8)


def _mask(resource: ResourceHints, verdict: MaskVerdict, *, seen: bool) -> Card:
    counts, words = verdict.counts, say(f"hints.{verdict.verdict}", count=verdict.counts.left_out)
    why = say(
        "hints.why",
        mask=mask_words(counts.mask),
        all=counts.all,
        available=counts.available,
        reusable=counts.reusable,
        request=resource.request,
        verdict=verdict.verdict,
    )
    free = say("hints.counts", available=counts.available, all=counts.all)
    return Card(
        mask_words(counts.mask),
        Words(words if seen else _NOT_YET, bold=seen and verdict.verdict == "preferred"),
        Words(free if seen else _NOT_YET, "muted"),
        look=_LOOKS[verdict.verdict] if seen else "muted",
        key=f"hint/{resource.resource}/{counts.mask}",
        tooltip=why if seen else "",
    )


def _sizes(resource: ResourceHints) -> Iterator[Card]:
    """A card for all masks of one size."""
    found: dict[int, list[str]] = {}
    for mask in resource.masks:
        found.setdefault(mask.counts.mask.bit_count(), []).append(mask.verdict)
    for size, verdicts in found.items():
        preferred, possible = verdicts.count("preferred"), verdicts.count("not preferred")
        look: Look = "preferred" if preferred else "plain" if possible else "impossible"
        verdict = "preferred" if preferred else "not preferred" if possible else "too few"
        yield Card(
            say("hints.size", size=size),
            Words(say(f"hints.{verdict}"), bold=bool(preferred)),
            Words(say("hints.of", some=preferred or possible or len(verdicts), count=len(verdicts)), "muted"),
            look=look,
            key=f"hint/{resource.resource}/size/{size}",
        )


def _table(resources: Sequence[ResourceHints]) -> Table:
    rows = []
    for resource in resources:
        for verdict in resource.masks:
            counts = verdict.counts
            numbers = (counts.all, counts.available, counts.reusable)
            rows.append(
                (
                    resource.resource,
                    str(resource.request),
                    mask_words(counts.mask),
                    *map(str, numbers),
                    verdict.verdict,
                )
            )
        if not resource.masks:
            reason = say(f"hints.reason.{resource.reason}")
            rows.append((resource.resource, str(resource.request), "", "", "", "", reason))
    return table("hints", "resource request mask all available reusable verdict", rows)
