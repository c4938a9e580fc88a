"""Lab 05: the hints of each resource as a matrix of masks, with the numbers that say why.

Up to four NUMA nodes every mask has its place; on larger machines masks of one size share one, with counts
(every single mask then is in the table, and in `charts.hints_figure`).
"""

from collections.abc import Sequence

from kubedev.kubelet.topology.bitmask import iterate_bit_masks
from kubedev.kubelet.topology.hints import MaskVerdict, ResourceHints, hint_count, written_out
from kubedev.kubelet.topology.wide import WideHints
from kubedev.views.catalogue import say
from kubedev.views.masks import mask_words
from kubedev.views.picture import Box, Look, Mark, Panel, Picture, Table, Text, table
from kubedev.views.style import WIDTH, fit, fit_middle, wrap

__all__ = ["hint_sentence", "hints_picture"]

_LABEL = 190.0
_HEAD = 52.0
_ROW = 76.0
_MOST_NODES = 4
_LOOKS: dict[str, Look] = {
    "preferred": "preferred",
    "not preferred": "plain",
    "too few": "impossible",
    "reusable left out": "impossible",
}


def hints_picture(resources: Sequence[ResourceHints], numa_nodes: Sequence[int]) -> Picture:
    """Draw the hints of all resources that one container (or pod) asks for."""
    by_mask = len(numa_nodes) <= _MOST_NODES
    height = _HEAD + _ROW * len(resources) + 12
    marks: list[Mark] = [Panel("hints", 0, 0, WIDTH, height)]
    places = _mask_heads(numa_nodes, marks) if by_mask else _size_heads(numa_nodes, marks)
    for index, resource in enumerate(resources):
        top = _HEAD + _ROW * index
        marks += _label(resource, top)
        if not resource.masks:
            marks += _no_masks(resource, top)
        elif by_mask:
            marks += [
                _mask_box(resource, verdict, top, *places[verdict.counts.mask]) for verdict in resource.masks
            ]
        else:
            for size, (x, width) in places.items():
                marks += _size_marks(resource, size, top, x, width)
    sentence = "; ".join(hint_sentence(resource) for resource in resources) + "."
    alt = say("hints.alt", sentence=sentence)
    return Picture(say("hints.title"), sentence, height, tuple(marks), (_table(resources),), alt)


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


_Places = dict[int, tuple[float, float]]


def _columns(count: int) -> tuple[float, float]:
    """Distance and width of columns."""
    pitch = min((WIDTH - _LABEL - 12) / count, 200.0)
    return pitch, pitch - (10 if count < 10 else 5)


def _mask_heads(numa_nodes: Sequence[int], marks: list[Mark]) -> _Places:
    masks = list(iterate_bit_masks(numa_nodes))
    pitch, width = _columns(len(masks))
    places: _Places = {}
    for column, mask in enumerate(masks):
        x = _LABEL + column * pitch
        places[mask] = (x, width)
        words = fit(mask_words(mask), pitch - 2, mono=True)
        if words != mask_words(mask):
            words = "".join(c for c in mask_words(mask) if c not in "{,}")
        marks.append(
            Text(
                f"mask/{mask}", x + width / 2, 32, words, mono=True, anchor="middle", tooltip=mask_words(mask)
            )
        )
    return places


def _size_heads(numa_nodes: Sequence[int], marks: list[Mark]) -> _Places:
    pitch, width = _columns(len(numa_nodes))
    places: _Places = {}
    for size in range(1, len(numa_nodes) + 1):
        x = _LABEL + (size - 1) * pitch
        places[size] = (x, width)
        label = say("hints.size", size=size)
        marks.append(Text(f"size/{size}", x + width / 2, 32, fit(label, pitch), anchor="middle"))
    return places


def _label(resource: ResourceHints, top: float) -> list[Mark]:
    name = fit_middle(resource.resource, _LABEL - 28, bold=True)
    asks = say("hints.request", request=resource.request)
    key = f"resource/{resource.resource}"
    tip = ""
    if resource.min_affinity_size is not None:
        tip = say("hints.smallest", request=resource.request, size=resource.min_affinity_size)
    return [
        Text(key, 18, top + 28, name, bold=True, tooltip=resource.resource),
        Text(f"{key}/asks", 18, top + 49, asks, tone="muted", tooltip=tip),
    ]


def _no_masks(resource: ResourceHints, top: float) -> list[Mark]:
    lines = wrap(say(f"hints.reason.{resource.reason}"), WIDTH - _LABEL - 20, 2)
    key = f"none/{resource.resource}"
    return [Text(f"{key}/{i}", _LABEL, top + 38 + 20 * i, line, tone="muted") for i, line in enumerate(lines)]


def _mask_box(resource: ResourceHints, verdict: MaskVerdict, top: float, x: float, width: float) -> Box:
    counts = verdict.counts
    wide = width > 100
    words = {
        "preferred": "★ " + say("hints.preferred") if wide else "★",
        "not preferred": say("hints.possible") if wide else "✓",
        "too few": say(
            "hints.too few.long" if width > 118 else "hints.too few",
            have=counts.available + counts.reusable,
            request=resource.request,
        ),
        "reusable left out": say(
            "hints.reusable left out.long" if width > 160 else "hints.reusable left out",
            count=counts.left_out,
        ),
    }
    why = say(
        "hints.why",
        mask=mask_words(counts.mask),
        all=counts.all,
        available=counts.available,
        reusable=counts.reusable,
        request=resource.request,
        verdict=verdict.verdict,
    )
    text = fit(words[verdict.verdict], width - 12)
    free = say("hints.counts", available=counts.available, all=counts.all)
    lines = (fit(free, width - 12),) if width > 118 else ()
    key = f"hint/{resource.resource}/{counts.mask}"
    look = _LOOKS[verdict.verdict]
    return Box(key, x, top + 8, width, _ROW - 18, text, lines, look=look, centred=True, tooltip=why)


def _size_marks(resource: ResourceHints, size: int, top: float, x: float, width: float) -> list[Mark]:
    verdicts = [v.verdict for v in resource.masks if v.counts.mask.bit_count() == size]
    preferred, possible = verdicts.count("preferred"), verdicts.count("not preferred")
    look: Look = "preferred" if preferred else "plain" if possible else "impossible"
    if preferred:
        words = "★ " + str(preferred)
    elif possible:
        words = f"✓ {possible}"
    else:
        words = say("hints.none")
    rest = say("hints.of", count=len(verdicts))
    key = f"hint/{resource.resource}/size/{size}"
    return [Box(key, x, top + 6, width, _ROW - 14, words, (rest,), look=look, centred=True)]


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
