"""What a lab is made of: a cluster to drive, pictures with knobs, predictions, checks, slides.

What a notebook uses stands here. What only later cells need is imported when it is asked for, so that the first picture
does not wait for it; `allocate` is what lab 04 explores.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kubedev.lab.check import check, holds, no_device_twice, only_healthy_devices, runs
from kubedev.lab.explore import explore
from kubedev.lab.predict import predict
from kubedev.lab.session import KubeletConfig, Lab, manifests

if TYPE_CHECKING:
    from kubedev.lab import allocate
    from kubedev.lab.compare import both_ends, side_by_side

__all__ = [
    "KubeletConfig",
    "Lab",
    "allocate",
    "both_ends",
    "check",
    "explore",
    "holds",
    "manifests",
    "no_device_twice",
    "only_healthy_devices",
    "predict",
    "runs",
    "side_by_side",
]


def __getattr__(name: str) -> Any:
    if name in ("both_ends", "side_by_side"):
        return getattr(import_module("kubedev.lab.compare"), name)
    if name == "allocate":
        return import_module("kubedev.lab.allocate")
    raise AttributeError(f"module 'kubedev.lab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
