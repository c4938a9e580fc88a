"""Where many cells go in little space: groups side by side, each with as many rows as it needs.

The largest size that fits is taken, so eight devices are large and carry their owners' names, and five
hundred are small and still all there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from kubedev.views.picture import Point

__all__ = ["Grid", "Group", "lay_out"]

# size of a cell, distance to the next column, distance to the next row
_SIZES = ((44, 70, 66), (44, 62, 66), (40, 47, 47), (34, 40, 40), (28, 33, 33), (24, 28, 28), (20, 23, 23))
_SMALL = ((17, 20, 20), (14, 17, 17), (11, 13, 13), (8, 10, 10), (6, 7, 7), (4, 5, 5))
_GAP = 22
_NARROWEST = 24.0


@dataclass(frozen=True, slots=True)
class Group:
    """One group: its extent and the places (top left) of its cells."""

    x: float
    width: float
    places: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """The laid out cells, `pitch` from one to the next; `named` says whether there is room for a name under each."""

    size: int
    pitch: int
    rows: int
    row_height: int
    named: bool
    groups: tuple[Group, ...]

    @property
    def height(self) -> int:
        """From the top of the first cell to the end of the last row, names included."""
        return self.rows * self.row_height


def lay_out(
    counts: Sequence[int],
    width: float,
    height: float,
    *,
    label_width: float = _NARROWEST,
    first: Sequence[tuple[int, int, int]] = (),
) -> Grid:
    """Place groups of `counts` cells in an area; a group is as wide as its label, where there is room.

    `first` are sizes (cell, to the next column, to the next row) that are tried before the usual ones.
    """
    return _lay_out(tuple(counts), width, height, label_width, tuple(first))


@lru_cache(256)  # a picture has the same groups from step to step
def _lay_out(
    counts: tuple[int, ...],
    width: float,
    height: float,
    label_width: float,
    first: tuple[tuple[int, int, int], ...],
) -> Grid:
    count = max(len(counts), 1)
    narrowest = min(label_width, (width - (_GAP + 4) * (count - 1)) / count)
    for sizes in (*first, *_SIZES, *_SMALL):
        for rows in range(1, int(height // sizes[2]) + 1):
            grid = _grid(counts, rows, sizes, narrowest)
            last = grid.groups[-1] if grid.groups else Group(0, 0, ())
            if last.x + last.width <= width + 0.5:
                return grid
    return _grid(counts, max(1, int(height // _SMALL[-1][2])), _SMALL[-1], 0)


def _grid(counts: Sequence[int], rows: int, sizes: tuple[int, int, int], narrowest: float) -> Grid:
    size, pitch, row_height = sizes
    groups = []
    x = 0.0
    for count in counts:
        across = max(1, -(-count // rows))
        places = tuple((x + i % across * pitch, float(i // across * row_height)) for i in range(count))
        width = max(float(across * pitch - (pitch - size)), narrowest)
        groups.append(Group(x, width, places))
        x += width + _GAP + (pitch - size) / 2
    return Grid(size, pitch, rows, row_height, row_height - size > 20, tuple(groups))
