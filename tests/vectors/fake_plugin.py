"""The recorded plugins' ways to answer, and a driver that carries a conversation with them to its end."""

import re
from typing import Any

from kubedev.api.messages import (
    HEALTHY,
    UNHEALTHY,
    Answer,
    Call,
    ContainerPreferredAllocationRequest,
    Device,
    DevicePluginOptions,
    Empty,
    PreferredAllocationRequest,
    PreferredAllocationResponse,
    RegisterRequest,
    RpcError,
    converse,
)
from kubedev.kubelet.devices.devices import DeviceManagerState
from kubedev.kubelet.devices.registration import register
from kubedev.kubelet.topology.bitmask import mask_of


def devices(listed: list[dict[str, Any]]) -> tuple[Device, ...]:
    """The devices of a ListAndWatch message, from a vector's form of them."""
    return tuple(
        Device(
            d["id"],
            HEALTHY if d["healthy"] else UNHEALTHY,
            None if d["numa"] is None else tuple(d["numa"]),
        )
        for d in listed
    )


def mask(hint: list[int] | None) -> int | None:
    """A vector's NUMA mask as a number."""
    return None if hint is None else mask_of(hint)


def connect(
    state: DeviceManagerState, resource: str, client: int = 1, preferred: bool = True
) -> DeviceManagerState:
    """The state after a plugin registered and told its options."""
    options = DevicePluginOptions(get_preferred_allocation_available=preferred)
    request = RegisterRequest(endpoint="plugin.sock", resource_name=resource)
    state, error = converse(
        register(state, request, "/plugins", client),
        lambda call: Empty() if call.method == "Dial" else options,
    )
    assert error is None, error
    return state


def preferred_allocation(mode: str, request: ContainerPreferredAllocationRequest) -> Answer:
    """What the recorded plugin of this mode answers to GetPreferredAllocation."""
    available, must = sorted(request.available_device_ids), sorted(request.must_include_device_ids)
    rest = [id_ for id_ in available if id_ not in must]
    missing = max(request.allocation_size - len(must), 0)
    match mode:
        case "first":
            ids = must + rest[:missing]
        case "last":
            ids = must + rest[::-1][:missing]
        case "too_few":
            ids = rest[:1]
        case "too_many":
            ids = available
        case "outside":
            ids = ["zz-not-a-device", "d0", "d1", "d2"]
        case "empty":
            ids = []
        case "no_responses":
            return PreferredAllocationResponse()
        case "error":
            return RpcError("Unknown", "preferred failed")
        case _:
            raise ValueError(f"unknown mode of a plugin: {mode!r}")
    return PreferredAllocationResponse((tuple(ids),))


def plain(error: str | None) -> str | None:
    """An error as the recorded plugins gave it: in Go's process, not over gRPC, so without a code."""
    return None if error is None else error.replace("rpc error: code = Unknown desc = ", "")


def stopped(error: str | None) -> str | None:
    """An error with Go's print of a stopped plugin, an address among it, replaced by what the vectors have."""
    return (
        None
        if error is None
        else re.sub("endpoint .* has been stopped", "endpoint %v has been stopped", error)
    )


class Preferring:
    """A plugin that answers GetPreferredAllocation in a mode and remembers what it was asked."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.asked: list[dict[str, Any]] = []

    def __call__(self, call: Call) -> Answer:
        assert isinstance(call.request, PreferredAllocationRequest), call
        (request,) = call.request.container_requests
        answer = preferred_allocation(self.mode, request)
        ids: list[str] | None = None
        if isinstance(answer, PreferredAllocationResponse) and answer.container_responses:
            ids = sorted(answer.container_responses[0])
        self.asked.append(
            {
                "answer": ids,
                "available": sorted(request.available_device_ids),
                "must_include": sorted(request.must_include_device_ids),
                "size": request.allocation_size,
            }
        )
        return answer
