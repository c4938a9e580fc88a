"""The moments that `images/` shows of labs 03 and 04 side by side."""

from kubedev.api.messages import Device, DevicePluginOptions, PreferredAllocationResponse
from kubedev.kubelet.devices.allocation import DeviceRequest, DevicesToAllocate, devices_to_allocate
from kubedev.kubelet.devices.devices import DeviceManagerState
from kubedev.kubelet.devices.endpoint import Endpoint
from kubedev.views.allocation_multiples import allocation_multiples
from kubedev.views.catalogue import say
from kubedev.views.picture import Picture
from kubedev.views.stream_ends import StreamEnd, stream_ends_picture
from kubedev.views.style import WIDTH
from kubedev.views.timeline import Sample

__all__ = ["edge_of_alignment", "stream_ends"]

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
    state = DeviceManagerState(
        all_devices={_GPU: devices},
        healthy_devices={_GPU: frozenset(devices)},
        allocated_devices={_GPU: frozenset({"d1"})},
        connections={1: Endpoint(_GPU, "gpu.sock", "connected", DevicePluginOptions(False, True))},
        endpoints={_GPU: 1},
    )
    conversation = devices_to_allocate(state, DeviceRequest("web", "main", _GPU, needed), affinity=0b01)
    wish = {2: ("d2", "d3"), 4: ("d0", "d2", "d3", "d7")}
    try:
        state, _ = next(conversation)
        conversation.send((state, PreferredAllocationResponse((wish[needed],))))
    except StopIteration as end:
        decision: DevicesToAllocate = end.value[1]
        return decision
    raise AssertionError("the plugin is asked once at most")
