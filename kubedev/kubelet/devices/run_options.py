"""What a container's devices mean for the runtime: environment, mounts, device nodes, annotations, CDI names.

Each plugin answered Allocate with its own; here they become one. Where two want different things under one
key, the first one wins and the container starts all the same: Kubernetes only logs it. `conflicts` says
where.

Source: `pkg/kubelet/cm/devicemanager/pod_devices.go: deviceRunContainerOptions`;
`pkg/kubelet/kubelet_pods.go: GenerateRunContainerOptions`. Go takes the resources in random order, we by
name.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from kubedev.api.messages import DeviceSpec, Mount, Pairs
from kubedev.kubelet.devices.devices import PodDevices

__all__ = ["Conflict", "DeviceRunContainerOptions", "device_run_container_options"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two settings for one key: `kept` is in the options, `dropped`, which is `resource`'s, is not."""

    kind: str
    key: str
    resource: str
    kept: str
    dropped: str


@dataclass(frozen=True, slots=True)
class DeviceRunContainerOptions:
    """The options of all of a container's resources together."""

    envs: Pairs = ()
    mounts: tuple[Mount, ...] = ()
    devices: tuple[DeviceSpec, ...] = ()
    annotations: Pairs = ()
    cdi_devices: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()


T = TypeVar("T")

# A setting as the resource it is of, its key, the value by which two are compared, and the setting itself.
Setting = tuple[str, str, str, T]


def device_run_container_options(
    pods: PodDevices, pod_uid: str, container: str
) -> DeviceRunContainerOptions | None:
    """The options for a container from the records; None if it has no devices.

    Devices and mounts are told apart by their path in the container and compared by that on the host.
    """
    resources = pods.get(pod_uid, {}).get(container)
    if resources is None:
        return None
    answers = [(resource, info.alloc_resp) for resource, info in sorted(resources.items())]
    conflicts: list[Conflict] = []
    return DeviceRunContainerOptions(
        _first("env", ((r, k, v, (k, v)) for r, a in answers for k, v in a.envs), conflicts),
        _first(
            "mount", ((r, m.container_path, m.host_path, m) for r, a in answers for m in a.mounts), conflicts
        ),
        _first(
            "device",
            ((r, d.container_path, d.host_path, d) for r, a in answers for d in a.devices),
            conflicts,
        ),
        _first("annotation", ((r, k, v, (k, v)) for r, a in answers for k, v in a.annotations), conflicts),
        _first(
            "CDI device", ((r, name, name, name) for r, a in answers for name in a.cdi_devices), conflicts
        ),
        tuple(conflicts),
    )


def _first(kind: str, settings: Iterable[Setting[T]], conflicts: list[Conflict]) -> tuple[T, ...]:
    """The first setting of each key; later ones that differ are added to the conflicts."""
    kept: dict[str, tuple[str, T]] = {}
    for resource, key, value, setting in settings:
        first = kept.setdefault(key, (value, setting))[0]
        if first != value:
            conflicts.append(Conflict(kind, key, resource, first, value))
    return tuple(setting for _, setting in kept.values())
