"""Inside the kernel that executes a lab for its slides: hands over each picture as it is when all has run.

When a cell shows a picture, nothing has happened yet; what comes later is in the picture's history, which the
slides step through. So the pictures are asked for once more at the end.
"""

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from IPython.display import display
from ipywidgets.widgets.widget import _instances

__all__ = ["MIME", "begin", "hand_over"]

MIME = "application/vnd.kubedev.pictures+json"


def begin() -> None:
    """Neither take nor leave anybody's predictions; show what is though nobody predicted, and draw no controls."""
    import_module("kubedev.lab.panel").CONTROLS = False  # type: ignore[attr-defined]
    import_module("kubedev.lab.record").FILE = Path(os.devnull)  # type: ignore[attr-defined]
    # `kubedev.lab.predict` is also the name of its function
    import_module("kubedev.lab.predict").REVEAL = True  # type: ignore[attr-defined]


def hand_over(models: Sequence[str]) -> None:
    """Display the HTML of those widgets that can stand without a kernel, by the ids of their models."""
    pictures = {
        model: _instances[model].without_kernel()["text/html"]
        for model in models
        if hasattr(_instances.get(model), "without_kernel")
    }
    display({MIME: pictures}, raw=True)  # type: ignore[no-untyped-call]
