"""Draw the pictures of `images/`, each light and dark, and the first screens of the labs, which move.

`python -m kubedev.views.images` writes them into `images/` and `labs/img/`; other folders can be given.

The bytes depend on the code alone, so a test can compare the files with what is drawn anew.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from kubedev.views import (
    firsts,
    firsts_cpus,
    firsts_numa,
    firsts_pods,
    firsts_scheduling,
    samples,
    samples_devices,
    samples_plugins,
    samples_restart,
)
from kubedev.views.animate import animated
from kubedev.views.picture import Picture
from kubedev.views.style import Theme
from kubedev.views.svg import standalone

__all__ = ["FIRSTS", "IMAGES", "draw", "draw_firsts", "main"]

IMAGES: Mapping[str, Callable[[], Picture]] = {
    "path": samples.path,
    "pod-arithmetic": samples.pod_arithmetic,
    "pods-side-by-side": samples_plugins.pods_side_by_side,
    "limits": samples_plugins.limits,
    "registration": samples.registration,
    "refusals": samples_plugins.refusals,
    "list-and-watch": samples.list_and_watch,
    "stream-ends": samples_devices.stream_ends,
    "allocation-sets": samples.allocation_sets,
    "edge-of-alignment": samples_devices.edge_of_alignment,
    "numa-board": samples.numa_board,
    "hints": samples.hints,
    "merge": samples.merge,
    "tray": samples_devices.tray,
    "restart": samples_restart.restart,
    "fits": firsts_scheduling.fits,
    "cycle": firsts_scheduling.cycle,
    "cpus": firsts_cpus.cpus,
}
"""Name of the file -> its picture."""

FIRSTS: Mapping[str, Callable[[], firsts.First]] = {
    "00": firsts.way,
    "01": firsts.asks,
    "02": firsts.registered,
    "03": firsts.listed,
    "04": firsts_numa.taken,
    "05": firsts_numa.masks,
    "06": firsts_numa.merged,
    "07": firsts_pods.reused,
    "08": firsts_pods.forgotten,
    "09": firsts_scheduling.fitting,
    "10": firsts_scheduling.scheduled,
    "13": firsts_cpus.taking,
}
"""Number of a lab -> what its first screen shows."""

_THEMES: tuple[Theme, ...] = ("light", "dark")


def draw() -> dict[str, str]:
    """Return the text of every file by its name."""
    return {
        f"{name}-{theme}.svg": standalone(picture(), theme)
        for name, picture in sorted(IMAGES.items())
        for theme in _THEMES
    }


def draw_firsts() -> dict[str, str]:
    """Return the text of every first screen by its name."""
    shown = {number: first() for number, first in FIRSTS.items()}
    return {f"{number}.svg": animated(f.frames, f.still, f.alt) for number, f in shown.items()}


def main(arguments: list[str]) -> int:
    """Write the files into a directory, `images` by default, and the first screens into another, `labs/img`."""
    folders = [*map(Path, arguments), *map(Path, ("images", "labs/img")[len(arguments) :])]
    for directory, files in zip(folders, (draw(), draw_firsts()), strict=False):
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (directory / name).write_text(text, "utf-8")
            print(directory / name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
