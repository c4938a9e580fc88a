"""Sets of NUMA nodes as numbers: bit n of a mask says whether node n belongs to it.

A plain int is the set, so `a & b` is what two sets share and `mask.bit_count()` how many nodes one has. No
mask at all (None, Go's nil: anywhere will do) is not the empty mask (0: nowhere will do).

Source: `pkg/kubelet/cm/topologymanager/bitmask/bitmask.go`.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from operator import add, sub

__all__ = [
    "MAX_NUMA_NODES",
    "TooManyNUMANodesError",
    "iterate_bit_masks",
    "mask_of",
    "mask_text",
    "nodes_of",
    "numbered_masks",
    "superset_differences",
    "superset_sums",
]

# 2^16 - 1 masks for each resource are about a second of work: beyond that they are not listed, but searched (wide.py).
# Kubernetes draws no line here: with its option max-allowable-numa-nodes at 34 the kubelet starts, and the first
# admission never ends.
MAX_NUMA_NODES = 16


class TooManyNUMANodesError(ValueError):
    """The machine has so many NUMA nodes that nobody could list all their combinations."""

    def __init__(self, count: int) -> None:
        super().__init__(
            f"expected at most {MAX_NUMA_NODES} NUMA nodes to list their masks, got {count}: that makes 2^{count} - 1 "
            "masks for each resource; take fewer nodes, or the merge that searches (merge_at_once)"
        )


def mask_of(nodes: Iterable[int]) -> int:
    """The mask with these nodes; ValueError where one is not in Kubernetes' range of 0 to 63."""
    mask = 0
    for node in nodes:
        if not 0 <= node < 64:
            raise ValueError(f"bit number must be in range 0-63, got {node}")
        mask |= 1 << node
    return mask


def nodes_of(mask: int) -> tuple[int, ...]:
    """The nodes of a mask, ascending."""
    return tuple(node for node in range(mask.bit_length()) if mask >> node & 1)


def mask_text(mask: int | None) -> str:
    """A mask in binary, node 0 at the right, with an even number of digits; `any` for no mask."""
    if mask is None:
        return "any"
    digits = max(2, mask.bit_length() + mask.bit_length() % 2)
    return f"{mask:0{digits}b}"


def iterate_bit_masks(nodes: Sequence[int]) -> Iterator[int]:
    """Every mask of at least one of the nodes: the small ones first, then in the order of `nodes`.

    There are 2^n - 1 of them; TooManyNUMANodesError where that is more than anybody can wait for.
    """
    bits = _bits(nodes)
    return (sum(chosen) for size in range(1, len(bits) + 1) for chosen in combinations(bits, size))


def numbered_masks(nodes: Sequence[int]) -> list[int]:
    """Every mask of the nodes, the empty one first and the full one last.

    Bit p of a mask's place in the list stands for `nodes[p]`: so places have no gaps where nodes have.
    """
    masks = [0]
    for bit in _bits(nodes):
        masks += [mask | bit for mask in masks]
    return masks


def _bits(nodes: Sequence[int]) -> list[int]:
    if len(nodes) > MAX_NUMA_NODES:
        raise TooManyNUMANodesError(len(nodes))
    return [mask_of([node]) for node in nodes]


def superset_sums(values: list[int]) -> list[int]:
    """For each mask, the sum of the values of all masks that contain it. `values[mask]`, 2^n of them.

    One node after another: what is asked of a mask without the node is asked of the masks with and without
    it. Each round turns the order of the nodes by one, so that after n rounds it is the old one. n * 2^n
    steps.
    """
    for _ in range(len(values).bit_length() - 1):
        without, containing = values[0::2], values[1::2]
        values = [*map(add, without, containing), *containing]
    return values


def superset_differences(sums: list[int]) -> list[int]:
    """The values of which `sums` are the superset sums."""
    for _ in range(len(sums).bit_length() - 1):
        without, containing = sums[0::2], sums[1::2]
        sums = [*map(sub, without, containing), *containing]
    return sums
