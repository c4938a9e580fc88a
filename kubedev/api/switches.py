"""The named switches: where kubedev can do something else than Kubernetes v1.32.10 does.

Without a switch the behaviour is v1.32.10's, faults included. A switch mostly bears the number of the
issue or pull request, so that a lab can show both and a reader can look it up; the others are feature gates.

One difference has no switch: a quantity of more than 10,000 digits, written out, is refused, since Go computes with it
for minutes and a manifest could stop everybody that way (`quantity.MAX_LENGTH`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["CLAIMS_GATE", "SWITCHES", "Switch", "check_switches"]

CLAIMS_GATE = "DynamicResourceAllocation"
"""The feature gate of claims for devices: of all kinds in resource.k8s.io, and of what pods say of claims."""


@dataclass(frozen=True, slots=True)
class Switch:
    """One switch: what it is about, what v1.32.10 does, and what happens with the switch on."""

    name: str
    title: str
    default: str
    on: str


_ALL = (
    Switch(
        "121994",
        "A superseded plugin connection",
        "The end of an old connection disconnects the newer one, an old stream's list overwrites the newer "
        "one's, and a refused second registration makes the kubelet forget the first one's connection.",
        "Connections are told apart: an old one's lists and end mean nothing, and a refused registration "
        "changes nothing.",
    ),
    Switch(
        "130145",
        "Devices marked for a container that was then refused",
        "When GetPreferredAllocation fails or Allocate answers without a container, devices taken so far "
        "stay marked as allocated until a dead pod's record is removed or the kubelet restarts.",
        "The marks are taken back at once.",
    ),
    Switch(
        "126943",
        "Whether a checkpoint exists",
        "Any file of the plugin directory counts as a checkpoint, kubelet.sock too, so that a new machine "
        "under an old node's name keeps the old machine's counts.",
        "Only kubelet_internal_checkpoint counts; without it extended resources are set to 0 at start.",
    ),
    Switch(
        "128684",
        "Quantities beyond 64 bits",
        "Sums and milli-units of huge quantities wrap as int64 does, so that a pod asking for 50E of memory "
        "can be scheduled.",
        "The arithmetic is plain: such a pod never fits.",
    ),
    Switch(
        "129078",
        "A running pod with CPUs of its own, under full-pcpus-only, after a restart of the kubelet",
        "It is judged as if it came anew: if fewer whole cores are free than it has already, it is refused.",
        "A container that has its CPUs keeps them.",
    ),
    Switch(
        CLAIMS_GATE,
        "A feature gate, beta and off in v1.32",
        "Nobody knows the kinds of resource.k8s.io, and a pod's resourceClaims are dropped.",
        "Claims for devices are stored, allocated by the scheduler, and prepared by the kubelet.",
    ),
    Switch(
        "ResourceHealthStatus",
        "A feature gate, alpha and off in v1.32",
        "A device's health is not shown in the status of the pod that holds it.",
        "Each container's status lists its devices with their health.",
    ),
    Switch(
        "KubeletPodResourcesGet",
        "A feature gate, alpha and off in v1.32",
        "The call Get of the PodResources API is refused.",
        "It answers for one pod.",
    ),
)

SWITCHES: Mapping[str, Switch] = {switch.name: switch for switch in _ALL}


def check_switches(names: Iterable[str]) -> frozenset[str]:
    """The names as a set; ValueError where one of them is no switch."""
    chosen = frozenset(names)
    unknown = sorted(chosen - SWITCHES.keys())
    if unknown:
        known = ", ".join(sorted(SWITCHES))
        raise ValueError(f"expected switches among {known}; got {', '.join(unknown)}: correct or remove them")
    return chosen
