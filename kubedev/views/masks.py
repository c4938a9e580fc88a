"""Masks of NUMA nodes in words, and numbers that read well."""

from kubedev.kubelet.topology.bitmask import nodes_of
from kubedev.views.catalogue import say

__all__ = ["mask_words", "natural", "natural_list"]


def mask_words(mask: int | None) -> str:
    """Return a mask as its nodes: `{0,1}`; no mask is anywhere."""
    if mask is None:
        return say("mask.any")
    return say("mask.nodes", nodes=",".join(map(str, nodes_of(mask))))


def natural(text: str) -> tuple[tuple[int, str], ...]:
    """Return a sort key that puts `gpu-2` before `gpu-10`."""
    parts: list[tuple[int, str]] = []
    digits = ""
    for character in text:
        if character.isascii() and character.isdigit():
            digits += character
            continue
        if digits:
            parts.append((int(digits), ""))
            digits = ""
        parts.append((-1, character))
    return (*parts, (int(digits), "")) if digits else tuple(parts)


def natural_list(ids: frozenset[str] | tuple[str, ...]) -> str:
    """Return ids in natural order, as a list in words."""
    return ", ".join(sorted(ids, key=natural)) or say("set.none")
