"""The moments that `images/` shows of labs 03 and 04 side by side, and of lab 07."""

from dataclasses import replace

from kubedev.api.messages import Device, PreferredAllocationResponse, converse
from kubedev.api.objects import Container, Pod
from kubedev.api.quantity import Quantity
from kubedev.kubelet.devices.allocation import DeviceRequest, DevicesToAllocate, devices_to_allocate
from kubedev.kubelet.devices.capacity import with_plugin
from kubedev.kubelet.devices.devices import DeviceManagerState
from kubedev.views.allocation_multiples import allocation_multiples
from kubedev.views.catalogue import say
from kubedev.views.firsts_pods import allocations
from kubedev.views.picture import Picture
from kubedev.views.stream_ends import StreamEnd, stream_ends_picture
from kubedev.views.style import WIDTH
from kubedev.views.timeline import Sample
from kubedev.views.tray import tray_picture, turns

__all__ = ["edge_of_alignment", "stream_ends", "tray"]

_GPU = "example.com/gpu"
_LOST = (Sample(0, 4, 4), Sample(1, 4, 0), Sample(300, 4, 0), Sample(302, 0, 0))
_AGAIN = (Sample(0, 4, 4), Sample(1, 0, 0), Sample(300, 4, 4), Sample(302, 4, 4))


def stream_ends(width: float = WIDTH) -> Picture:
    """Lab 03: what the kubelet reads and counts after each of six ends."""
    errors = {
        "killed": "rpc error: code = Unavailable desc = error reading from server: EOF",
        "stopped": "EOF",
        "closed": "EOF",
        "too long": (
            "rpc error: code = ResourceExhausted desc = grpc: received message larger than max "
            "(4620000 vs. 4194304)"
        ),
        "kubelet restarts": "",
        "second registers": "EOF",
    }
    return stream_ends_picture([StreamEnd(w, e, _LOST if e else _AGAIN) for w, e in errors.items()], width)


def edge_of_alignment(width: float = WIDTH) -> Picture:
    """Lab 04: one device fewer than are aligned, just as many, one more."""
    devices = {f"d{i}": Device(f"d{i}", numa_nodes=(i // 4,)) for i in range(8)}
    cases = [(say("multiples.edge", needed=n, aligned=3), _decide(n, devices), devices) for n in (2, 3, 4)]
    return allocation_multiples(say("multiples.edge.title"), cases, width)


def _decide(needed: int, devices: dict[str, Device]) -> DevicesToAllocate:
    """d1 is in use, the mask is {0}, and the plugin wishes the last ones of what is offered."""
    state = with_plugin(DeviceManagerState(), _GPU, tuple(devices.values()), preferred=True)
    state = replace(state, allocated_devices={_GPU: frozenset({"d1"})})
    wish = {2: ("d2", "d3"), 4: ("d0", "d2", "d3", "d7")}
    asked = devices_to_allocate(state, DeviceRequest("web", "main", _GPU, needed), affinity=0b01)
    return converse(asked, lambda _: PreferredAllocationResponse((wish[needed],)))[1]


def tray(width: float = WIDTH) -> Picture:
    """Lab 07: two init containers, a sidecar and the app, on four devices."""

    def asks(name: str, count: int, policy: str | None = None) -> Container:
        return Container(name, limits={_GPU: Quantity.of(count)}, restart_policy=policy)

    inits, ids = (asks("load", 2), asks("check", 1), asks("proxy", 1, "Always")), ("d0", "d1", "d2", "d3")
    pod = Pod("web", uid="web", containers=(asks("app", 2),), init_containers=inits)
    state, decisions = allocations(pod, ids)
    shown = turns(pod, decisions, _GPU, frozenset(ids), state.devices_to_reuse["web"][_GPU])
    held = say("tray.held", count=len(state.allocated_devices[_GPU]), devices="d0, d1, d2")
    return tray_picture("web", shown, [say("tray.counted", count=3), held], len(shown), width=width)
