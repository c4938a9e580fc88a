"""What the scheduler has seen of claims, classes and slices, what it assumes, and what is on its way.

Go: `pkg/scheduler/framework/plugins/dynamicresources/dra_manager.go`, `pkg/scheduler/util/assumecache`,
`k8s.io/dynamic-resource-allocation/resourceclaim/resourceclaim.go`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubedev.api.claims import DeviceClass, DeviceObject, ResourceClaim
from kubedev.api.gotext import quote
from kubedev.api.objects import Pod, PodResourceClaim
from kubedev.api.resource_slices import DeviceID, ResourceSlice
from kubedev.api.values import replace

__all__ = ["Claims", "claim_name_of", "is_made_for", "is_reserved_for", "pod_resource_claims"]


@dataclass(frozen=True, slots=True)
class Claims:
    """Objects by name (claims by `namespace/name`).

    `assumed` are claims as they were just written, until the watch shows them; `in_flight` those, by uid, whose
    devices are chosen but not written yet: nobody else gets these devices.
    """

    claims: Mapping[str, ResourceClaim] = field(default_factory=dict)
    classes: Mapping[str, DeviceClass] = field(default_factory=dict)
    slices: Mapping[str, ResourceSlice] = field(default_factory=dict)
    assumed: Mapping[str, ResourceClaim] = field(default_factory=dict)
    in_flight: Mapping[str, ResourceClaim] = field(default_factory=dict)

    def claim(self, key: str) -> ResourceClaim:
        """A claim by `namespace/name`, as it is assumed to be. Raises ValueError where it is not there."""
        found = self.assumed.get(key) or self.claims.get(key)
        if found is None:
            raise ValueError(f"could not find ResourceClaim {quote(key)}")
        return found

    def in_use(self) -> frozenset[DeviceID]:
        """The devices that are allocated, or about to be; those for administrators are free for others.

        Go: `ListAllAllocatedDevices`.
        """
        claims = {**self.claims, **self.assumed, **self.in_flight}
        return frozenset(
            device.id
            for claim in claims.values()
            if claim.allocation is not None
            for device in claim.allocation.devices
            if not device.admin_access
        )

    def offered(self) -> tuple[ResourceSlice, ...]:
        """The slices by name; in Go a lister has them in no order."""
        return tuple(self.slices[name] for name in sorted(self.slices))

    def seen(self, old: DeviceObject | None, new: DeviceObject | None) -> "Claims":
        """With an object as the watch shows it, or without one that is gone. A template is nothing to a scheduler.

        What was assumed of a claim lasts until the watch has come to it: news that are older are on their way.
        """
        one = new or old
        if isinstance(one, ResourceClaim):
            known = replace(self, claims=changed(self.claims, one.key, new))
            older = new is not None and self.assumed.get(one.key) not in (old, new)
            return known if older else replace(known, assumed=changed(self.assumed, one.key, None))
        if isinstance(one, DeviceClass):
            return replace(self, classes=changed(self.classes, one.name, new))
        if isinstance(one, ResourceSlice):
            return replace(self, slices=changed(self.slices, one.name, new))
        return self

    def assume(self, claim: ResourceClaim) -> "Claims":
        """With a claim as it was just written. Go: `AssumeClaimAfterAPICall`."""
        return replace(self, assumed={**self.assumed, claim.key: claim})

    def with_in_flight(self, claim: ResourceClaim) -> "Claims":
        """With a claim whose devices are chosen. Go: `SignalClaimPendingAllocation`."""
        return replace(self, in_flight={**self.in_flight, claim.uid: claim})

    def without_in_flight(self, uid: str) -> "Claims":
        """With a claim no more on its way. Go: `RemoveClaimPendingAllocation`."""
        return replace(self, in_flight=changed(self.in_flight, uid, None)) if uid in self.in_flight else self


def changed(known: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    """A mapping with another value, or (None) without the key."""
    if value is not None:
        return {**known, key: value}
    return {name: one for name, one in known.items() if name != key}


def claim_name_of(pod: Pod, claim: PodResourceClaim) -> str | None:
    """The name of the claim that one of a pod's stands for; None where none is needed. Go: `Name`.

    Raises ValueError while it is still to be made from its template.
    """
    if claim.resource_claim_name is not None:
        return claim.resource_claim_name
    who = f'pod "{pod.namespace}/{pod.name}"'
    if claim.resource_claim_template_name is None:
        raise ValueError(
            f"{who}, spec.resourceClaim {quote(claim.name)}: none of the supported fields are set"
        )
    if claim.name not in pod.resource_claim_statuses:
        raise ValueError(f"{who}: ResourceClaim not created yet")
    return pod.resource_claim_statuses[claim.name]


def is_made_for(pod: Pod, claim: ResourceClaim) -> bool:
    """Whether a claim was made for a pod, from a template. Go: `IsForPod`."""
    owner = next((one for one in claim.owner_references if one.controller), None)
    return claim.namespace == pod.namespace and owner is not None and owner.uid == pod.uid


def is_reserved_for(pod: Pod, claim: ResourceClaim) -> bool:
    """Whether a pod may use a claim. Go: `IsReservedForPod`."""
    return any(one.uid == pod.uid for one in claim.reserved_for)


def pod_resource_claims(pod: Pod, claims: Claims) -> Iterator[ResourceClaim]:
    """The claims of a pod, in its order. Raises ValueError where one is not there, or not its own.

    Go: `foreachPodResourceClaim`.
    """
    for named in pod.resource_claims:
        name = claim_name_of(pod, named)
        if name is None:
            continue
        claim = claims.claim(f"{pod.namespace}/{name}")
        if claim.deletion_timestamp is not None:
            raise ValueError(f"resourceclaim {quote(claim.name)} is being deleted")
        if named.resource_claim_name is None and not is_made_for(pod, claim):
            where = f"{pod.namespace}/{pod.name}"
            raise ValueError(f"ResourceClaim {claim.key} was not created for pod {where} (pod is not owner)")
        yield claim
