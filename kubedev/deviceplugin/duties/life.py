"""The duties of a plugin's life beside its kubelet: restarts of either, silence, and the end."""

from kubedev.api.messages import PreferredAllocationRequest, PreferredAllocationResponse
from kubedev.deviceplugin.duties.allocation import NO_DEVICE, in_time
from kubedev.deviceplugin.duties.duty import Duty, Finding, broken, fine, not_tried, warning
from kubedev.deviceplugin.duties.lists import ids_of, shown
from kubedev.deviceplugin.duties.seen import AWAY, Asked, Seen, failed

__all__ = ["DUTIES", "ODD"]

ODD = ("unknown", "empty")
"""Stages in which calls come that no kubelet makes."""

NOT_COME = "it did not come to it"
LEAK = 64 << 20  # bytes in 1,000 calls: more than such a pod's memory limit leaves
GROWTH = 2 << 20
SOON = 5.0  # seconds


def _stays_up(seen: Seen) -> Finding:
    if not seen.registered:
        return not_tried("it did not call Register")
    early = [end for end in seen.ended if end.stage not in (*ODD, *AWAY)]
    if early:
        return broken(f"{early[0]}, while the kubelet {_doing(early[0].stage)}")
    if not seen.started:
        return not_tried("it was not started here")
    return fine("it ran, but for where its kubelet went" if seen.ended else "it ran all the time")


def _doing(stage: str) -> str:
    return {"start": "let it in", "calls": "asked it for devices", "again": "let it in again"}.get(
        stage, "was there"
    )


def _preferred(seen: Seen) -> Finding:
    asked = seen.about("preferred")
    if not asked:
        return _without_preference(seen)
    return in_time(asked, seen)


def _without_preference(seen: Seen) -> Finding:
    let_in = seen.let_in()
    if let_in is None or let_in.options is None or let_in.options.get_preferred_allocation_available:
        return not_tried(NO_DEVICE if let_in else NOT_COME)
    return not_tried("its options do not ask for it")


def _choice(seen: Seen) -> Finding:
    """The kubelet uses of an answer what it can, so nothing fails; the plugin's wish does."""
    asked = [each for each in seen.about("preferred") if isinstance(each.answer, PreferredAllocationResponse)]
    if not asked:
        return not_tried(NOT_COME) if seen.about("preferred") else _without_preference(seen)
    for each in asked:
        if text := _unusable(each):
            return warning(f"{text}: the kubelet follows as far as it can, and then chooses by itself")
    return fine(f"{len(asked)} answers that can be followed")


def _unusable(asked: Asked) -> str | None:
    request, answer = asked.call.request, asked.answer
    assert isinstance(request, PreferredAllocationRequest)
    assert isinstance(answer, PreferredAllocationResponse)
    container = request.container_requests[0]
    if not answer.container_responses:
        return "the answer is empty"
    ids = answer.container_responses[0]
    offered, must = container.available_device_ids, container.must_include_device_ids
    if strange := [id_ for id_ in ids if id_ not in offered]:
        return f"{shown(strange)} was not offered"
    if missing := [id_ for id_ in must if id_ not in ids]:
        return f"{shown(missing)} must be included, and is not"
    if len(set(ids)) != container.allocation_size:
        return f"{len(set(ids))} devices where {container.allocation_size} were asked for"
    return None


def _pre_start(seen: Seen) -> Finding:
    if asked := seen.about("pre-start"):
        return in_time(asked, seen)
    let_in = seen.let_in()
    if let_in is None or let_in.options is None or let_in.options.pre_start_required:
        return not_tried(NO_DEVICE if let_in else NOT_COME)
    return not_tried("its options do not ask for it")


def _memory(seen: Seen) -> Finding:
    many = [error for each in seen.about("many") if (error := failed(each))]
    if many:
        return broken(
            f"after {seen.memory[-1].allocations if seen.memory else 0} calls Allocate failed: {many[0]}"
        )
    if len(seen.memory) < 3:
        return not_tried("its memory was not seen often enough")
    first, middle, last = seen.memory[0], seen.memory[len(seen.memory) // 2], seen.memory[-1]
    grown, late = last.resident - first.resident, last.resident - middle.resident
    text = f"{last.resident / 2**20:.0f} MiB after {last.allocations} calls"
    if late < GROWTH or late < 0.6 * (middle.resident - first.resident):
        return fine(f"{text}, and no steady growth")
    text += f", {grown / 2**20:.0f} MiB more than after {first.allocations}, and growing steadily"
    return broken(text) if grown >= LEAK else warning(text)


def _own_socket(seen: Seen) -> Finding:
    waited = seen.wait("own socket")
    if waited is None:
        return not_tried(NOT_COME)
    if ended := [end for end in seen.ended if end.stage == "own socket"]:
        return warning(f"{ended[0]}; a DaemonSet starts it again")
    if waited.came:
        return fine(f"noticed within {waited.seconds:.1f} s")
    text = f"not noticed within {waited.seconds:.0f} s"
    restart = seen.wait("restart")
    if restart is not None and not restart.came and not restart.cut:
        return broken(f"{text}, nor was a new kubelet.sock within {restart.seconds:.0f} s")
    return warning(f"{text}: its connection goes on, and nobody can make a new one")


def _restart(seen: Seen) -> Finding:
    waited = seen.wait("restart")
    if waited is None:
        return not_tried(NOT_COME)
    if not waited.came:
        text = f"it did not register with the new kubelet within {waited.seconds:.0f} s"
        return not_tried(f"{text}; there was no time to wait longer") if waited.cut else broken(text)
    after = seen.about("after restart")
    if after and (error := failed(after[-1])):
        return broken(f"it registered again, but Allocate failed then: {error}")
    text = f"it registered again after {waited.seconds:.1f} s"
    ended = [end for end in seen.ended if end.stage == "restart"]
    return warning(f"{ended[0]}, and registered when it was started again") if ended else fine(text)


def _renamed(seen: Seen) -> Finding:
    waited = seen.wait("renamed")
    if waited is None:
        return not_tried(NOT_COME)
    if waited.came:
        return fine(f"noticed within {waited.seconds:.1f} s")
    if waited.cut:
        return not_tried(f"not noticed within {waited.seconds:.0f} s; there was no time to wait longer")
    return warning(f"not noticed within {waited.seconds:.0f} s; a real kubelet does not rename")


def _silent(seen: Seen) -> Finding:
    waited = seen.wait("silent")
    if waited is None:
        return not_tried("it did not call the silent kubelet" if seen.wait("renamed") else NOT_COME)
    if not waited.came:
        text = f"it did not register with the next kubelet within {waited.seconds:.0f} s"
        return not_tried(f"{text}; there was no time to wait longer") if waited.cut else broken(text)
    if ended := [end for end in seen.ended if end.stage == "silent"]:
        return warning(f"{ended[0]}, and registered when it was started again")
    return fine(f"it registered with the next kubelet after {waited.seconds:.1f} s")


def _same_ids(seen: Seen) -> Finding:
    later: dict[
        str, frozenset[str]
    ] = {}  # all that was listed; some plugins send an empty list first, or last
    for listed in seen.listed:
        if listed.stage in ("restart", "silent", "again"):
            later[listed.stage] = later.get(listed.stage, frozenset()) | ids_of(listed.devices)
    first = ids_of(seen.devices())
    if not first or not any(later.values()):
        return not_tried("no device was listed after a restart")
    for new in later.values():
        if new and not first & new:
            return broken(
                f"none of {shown(sorted(first))} is listed after a restart, but {shown(sorted(new))}: pods that hold "
                "them cannot start their containers again"
            )
        if new and first - new:
            return warning(f"{shown(sorted(first - new))} is not listed any more after a restart")
    return fine("the same ids after each restart")


def _ends(seen: Seen) -> Finding:
    waited = seen.wait("end")
    if waited is None:
        return not_tried(NOT_COME if seen.started else "it was not started here")
    if not waited.came:
        text = f"it still ran {waited.seconds:.0f} s after SIGTERM"
        if waited.cut and waited.seconds < SOON:
            return not_tried("there was no time to wait for it")
        return (
            warning(f"{text}; there was no time to wait longer")
            if waited.cut
            else broken(f"{text}, and was killed")
        )
    text = f"it ended {waited.seconds:.1f} s after SIGTERM"
    return warning(text) if waited.seconds > SOON else fine(text)


def _left(seen: Seen) -> Finding:
    if seen.left is None:
        return not_tried(NOT_COME if seen.started else "it was not started here")
    waited = seen.wait("end")
    if seen.left and waited and not waited.came:
        return not_tried("it was killed")
    return warning(f"it left {shown(list(seen.left))} behind") if seen.left else fine("nothing is left")


def _again(seen: Seen) -> Finding:
    waited = seen.wait("again")
    if waited is None:
        return not_tried(NOT_COME if seen.started else "it was not started here")
    if waited.came:
        return fine(f"it registered {waited.seconds:.1f} s after it was started again")
    if ended := [end for end in seen.ended if end.stage == "again"]:
        return broken(str(ended[0]))
    text = f"it did not register within {waited.seconds:.0f} s after it was started again"
    return not_tried(f"{text}; there was no time to wait longer") if waited.cut else broken(text)


_MANAGER = "pkg/kubelet/cm/devicemanager/manager.go"
_ENDPOINT = "pkg/kubelet/cm/devicemanager/endpoint.go"
_RESTARTS = "kubernetes.io, Device Plugins: Handling kubelet restarts"
_TERMINATION = "kubernetes.io, Pod Lifecycle: Termination of Pods"

DUTIES = (
    Duty(
        "preferred-answer",
        "GetPreferredAllocation is answered in time where the options ask for it: an error refuses the pod.",
        f"{_MANAGER}: callGetPreferredAllocationIfAvailable; {_ENDPOINT}: getPreferredAllocation",
        "Answer it, or leave it out of the options.",
        "calls",
        _preferred,
    ),
    Duty(
        "preferred-choice",
        "The preferred devices are among those offered, as many as asked for, with those that must be included.",
        f"{_MANAGER}: devicesToAllocate (takes what it can of the preference)",
        "Choose from available_deviceIDs, begin with must_include_deviceIDs, and stop at allocation_size.",
        "calls",
        _choice,
    ),
    Duty(
        "pre-start",
        "PreStartContainer is answered within 30 s where the options ask for it.",
        f"{_ENDPOINT}: preStartContainer; v1beta1 constants.go: KubeletPreStartContainerRPCTimeoutInSecs",
        "Answer it, or leave it out of the options; the container is not started otherwise.",
        "calls",
        _pre_start,
    ),
    Duty(
        "memory",
        "Its memory stays flat over 1,000 calls of Allocate.",
        "kubernetes.io, Device Plugins: Device plugin implementation (it runs as long as its node)",
        "Keep nothing of an allocation.",
        "calls",
        _memory,
    ),
    Duty(
        "own-socket",
        "It notices that its own socket was removed, and serves and registers anew.",
        _RESTARTS,
        "Watch the socket directory for the removal of the plugin's own socket.",
        "restart",
        _own_socket,
    ),
    Duty(
        "kubelet-restart",
        "It registers again when the kubelet died and kubelet.sock was made anew, with its own socket removed.",
        f"{_RESTARTS}; {_MANAGER}: CleanupPluginDirectory",
        "Watch the socket directory; when kubelet.sock is created, listen on a new socket, then register.",
        "restart",
        _restart,
    ),
    Duty(
        "kubelet-renamed",
        "It also notices a kubelet.sock that was renamed into its place.",
        f"{_RESTARTS} (a new kubelet.sock, however it came)",
        "Look at moves into the directory as well (IN_MOVED_TO), or compare the file's inode.",
        "silent",
        _renamed,
    ),
    Duty(
        "kubelet-silent",
        "It survives a kubelet that takes its call of Register and dies without an answer.",
        _RESTARTS,
        "Give Register a deadline, and try again with the next kubelet, also after an error.",
        "silent",
        _silent,
    ),
    Duty(
        "ends",
        "It ends soon after SIGTERM: after 30 s it is killed.",
        _TERMINATION,
        "Handle SIGTERM: stop the server, not gracefully, since the kubelet keeps ListAndWatch open.",
        "end",
        _ends,
    ),
    Duty(
        "socket-left",
        "It removes its socket when it ends.",
        _TERMINATION,
        "Remove the socket at the end; the kubelet does so only at its own start.",
        "end",
        _left,
    ),
    Duty(
        "starts-again",
        "It starts again after its end, whatever it left behind, and registers.",
        "kubernetes.io, DaemonSet: How Daemon Pods are scheduled (one is started again where it ended)",
        "Remove a socket that lies there before listening.",
        "end",
        _again,
    ),
    Duty(
        "same-ids",
        "Devices keep their ids when the kubelet or the plugin is restarted.",
        f"{_MANAGER}: devicesToAllocate (previously allocated devices are no longer healthy)",
        "Make ids of what a device is (a serial number, a place on the bus), and not of the moment.",
        "whole",
        _same_ids,
    ),
    Duty(
        "stays-up",
        "It does not end by itself.",
        "kubernetes.io, Device Plugins: Device plugin implementation (it runs in serving mode)",
        "Look at its last words; a plugin that cannot go on may end when its kubelet went, and only then.",
        "whole",
        _stays_up,
    ),
)
