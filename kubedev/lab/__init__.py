"""What a lab is made of: a cluster to drive, pictures with knobs, predictions, checks, slides.

What a notebook uses stands here. What only later cells need is imported when it is asked for, so that the first picture
does not wait for it: `pods` is how pods are written, `admin` what is done to a node by hand, `registration` plugins
that register by hand, `streams` what a plugin's stream makes of a node, `ends` how a stream ends on a real wire,
`allocate` what lab 04 explores, `numa` labs 05 and 06, `scheduling` what the scheduler decides,
`holdings` who holds which device and how it came by it, `restarts` what is left when a kubelet has started again,
`cpus` who runs on which CPUs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kubedev.api.messages import Device
from kubedev.lab.check import (
    accepted,
    asks,
    check,
    holds,
    invariant,
    may_use,
    no_device_twice,
    one_plugin,
    only_healthy_devices,
    part_of,
    registered,
    runs,
    tried,
)
from kubedev.lab.explore import explore
from kubedev.lab.predict import predict
from kubedev.lab.session import KubeletConfig, Lab, manifests

if TYPE_CHECKING:
    from kubedev.lab import allocate, cpus, holdings, numa, pods, registration, restarts, scheduling, streams
    from kubedev.lab import node_scene as admin
    from kubedev.lab import stream_ends as ends
    from kubedev.lab.compare import both_ends, side_by_side
    from kubedev.lab.machine import Machine, on
    from kubedev.lab.turning import turns

__all__ = [
    "Device",
    "KubeletConfig",
    "Lab",
    "Machine",
    "accepted",
    "admin",
    "allocate",
    "asks",
    "both_ends",
    "check",
    "cpus",
    "ends",
    "explore",
    "holdings",
    "holds",
    "invariant",
    "manifests",
    "may_use",
    "no_device_twice",
    "numa",
    "on",
    "one_plugin",
    "only_healthy_devices",
    "part_of",
    "pods",
    "predict",
    "registered",
    "registration",
    "restarts",
    "runs",
    "scheduling",
    "side_by_side",
    "streams",
    "tried",
    "turns",
]

_LATER = {
    "both_ends": "compare",
    "side_by_side": "compare",
    "Machine": "machine",
    "on": "machine",
    "turns": "turning",
}
_ROOMS = {
    "admin": "node_scene",
    "allocate": "allocate",
    "cpus": "cpus",
    "ends": "stream_ends",
    "holdings": "holdings",
    "numa": "numa",
    "pods": "pods",
    "registration": "registration",
    "restarts": "restarts",
    "scheduling": "scheduling",
    "streams": "streams",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f"kubedev.lab.{_LATER[name]}"), name)
    if name in _ROOMS:
        return import_module(f"kubedev.lab.{_ROOMS[name]}")
    raise AttributeError(f"module 'kubedev.lab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
