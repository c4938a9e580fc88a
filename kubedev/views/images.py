"""Draw the pictures of `images/`: `python -m kubedev.views.images [DIR]`, each light and dark.

The bytes depend on the code alone, so a test can compare the files with what is drawn anew.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from kubedev.views import samples, samples_devices, samples_plugins
from kubedev.views.picture import Picture
from kubedev.views.style import Theme
from kubedev.views.svg import standalone

__all__ = ["IMAGES", "draw", "main"]

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
}
"""Name of the file -> its picture."""

_THEMES: tuple[Theme, ...] = ("light", "dark")


def draw() -> dict[str, str]:
    """Return the text of every file by its name."""
    return {
        f"{name}-{theme}.svg": standalone(picture(), theme)
        for name, picture in sorted(IMAGES.items())
        for theme in _THEMES
    }


def main(arguments: list[str]) -> int:
    """Write the files into a directory, `images` by default."""
    directory = Path(arguments[0] if arguments else "images")
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in draw().items():
        (directory / name).write_text(text, "utf-8")
        print(directory / name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
