"""The duties of ListAndWatch: a list at once, again when something changed, and devices that keep their names."""

from collections import Counter
from itertools import pairwise

from kubedev.api.messages import HEALTHY, UNHEALTHY, Device
from kubedev.api.protowire import list_size
from kubedev.deviceplugin.duties.duty import Duty, Finding, broken, fine, not_tried, warning
from kubedev.deviceplugin.duties.registration import NOT_LET_IN
from kubedev.deviceplugin.duties.seen import AWAY, Listed, Seen, StreamEnd

__all__ = ["DUTIES", "NO_LIST", "TOO_LARGE", "shown"]

NO_LIST = "no list came"
TOO_LARGE = "received message larger than max"
LONGEST_ID = 63
SOON = 3.0  # seconds


def shown(ids: list[str]) -> str:
    """A few of the ids, and how many more there are."""
    more = f" and {len(ids) - 4} more" if len(ids) > 5 else ""
    return ", ".join(map(repr, ids[:4] if more else ids)) + more


def _first(seen: Seen) -> Finding:
    if seen.let_in() is None:
        return not_tried(NOT_LET_IN)
    if not seen.listed:
        if _too_large(seen):
            return not_tried("its list was too large")
        if seen.stream_ends:
            return broken(f"ListAndWatch ended before a list came: {seen.stream_ends[0].error}")
        if seen.ended:
            return not_tried(str(seen.ended[0]))
        return broken(f"no list came within {seen.limits.list:g} s after ListAndWatch was called")
    first = seen.listed[0]
    if not seen.devices():
        return warning("the list has no devices: what needs one cannot be tried")
    healthy = sum(device.health == HEALTHY for device in first.devices)
    text = f"{len(first.devices)} devices, {healthy} of them healthy, after {first.seconds:.1f} s"
    return warning(text) if first.seconds > SOON else fine(text)


def _stream(seen: Seen) -> Finding:
    if seen.let_in() is None:
        return not_tried(NOT_LET_IN)
    if not seen.listed:
        return not_tried(NO_LIST)
    ends = [
        end
        for end in seen.stream_ends
        if TOO_LARGE not in end.error and not (end.again and end.stage in AWAY)
    ]
    lasting = [end for end in ends if not end.again]
    if lasting:
        return broken(f"it ended ListAndWatch ({lasting[0].error}) and did not register again")
    if ends:
        return warning(f"it ended ListAndWatch ({ends[0].error}), and registered again after that")
    return fine("it stayed open")


def _too_large(seen: Seen) -> StreamEnd | None:
    return next((end for end in seen.stream_ends if TOO_LARGE in end.error), None)


def _size(seen: Seen) -> Finding:
    if end := _too_large(seen):
        return broken(f"the stream ended with: {end.error}")
    for asked in seen.asked:
        if TOO_LARGE in str(asked.answer):
            return broken(f"{asked.call.method} ended with: {asked.answer}")
    if not seen.listed:
        return not_tried(NO_LIST)
    return fine(f"{max(list_size(listed.devices) for listed in seen.listed):,} bytes at most")


def _ids(seen: Seen) -> Finding:
    if not seen.devices():
        return not_tried("no device was listed" if seen.listed else NO_LIST)
    for listed in seen.listed:
        counts = Counter(device.id for device in listed.devices)
        if twice := [id_ for id_, count in counts.items() if count > 1]:
            return broken(
                f"{shown(twice)} listed more than once: the kubelet has {len(counts)} devices, and not "
                f"{len(listed.devices)}"
            )
    ids = [device.id for device in seen.devices()]
    if "" in ids:
        return warning("a device has an empty id")
    if long := [id_ for id_ in ids if len(id_) > LONGEST_ID]:
        return warning(f"{shown(long)} has more than {LONGEST_ID} characters")
    return fine(shown(ids))


def _health(seen: Seen) -> Finding:
    """Whether each health is a word that the kubelet knows, and whether devices that turned unhealthy came back."""
    if not seen.devices():
        return not_tried("no device was listed" if seen.listed else NO_LIST)
    words = dict.fromkeys(device.health for listed in seen.listed for device in listed.devices)
    for word in words:
        if word != HEALTHY and word.strip().lower() == HEALTHY.lower():
            return broken(f"health {word!r} counts as unhealthy: no pod will ever get the device")
    if finding := _after_restart(seen):
        return finding
    if strange := [word for word in words if word not in (HEALTHY, UNHEALTHY)]:
        return warning(f"health {strange[0]!r} is unhealthy to the kubelet, as is every other text")
    last = {device.id: device.health for device in seen.listed[-1].devices}
    left = [id_ for id_ in _once_unhealthy(seen) if last.get(id_, HEALTHY) != HEALTHY]
    if left:
        return warning(f"{shown(left)} turned unhealthy while it was tried, and did not come back")
    came_back = _once_unhealthy(seen)
    return fine(
        f"{shown(came_back)} turned unhealthy and came back" if came_back else "no device changed its health"
    )


def _once_unhealthy(seen: Seen) -> list[str]:
    found: dict[str, None] = {}
    for before, after in pairwise(seen.listed):
        health = {device.id: device.health for device in after.devices}
        for device in before.devices:
            if device.health == HEALTHY and health.get(device.id, HEALTHY) != HEALTHY:
                found[device.id] = None
    return list(found)


def _after_restart(seen: Seen) -> Finding | None:
    """All were healthy, and none is since the kubelet was restarted: its new node status has nothing to give."""
    waited = seen.wait("healthy again")
    if waited is None or waited.came:
        return None
    text = f"no device is healthy {waited.seconds:.0f} s after the kubelet's restart, and all were before"
    return warning(text) if waited.cut else broken(text)


def _topology(seen: Seen) -> Finding:
    if not seen.devices():
        return not_tried("no device was listed" if seen.listed else NO_LIST)
    devices = [device for listed in seen.listed for device in listed.devices]
    placed = [device for device in devices if device.numa_nodes]
    for device in placed:
        if wrong := [node for node in device.numa_nodes or () if not 0 <= node < 64]:
            return broken(
                f"{device.id!r} is on NUMA node {wrong[0]}: a kubelet with the policy restricted or single-numa-node "
                "refuses every pod that asks for it"
            )
    for device in placed:
        nodes = device.numa_nodes or ()
        if len(set(nodes)) < len(nodes):
            return warning(f"{device.id!r} names a NUMA node twice")
    nodes_ = sorted({node for device in placed for node in device.numa_nodes or ()})
    return fine(f"NUMA nodes {', '.join(map(str, nodes_))}" if nodes_ else "no device names a NUMA node")


def _on_change(seen: Seen) -> Finding:
    if not seen.listed:
        return not_tried(NO_LIST)
    same = sum(
        before.stream == after.stream and _content(before) == _content(after)
        for before, after in pairwise(seen.listed)
    )
    if same:
        times = "once" if same == 1 else f"{same} times"
        return warning(f"the same list came again, {times}: each makes the kubelet write its checkpoint")
    return fine("no list came without a change")


def _content(listed: Listed) -> list[tuple[str, str, tuple[int, ...]]]:
    """A list whatever its order, which means nothing."""
    return sorted((d.id, d.health, tuple(sorted(d.numa_nodes or ()))) for d in listed.devices)


def ids_of(devices: tuple[Device, ...]) -> frozenset[str]:
    """The ids in a list."""
    return frozenset(device.id for device in devices)


_MANAGER = "pkg/kubelet/cm/devicemanager/manager.go"
_CLIENT = "pkg/kubelet/cm/devicemanager/plugin/v1beta1/client.go"

DUTIES = (
    Duty(
        "list-at-once",
        "ListAndWatch sends the list of all devices at once: until then the node has none.",
        f"{_CLIENT}: Run; {_MANAGER}: genericDeviceUpdateCallback",
        "Send the list as soon as ListAndWatch is called, before waiting for anything.",
        "start",
        _first,
    ),
    Duty(
        "device-ids",
        "Every device has an id of its own, of at most 63 characters.",
        f"{_MANAGER}: genericDeviceUpdateCallback (devices are kept by id); v1beta1 api.proto: Device",
        "Make ids unique within the resource; devices that are shared need one id for each share.",
        "start",
        _ids,
    ),
    Duty(
        "topology",
        "NUMA nodes are numbers from 0 on; a device without one has no topology.",
        "pkg/kubelet/cm/devicemanager/topology_hints.go: generateDeviceTopologyHints",
        "Leave the topology out where the system says -1.",
        "start",
        _topology,
    ),
    Duty(
        "list-stream",
        "ListAndWatch stays open: when it ends, the kubelet takes all devices for unhealthy.",
        f"{_CLIENT}: Run; {_MANAGER}: PluginDisconnected",
        "Do not return from ListAndWatch while the plugin runs.",
        "whole",
        _stream,
    ),
    Duty(
        "list-on-change",
        "The list is sent again when something changed, and only then.",
        f"{_MANAGER}: genericDeviceUpdateCallback, writeCheckpoint",
        "Compare before sending, rather than sending on a timer.",
        "whole",
        _on_change,
    ),
    Duty(
        "health",
        "A device is Healthy or Unhealthy, in these letters, and a device that has recovered is Healthy again.",
        f"{_MANAGER}: genericDeviceUpdateCallback; v1beta1 constants.go: Healthy, Unhealthy",
        "Send the list with the new health when a device fails, and again when it has recovered.",
        "whole",
        _health,
    ),
    Duty(
        "message-size",
        "A message has less than 4 MiB: a larger one ends the stream or the call.",
        "google.golang.org/grpc/clientconn.go: defaultClientMaxReceiveMessageSize",
        "List fewer devices, or give them shorter ids.",
        "whole",
        _size,
    ),
)
