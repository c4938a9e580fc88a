"""What all devices of a claim, or of some of its requests, have to share.

Go: `k8s.io/dynamic-resource-allocation/structured/allocator.go: matchAttributeConstraint`.
"""

from kubedev.api.claims import DeviceConstraint
from kubedev.api.resource_slices import BasicDevice, DeviceAttribute, DeviceID

__all__ = ["MatchAttribute", "lookup_attribute"]


class MatchAttribute:
    """All devices have the same value of an attribute; one that has none never fits."""

    def __init__(self, constraint: DeviceConstraint) -> None:
        self.requests = frozenset(constraint.requests)
        self.name = constraint.match_attribute or ""
        self.value: DeviceAttribute | None = None
        self.devices = 0

    def allows(self, request: str, device: BasicDevice, id: DeviceID) -> bool:
        """Whether a device goes with those that are there. Go: `add`."""
        if not self.concerns(request):
            return True
        attribute = lookup_attribute(device, id, self.name)
        if attribute is None or self.devices == 0:
            return attribute is not None
        return bool(attribute.kind) and attribute == self.value

    def add(self, request: str, device: BasicDevice, id: DeviceID) -> None:
        """Take a device that goes with the others."""
        if self.concerns(request):
            if self.devices == 0:
                self.value = lookup_attribute(device, id, self.name)
            self.devices += 1

    def remove(self, request: str) -> None:
        """Give a device back that was taken."""
        self.devices -= self.concerns(request)

    def concerns(self, request: str) -> bool:
        """Whether the devices of a request count."""
        return not self.requests or request in self.requests


def lookup_attribute(device: BasicDevice, id: DeviceID, name: str) -> DeviceAttribute | None:
    """An attribute by its full name; one without a domain is in the driver's. Go: `lookupAttribute`."""
    if name in device.attributes:
        return device.attributes[name]
    domain, slash, short = name.partition("/")
    return device.attributes.get(short) if slash and domain == id.driver else None
