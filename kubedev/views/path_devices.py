"""How a device is shown: its state, its name in short, its NUMA node in words."""

from collections.abc import Sequence
from functools import lru_cache

from kubedev.views.catalogue import say
from kubedev.views.path_state import DeviceView
from kubedev.views.style import DeviceState

__all__ = ["device_state", "device_words", "numa_text", "short_names"]


def device_state(device: DeviceView) -> DeviceState:
    """Return the mark of a device."""
    if not device.healthy:
        return DeviceState.UNHEALTHY_IN_USE if device.owner else DeviceState.UNHEALTHY
    return DeviceState.ALLOCATED if device.owner else DeviceState.FREE


@lru_cache(4096)  # most devices stay as they are from step to step
def device_words(device: DeviceView) -> str:
    """Return what is to be said of a device: its id, its state, whose it is, where it sits."""
    owner = f"{device.owner}/{device.container}" if device.container else device.owner
    about = {
        "id": device.id,
        "state": device_state(device).word,
        "numa": numa_text(device.numa),
        "owner": owner,
    }
    key = "path.device.gone" if device.gone else "path.device.owned" if device.owner else "path.device"
    return say(key, **about)


def numa_text(numa: Sequence[int]) -> str:
    """Return where a device sits, in words."""
    return _numa_text(tuple(numa))


@lru_cache(512)
def _numa_text(numa: tuple[int, ...]) -> str:
    return say("path.numa", nodes=",".join(map(str, sorted(numa)))) if numa else say("path.numa.none")


def short_names(ids: Sequence[str]) -> dict[str, str]:
    """Return what tells ids apart: each without the beginning all share, or its number where that is long."""
    shared = 0
    while ids and all(len(i) > shared + 1 and not i[shared].isdigit() for i in ids):
        if len({i[shared] for i in ids}) > 1:
            break
        shared += 1
    short = [i[shared:] for i in ids]
    if any(len(name) > 3 for name in short):
        short = [str(number) for number in range(len(ids))]
    return dict(zip(ids, short, strict=True))
