"""What lab 02 says of its own: added to the catalogue."""

from kubedev.views.catalogue import register

__all__ = ["TEXTS"]

TEXTS = {
    "hand.accepted": "accepted",
    "hand.waiting": "no answer yet",
    "hand.step": "{step}: {outcome}",
    "hand.done": "done",
    "numbers": "capacity {capacity}, allocatable {allocatable}",
    "numbers.none": "no key on the node",
    "registration.refused": "Refused: {error}",
    "registration.call.stream-ended": "stream ended",
    "registration.call.ok": "ok",
    "registration.call.list": "list",
    "registration.call.devices": "{count} devices: {devices}",
    "registration.call.devices.one": "1 device: {devices}",
    "registration.call.closed": "closed by the kubelet",
    "registration.then.answered": "Register has been answered with ok: nobody tells the plugin what comes after.",
    "registration.then.logged": "In the kubelet's log, and nowhere else: {error}",
    "registration.options": "pre-start {pre_start}, preferred allocation {preferred}",
    # Checks.
    "check.not-registered": "no plugin of {resource} is registered with the kubelet that runs on {node} now. {why}",
    "check.dialing": (
        "{socket}: the kubelet of {node} dials it since Register was called, and nobody listens there yet"
    ),
    "check.stopped": "the plugin of {resource} on {socket} is stopped: the kubelet of {node} reads no list of it",
    "check.no-device": "device {device} of {resource} is not on {node}",
    "check.device-sick": "device {device} of {resource} on {node} is unhealthy",
    "check.superseded": (
        "two plugins claim {resource} on {node}: {older} was superseded by {newer}, and their lists are not added up"
    ),
    "check.refused-last": "Its last Register was refused: {error}",
}

register(TEXTS)
