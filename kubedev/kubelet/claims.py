"""Claims for devices on the node: what of them reaches a container, and why a pod cannot start with them.

Source: `pkg/kubelet/cm/dra/manager.go: prepareResources, GetResources`. There is no gRPC: the driver's answer is a
function's. Nothing is kept over a restart, since nothing has to be asked again.
"""

from collections.abc import Collection, Mapping
from itertools import groupby

from kubedev.api.claims import DeviceResult, ResourceClaim
from kubedev.api.gotext import quote
from kubedev.api.objects import Container, Pod
from kubedev.api.values import replace
from kubedev.deviceplugin.driver import prepared
from kubedev.kubelet.devices.run_options import DeviceRunContainerOptions

__all__ = ["FAILED", "with_claims"]

FAILED = "FailedPrepareDynamicResources"


def with_claims(
    options: DeviceRunContainerOptions | None,
    pod: Pod,
    container: Container,
    claims: Mapping[str, ResourceClaim],
    drivers: Collection[str],
) -> DeviceRunContainerOptions | None:
    """A container's options with the devices that it claims. Raises ValueError where the pod's are not ready.

    `claims` are by the pod's name for them, `drivers` those that have registered.
    """
    results = {name: ready(pod, name, claims, drivers) for name in (one.name for one in pod.resource_claims)}
    for name, request in container.claims:
        wanted = [one for one in results.get(name, ()) if request in ("", one.request)]
        for driver, devices in groupby(wanted, lambda one: one.driver):
            names, envs = prepared(driver, name, list(devices))
            options = options or DeviceRunContainerOptions()
            options = replace(
                options, envs=(*options.envs, *envs), cdi_devices=(*options.cdi_devices, *names)
            )
    return options


def ready(
    pod: Pod, name: str, claims: Mapping[str, ResourceClaim], drivers: Collection[str]
) -> tuple[DeviceResult, ...]:
    """The devices of one of a pod's claims, once it is allocated, reserved for the pod, and its drivers are there."""
    named = next(one for one in pod.resource_claims if one.name == name)
    called = named.resource_claim_name or pod.resource_claim_statuses.get(name)
    if called is None and name in pod.resource_claim_statuses:
        return ()  # none is needed
    if called is None:
        who = f'pod "{pod.namespace}/{pod.name}"'
        raise ValueError(f"prepare resource claim: {who}: ResourceClaim not created yet")
    claim = claims.get(name)
    if claim is None:
        missing = f"resourceclaims.resource.k8s.io {quote(called)} not found"
        raise ValueError(f"failed to fetch ResourceClaim {called} referenced by pod {pod.name}: {missing}")
    if all(one.uid != pod.uid for one in claim.reserved_for):
        what = f"resource claim {claim.name}({claim.uid})"
        raise ValueError(f"pod {pod.name}({pod.uid}) is not allowed to use {what}")
    if claim.allocation is None:
        raise ValueError(f"locked cache operation: claim {claim.key}: not allocated")
    for one in claim.allocation.devices:
        if one.driver not in drivers:
            missing = f"plugin name {one.driver} not found in the list of registered DRA plugins"
            raise ValueError(f"failed to get gRPC client for driver {one.driver}: {missing}")
    return claim.allocation.devices
