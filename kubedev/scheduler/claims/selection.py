"""What a request asks for, and which devices its selectors and its class' leave.

Go: `k8s.io/dynamic-resource-allocation/structured/allocator.go: Allocate, selectorsMatch`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubedev.api.cel import CompileError, EvaluationError, compile_selector, view_of
from kubedev.api.claims import DeviceClass, DeviceRequest, ResourceClaim
from kubedev.api.gotext import quote
from kubedev.api.resource_slices import DeviceID
from kubedev.scheduler.claims.pools import PoolDevice
from kubedev.scheduler.claims.steps import AllocationError, SelectorSaysNo

__all__ = ["Wanted", "refusal_of", "wanted_of"]


@dataclass(slots=True)
class Wanted:
    """A request with what is needed for it; `all` are its devices where it wants all."""

    claim: ResourceClaim
    request: DeviceRequest
    device_class: DeviceClass
    where: str
    count: int = 0
    all: tuple[PoolDevice, ...] | None = None
    selected: dict[DeviceID, bool] = field(default_factory=dict)


def wanted_of(claim: ResourceClaim, request: DeviceRequest, classes: Mapping[str, DeviceClass]) -> Wanted:
    """A request with its class, still without its number of devices. Raises AllocationError."""
    where = f"claim {claim.key}, request {request.name}"
    for i, selector in enumerate(request.selectors):
        if selector is None:
            raise AllocationError(
                f"{where}, selector #{i}: CEL expression empty (unsupported selector type?)"
            )
    if request.admin_access is not None:
        raise AllocationError(f"{where}: admin access is requested, but the feature is disabled")
    name = request.device_class_name
    if not name:
        raise AllocationError(f"{where}: missing device class name (unsupported request type?)")
    if name not in classes:
        problem = f"deviceclass.resource.k8s.io {quote(name)} not found"
        raise AllocationError(f"{where}: could not retrieve device class {name}: {problem}")
    return Wanted(claim, request, classes[name], where)


def refusal_of(wanted: Wanted, found: PoolDevice) -> SelectorSaysNo | None:
    """The first selector that is not true of a device. Go: `selectorsMatch`."""
    basic = found.device.basic
    assert basic is not None
    device_class = wanted.device_class
    view = None
    for name, where, selectors in (
        (device_class.name, f"class {device_class.name}", device_class.selectors),
        ("", f"claim {wanted.claim.key}", wanted.request.selectors),
    ):
        for i, expression in enumerate(selectors):
            text = expression or ""
            try:
                selector = compile_selector(text)
                view = view or view_of(found.id.driver, basic)
                if not selector.matches(view):
                    return SelectorSaysNo(name, i, text)
            except CompileError as error:
                problem = f"CEL compile error: {error.text(text)}"
                raise AllocationError(f"{where}: selector #{i}: {problem}") from None
            except EvaluationError as error:
                raise AllocationError(f"{where}: selector #{i}: CEL runtime error: {error}") from None
    return None
