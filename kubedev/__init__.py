"""kubedev: how Kubernetes manages devices, as a lab you can step through.

Behaviour is that of Kubernetes `KUBERNETES_VERSION` with its default feature gates, checked against inputs
and outputs recorded from the Go code. The rooms, each importing only from those before it:
`api`, `deviceplugin` and `scheduler`, `kubelet`, `cluster`, `views`, `lab`; `wire` speaks gRPC, `tools` are the
commands.

The names here are what one tries a decision with at a Python prompt. Each is imported when it is asked for, so
that `import kubedev` costs nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
KUBERNETES_VERSION = "v1.32.10"

_FACE = {
    "Device": "api.messages",
    "Lab": "lab",
    "NodeInfo": "scheduler.node_info",
    "Quantity": "api.quantity",
    "cluster_from": "tools.why.cluster",
    "converse": "api.messages",
    "device_hints": "kubelet.topology.hints",
    "filter_by_affinity": "kubelet.devices.allocation",
    "fits": "scheduler.plugins.fits",
    "get_pod_qos": "api.qos",
    "load": "api.manifests",
    "make_devices": "deviceplugin.plugin",
    "pod_arithmetic": "api.requests",
    "who_holds": "kubelet.devices.holdings",
}

__all__ = ["KUBERNETES_VERSION", "__version__", *_FACE]


def __getattr__(name: str) -> Any:
    if name not in _FACE:
        raise AttributeError(f"module 'kubedev' has no attribute {name!r}; its names are: {', '.join(_FACE)}")
    return getattr(import_module(f"kubedev.{_FACE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
