"""The duties of Allocate: each healthy device can be had, alone and with others, and a container gets what it needs."""

import re
from collections.abc import Iterator

from kubedev.api.messages import AllocateRequest, AllocateResponse, ContainerAllocateResponse
from kubedev.deviceplugin.duties.duty import Duty, Finding, broken, fine, not_tried, warning
from kubedev.deviceplugin.duties.lists import TOO_LARGE
from kubedev.deviceplugin.duties.seen import Asked, Seen, failed

__all__ = ["DUTIES", "NO_DEVICE", "in_time"]

NO_DEVICE = "there was no healthy device to try it with"
SLOW = 5.0  # seconds

_CDI = re.compile(
    r"(?P<vendor>[A-Za-z](?:[\w.-]*[A-Za-z0-9])?)/(?P<cls>[A-Za-z](?:[\w.-]*[A-Za-z0-9])?)"
    r"=(?P<name>[A-Za-z0-9](?:[\w.:-]*[A-Za-z0-9])?)",
    re.ASCII,
)


def in_time(asked: tuple[Asked, ...], seen: Seen) -> Finding:
    """How calls went that must be answered: the first that failed, or the slowest."""
    if not asked:
        return not_tried(NO_DEVICE)
    for each in asked:
        error = failed(each)
        if error is not None and TOO_LARGE not in error.message:
            if error.code == "DeadlineExceeded":
                return broken(f"{_call(each)} was not answered within {each.seconds:.0f} s")
            return broken(f"{_call(each)} was refused: {error}")
    slowest = max(asked, key=lambda each: each.seconds)
    if slowest.seconds > SLOW:
        return warning(
            f"{_call(slowest)} took {slowest.seconds:.1f} s, for which the kubelet admits no other pod"
        )
    return fine(f"{len(asked)} answered, the slowest in {slowest.seconds * 1000:.0f} ms")


def _call(asked: Asked) -> str:
    request = asked.call.request
    if isinstance(request, AllocateRequest):
        ids = [id_ for container in request.container_requests for id_ in container]
        return f"Allocate of {ids[0]!r}" if len(ids) == 1 else f"Allocate of {len(ids)} devices"
    return asked.call.method


def _one(seen: Seen) -> Finding:
    return in_time(seen.about("one"), seen)


def _again(seen: Seen) -> Finding:
    return in_time(seen.about("again"), seen)


def _all(seen: Seen) -> Finding:
    return _several(seen, "all")


def _together(seen: Seen) -> Finding:
    return _several(seen, "together")


def _several(seen: Seen, why: str) -> Finding:
    asked = seen.about(why)
    if not asked and seen.about("one"):
        return not_tried("there was one device" if len(seen.about("one")) == 1 else "it did not come to it")
    return in_time(asked, seen)


def _odd(seen: Seen, why: str) -> tuple[list[Asked], Finding | None]:
    """The calls of a kind that no kubelet makes; a finding where the plugin did not outlive them."""
    asked = list(seen.about(why))
    ended = [end for end in seen.ended if end.stage == why]
    if ended:
        return asked, warning(f"{ended[0]}. No kubelet of this version sends that")
    hung = [each for each in asked if (error := failed(each)) and error.code == "DeadlineExceeded"]
    if hung:
        return asked, warning(
            f"it was not answered within {hung[0].seconds:.0f} s. No kubelet of this version sends that"
        )
    return asked, None


def _empty(seen: Seen) -> Finding:
    asked, finding = _odd(seen, "empty")
    if finding or not asked:
        return finding or not_tried("it did not come to it")
    refused = [error for each in asked if (error := failed(each))]
    return fine(f"refused: {refused[0]}" if refused else "answered")


def _unknown(seen: Seen) -> Finding:
    asked, finding = _odd(seen, "unknown")
    if finding or not asked:
        return finding or not_tried("it did not come to it")
    error = failed(asked[0])
    if error is None:
        return warning("an id that was never listed is allocated like any other")
    return fine(f"refused: {error}")


def _one_answer(seen: Seen) -> Finding:
    answered = [(each, each.answer) for each in seen.asked if isinstance(each.answer, AllocateResponse)]
    finding: Finding | None = None
    for asked, answer in answered:
        request = asked.call.request
        if asked.why in ("unknown", "empty") or not isinstance(request, AllocateRequest):
            continue
        want, got = len(request.container_requests), len(answer.container_responses)
        if want == got:
            continue
        text = f"{_call(asked)} for {want} container{'s' * (want > 1)} was answered for {got}"
        if want > 1:  # the kubelet asks for one at a time
            finding = finding or warning(text)
        elif not got:
            return broken(f"{text}; the kubelet: no containers return in allocation response")
        elif any(_lost(answer.container_responses[0], more) for more in answer.container_responses[1:]):
            return broken(f"{text}: the kubelet takes the first, and what the others hold is lost")
        else:
            finding = finding or warning(text)
    return finding or (fine("one for each") if answered else not_tried(NO_DEVICE))


def _lost(first: ContainerAllocateResponse, more: ContainerAllocateResponse) -> bool:
    """Whether an answer holds anything that the first one does not."""
    return any(
        set(getattr(more, part)) - set(getattr(first, part))
        for part in ("envs", "mounts", "devices", "annotations", "cdi_devices")
    )


def _twice(seen: Seen) -> Finding:
    finding: Finding | None = None
    tried = False
    for asked, response in seen.answers():
        tried = True
        for kind, place, sources in _places(response):
            if len(sources) < 2:
                continue
            text = f"{_call(asked)}: {kind} {place!r} stands there {len(sources)} times"
            if len(set(sources)) > 1:
                return broken(
                    f"{text}, for {' and '.join(map(repr, dict.fromkeys(sources)))}: one of them is lost"
                )
            finding = finding or warning(f"{text}: the kubelet takes it once")
    return finding or (fine("everything once") if tried else not_tried(NO_DEVICE))


def _places(response: ContainerAllocateResponse) -> Iterator[tuple[str, str, list[str]]]:
    """Each place in the container, with what is to be there."""
    kinds = (
        ("the device", [(device.container_path, device.host_path) for device in response.devices]),
        ("the mount", [(mount.container_path, mount.host_path) for mount in response.mounts]),
        ("the CDI device", [(name, name) for name in response.cdi_devices]),
    )
    for kind, pairs in kinds:
        places: dict[str, list[str]] = {}
        for place, source in pairs:
            places.setdefault(place, []).append(source)
        yield from ((kind, place, sources) for place, sources in places.items())


def _cdi(seen: Seen) -> Finding:
    names = dict.fromkeys(name for _, response in seen.answers() for name in response.cdi_devices)
    if not names:
        return not_tried("it names no CDI device")
    if wrong := [name for name in names if not _CDI.fullmatch(name)]:
        return broken(f"{wrong[0]!r} is not VENDOR/CLASS=NAME: the runtime does not start the container")
    return fine(", ".join(list(names)[:3]))


_MANAGER = "pkg/kubelet/cm/devicemanager/manager.go"
_OPTIONS = "pkg/kubelet/cm/devicemanager/pod_devices.go: deviceRunContainerOptions"
_REFUSED = (
    "A pod whose Allocate fails is refused with UnexpectedAdmissionError: answer for every healthy device."
)

DUTIES = (
    Duty(
        "allocate-one",
        "Allocate is answered for every healthy device alone.",
        f"{_MANAGER}: allocateContainerResources",
        _REFUSED,
        "calls",
        _one,
    ),
    Duty(
        "allocate-again",
        "A device can be allocated again: nobody tells a plugin that a pod has given it back.",
        f"{_MANAGER}: UpdateAllocatedDevices (no call to the plugin)",
        "Keep no record of what is in use; the kubelet has it.",
        "calls",
        _again,
    ),
    Duty(
        "allocate-all",
        "Allocate is answered for all healthy devices together, in one container.",
        f"{_MANAGER}: devicesToAllocate, allocateContainerResources",
        _REFUSED,
        "calls",
        _all,
    ),
    Duty(
        "allocate-together",
        "Calls of Allocate for different devices that come at the same time are all answered.",
        f"{_MANAGER}: GetDeviceRunContainerOptions (called for several pods at a time)",
        "Guard what calls share, and hold no lock while waiting.",
        "calls",
        _together,
    ),
    Duty(
        "one-answer",
        "Allocate answers once a container, however many devices it gets.",
        f"{_MANAGER}: allocateContainerResources (ContainerResponses[0])",
        "Gather all of a container's devices in one ContainerAllocateResponse.",
        "calls",
        _one_answer,
    ),
    Duty(
        "no-duplicates",
        "No device, mount or CDI name stands twice in a container's answer.",
        _OPTIONS,
        "Add what devices have in common once.",
        "calls",
        _twice,
    ),
    Duty(
        "cdi-names",
        "CDI devices are named VENDOR/CLASS=NAME.",
        "tags.cncf.io/container-device-interface/pkg/parser/parser.go: ParseQualifiedName",
        "Write names such as vendor.com/gpu=0: letters, digits, _ . - (and : in NAME), ending in a letter or digit.",
        "calls",
        _cdi,
    ),
    Duty(
        "allocate-unknown",
        "Allocate refuses an id that was never listed, and the plugin runs on.",
        "v1beta1 api.proto: Allocate",
        "Return an error for ids that are not in the list.",
        "calls",
        _unknown,
    ),
    Duty(
        "allocate-empty",
        "An Allocate without devices, or without containers, does not end the plugin.",
        f"{_MANAGER}: allocateContainerResources (never sends one)",
        "Do not reach for the first element of a list that may be empty.",
        "calls",
        _empty,
    ),
)
