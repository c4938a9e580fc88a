"""The node agent: puts registration, device manager, admission and container starts together.

`step(state, event, now)` is the whole kubelet: it takes what happened and returns the state after it and what
is to be done in the world. Talking to plugins is a conversation (a generator); a generator is no value, so the
state keeps the answers received so far and the conversation is run again from them when the next one comes.

Source: `pkg/kubelet/kubelet.go: syncLoopIteration, HandlePodAdditions, rejectPod`. As there, pods are admitted
and deleted one at a time, so a plugin that never answers Allocate holds up every pod after it; containers of
admitted pods start side by side.
"""

from typing import Any

from kubedev.api.messages import Answer, Call, Conversation
from kubedev.api.objects import Pod
from kubedev.api.switches import CLAIMS_GATE
from kubedev.api.values import replace
from kubedev.kubelet import pod_resources
from kubedev.kubelet.admission import admit
from kubedev.kubelet.claims import FAILED, with_claims
from kubedev.kubelet.devices import device_manager, registration
from kubedev.kubelet.devices.capacity import pods_to_update
from kubedev.kubelet.events import (
    Answered,
    Ask,
    ClaimsChanged,
    CloseStream,
    ContainerExited,
    DriverRegistered,
    FiguresTaken,
    KubeletEvent,
    KubeletRestarted,
    ListReceived,
    NodeStatusDue,
    NodeUpdated,
    OpenStream,
    PluginRegistering,
    PodBound,
    PodDeleted,
    PodRemoved,
    PodResourcesAsked,
    PodResourcesReply,
    PodTerminated,
    Reply,
    SourcesReady,
    StopContainer,
    StreamEnded,
)
from kubedev.kubelet.kubelet_state import Effects, KubeletState, Stepped, Talk, new_kubelet
from kubedev.kubelet.looking import look
from kubedev.kubelet.memory.memory_manager import add_container
from kubedev.kubelet.node_status import restart, write_node_status
from kubedev.kubelet.pod_status import evict, evicted, status, tell, with_pod
from kubedev.kubelet.pods import (
    Admission,
    PodRecord,
    all_have_run,
    ended,
    held_back,
    moved,
    outcome,
    restarting,
    to_start,
    to_stop,
)
from kubedev.kubelet.starting import start_container
from kubedev.kubelet.topology.providers import within

__all__ = ["KubeletState", "Talk", "new_kubelet", "step"]


def step(state: KubeletState, event: KubeletEvent, now: float) -> Stepped:
    """The state after an event, and what is to be done in the world because of it. `now` is in seconds."""
    match event:
        case PluginRegistering():
            return _begin(replace(state, next_client=state.next_client + 1), event, now)
        case Answered(call_id, answer):
            return _go_on(state, call_id, answer, now)
        case ListReceived(client, devices):
            resource = registration.resource_of(state.devices, client)
            if resource is None:  # the stream of a client that has been replaced or disconnected
                return state, ()
            changed = pods_to_update(state.devices, resource, devices)
            state = replace(state, devices=device_manager.list_and_watch(state.devices, resource, devices))
            state, effects = write_node_status(state, now)
            statuses = [status(state, state.pods[uid]) for uid in changed if uid in state.pods]
            return state, (*effects, *statuses)
        case StreamEnded(client):
            manager, close = device_manager.stream_ended(state.devices, client, now)
            state, effects = write_node_status(replace(state, devices=manager), now)
            return state, tuple(CloseStream(c) for c in close) + effects
        case NodeStatusDue():
            return _chain(state, now, write_node_status, _try_again)
        case FiguresTaken():
            return _chain(state, now, lambda state, now: look(state, event, now), _room_made)
        case NodeUpdated(node):
            return replace(state, node=node), ()
        case PodBound() | PodDeleted() | PodRemoved() | SourcesReady():
            return _sync_loop(replace(state, waiting=(*state.waiting, event)), now)
        case ClaimsChanged(uid, claims):
            if uid in state.pods:
                state = with_pod(state, replace(state.pods[uid], claims=claims))
            return _try_again(state, now, FAILED)
        case DriverRegistered(driver):
            known = tuple(dict.fromkeys((*state.drivers, driver)))
            return _try_again(replace(state, drivers=known), now, FAILED)
        case PodResourcesAsked(request_id, request):
            state, told = pod_resources.answer(state, request)
            return state, (PodResourcesReply(request_id, told),)
        case ContainerExited(uid, container, exit_code):
            return _container_exited(state, uid, container, exit_code, now)
        case KubeletRestarted(checkpoint, reboot, config):
            return restart(state, checkpoint, reboot, now, config)


def _chain(state: KubeletState, now: float, *steps: Any) -> Stepped:
    effects: Effects = ()
    for each in steps:
        state, more = each(state, now)
        effects += more
    return state, effects


# Conversations


def _conversation(state: KubeletState, about: Any, now: float) -> Conversation[KubeletState, Any]:
    match about:
        case PluginRegistering(request=request):
            client = state.next_client - 1
            talk = registration.register(state.devices, request, state.socket_dir, client)
            return within(state, talk)
        case PodBound(pod):
            return admit(state, pod)
        case (uid, container):
            pod = state.pods[uid].pod
            talk_ = device_manager.get_device_run_container_options(
                state.devices,
                pod,
                _container(pod, container),
                state.active_pods(),
                state.affinities.get_affinity(uid, container).numa_node_affinity,
            )
            return within(state, talk_)
    raise TypeError(f"no conversation about {about!r}")


def _begin(state: KubeletState, about: Any, now: float) -> Stepped:
    return _run(state, Talk(about, state.next_call, Call("", "", ""), state), now)


def _go_on(state: KubeletState, call_id: int, answer: Answer, now: float) -> Stepped:
    if call_id not in state.talks:  # the kubelet restarted meanwhile
        return state, ()
    talk = state.talks[call_id]
    state = replace(state, talks={k: t for k, t in state.talks.items() if k != call_id})
    state, effects = _run(state, replace(talk, answers=(*talk.answers, (state, answer))), now)
    match talk.about:
        case (str() as uid, str() as container) if uid in state.pods and container in state.pods[uid].running:
            state, more = _sync_pod(state, uid, now)
            effects += more
    return state, effects


def _run(state: KubeletState, talk: Talk, now: float) -> Stepped:
    """Run a conversation again from its answers, up to its next call or its end."""
    conversation = _conversation(talk.begun, talk.about, now)
    try:
        reached, call = next(conversation)
        for answer in talk.answers:
            reached, call = conversation.send(answer)
    except StopIteration as done:
        reached, result = done.value
        return _finished(reached, talk, result, now)
    call_id = reached.next_call
    talk = replace(talk, call_id=call_id, call=call)
    return replace(reached, next_call=call_id + 1, talks={**reached.talks, call_id: talk}), (
        Ask(call_id, call),
    )


def _finished(state: KubeletState, talk: Talk, result: Any, now: float) -> Stepped:
    match talk.about:
        case PluginRegistering(register_id, request):
            client = talk.begun.next_client - 1
            if result is not None:
                return state, (Reply(register_id, request.resource_name, result),)
            socket = state.devices.connections[client].socket
            resource = request.resource_name
            return state, (Reply(register_id, resource, None), OpenStream(client, resource, socket))
        case PodBound(pod):
            return _admitted(state, pod.uid, result, now)
        case (str() as uid, str() as container):
            return _start(state, uid, container, result, now)
    raise TypeError(f"no conversation about {talk.about!r}")


# Pods


def _sync_loop(state: KubeletState, now: float) -> Stepped:
    """Take what waits, one after another, until an admission has to wait for a plugin, or for pods that go."""
    effects: Effects = ()
    while state.waiting and not (
        state.making_room or any(isinstance(t.about, PodBound) for t in state.talks.values())
    ):
        first = state.waiting[0]
        state = replace(state, waiting=state.waiting[1:])
        match first:
            case SourcesReady():
                state = replace(state, devices=device_manager.sources_ready(state.devices), found={})
                more: Effects = ()
            case PodDeleted(uid):
                state, more = _delete(state, uid)
            case PodRemoved(uid):
                state, more = _remove(state, uid)
            case PodBound():
                state, more = _bound(state, first, now)
        effects += more
    return state, effects


def _bound(state: KubeletState, event: PodBound, now: float) -> Stepped:
    """A pod comes, or comes again after a restart; one that is over or is to go is not admitted any more."""
    pod = event.pod
    record = replace(state.found.get(pod.uid, PodRecord(pod)), pod=pod, claims=event.claims)
    if pod.deletion_timestamp is not None:
        return _delete(with_pod(state, record), pod.uid)
    if pod.phase in ("Succeeded", "Failed"):
        if not record.running:
            return state, ()
        record = moved(record, "refused before the restart", pod.reason, pod.message)
        record = replace(record, told=(pod.phase, pod.reason, pod.message))
        return with_pod(state, record), tuple(StopContainer(pod.uid, name) for name in to_stop(record))
    return _begin(with_pod(state, moved(record, "its turn")), event, now)


def _admitted(state: KubeletState, uid: str, admission: Admission, now: float) -> Stepped:
    record = replace(state.pods[uid], admission=admission)
    if admission.preemption.victims and not state.making_room:
        state, effects = evict(replace(with_pod(state, record), making_room=uid), admission.preemption.kills)
        state, more = _room_made(state, now)
        return state, effects + more
    state = replace(state, making_room="")
    if admission.admit:
        state, effects = _sync_pod(with_pod(state, moved(record, "admitted")), uid, now)
    else:
        record = moved(record, "refused", admission.reason, f"Pod was rejected: {admission.message}")
        state, effects = tell(with_pod(state, record), uid)
    stops = tuple(StopContainer(uid, name) for name in to_stop(state.pods[uid]))
    state, more = _sync_loop(state, now)
    return state, effects + stops + more


def _room_made(state: KubeletState, now: float) -> Stepped:
    """Go on with the admission of a critical pod when those evicted for it have ended."""
    record = state.pods.get(state.making_room)
    if record is None or record.admission is None:
        return state, ()
    victims = [state.pods.get(pod.uid) for pod in record.admission.preemption.victims]
    if any(victim is not None and not victim.over for victim in victims):
        return state, ()
    return _admitted(state, record.pod.uid, record.admission, now)


def _sync_pod(state: KubeletState, uid: str, now: float) -> Stepped:
    """Begin to start the containers whose turn it is, and say what has become of the pod."""
    effects: Effects = ()
    # A start that needs no answer is over at once, and may bring the next one with it.
    while outcome(state.pods[uid]) is None and (due := to_start(state.pods[uid], now)):
        for container in due:
            record = restarting(state.pods[uid], container.name, now)
            state, more = _begin(with_pod(state, record), (uid, container.name), now)
            effects += more
            if state.pods[uid].waiting_for:
                break
        if state.pods[uid].waiting_for:
            break
    record = state.pods[uid]
    if record.phase == "Starting" and all_have_run(record):
        state, more = tell(with_pod(state, moved(record, "all containers run")), uid)
        record, effects = state.pods[uid], effects + more
    what = outcome(record)
    if what is not None and record.active and not record.running:
        record = moved(record, what)
    elif not record.waiting_for and (held := held_back(record, now)):
        record = replace(record, reason="CrashLoopBackOff", message=_back_off(record.pod, *held))
    state, more = tell(with_pod(state, record), uid)
    return state, effects + more


def _back_off(pod: Pod, container: str, seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    wait = f"{minutes}m{rest}s" if minutes else f"{rest}s"
    return (
        f"back-off {wait} restarting failed container={container} pod={pod.name}_{pod.namespace}({pod.uid})"
    )


def _start(state: KubeletState, uid: str, container: str, result: Any, now: float) -> Stepped:
    """The devices' part of a container's options is known, or an error: start it, or try again later."""
    record = state.pods.get(uid)
    if record is None or record.phase not in ("Starting", "Running"):
        return state, ()
    record = replace(record, starting=record.starting - {container})
    reason = "CreateContainerConfigError"
    if not isinstance(result, str) and CLAIMS_GATE in state.config.all_switches:
        asks = _container(record.pod, container)
        try:
            result = with_claims(result, record.pod, asks, dict(record.claims), state.drivers)
        except ValueError as error:
            reason, result = FAILED, f"Failed to prepare dynamic resources: {error}"
    if isinstance(result, str):
        record = replace(record, waiting_for=container, reason=reason, message=result)
        return tell(with_pod(state, record), uid)
    record = replace(record, running=record.running | {container}, reason="", message="", waiting_for="")
    state = replace(state, memory=add_container(state.memory, record.pod, container))
    started = start_container(record.pod, _container(record.pod, container), result)
    return with_pod(state, record), (started,)


def _try_again(state: KubeletState, now: float, reason: str = "") -> Stepped:
    """Look again at the pods of which a container could not start (for this reason only), or was held back."""
    effects: Effects = ()
    for uid, record in state.pods.items():
        waits = bool(record.waiting_for or record.reason) and reason in ("", record.reason)
        if record.phase in ("Starting", "Running") and waits:
            state = with_pod(state, replace(state.pods[uid], waiting_for=""))
            state, more = _sync_pod(state, uid, now)
            effects += more
    return state, effects


def _delete(state: KubeletState, uid: str) -> Stepped:
    record = state.pods.get(uid)
    if record is None:  # it had ended before the kubelet restarted
        return state, (PodTerminated(uid),)
    if record.phase == "Terminating":
        return state, ()
    if not record.running:
        return _gone(state, uid)
    after = moved(record, "deleted")
    stops = tuple(StopContainer(uid, name) for name in to_stop(after) if name not in to_stop(record))
    return with_pod(state, after), stops


def _remove(state: KubeletState, uid: str) -> Stepped:
    """End a pod that the API server has forgotten: another one may have its devices, though containers run still."""
    if uid not in state.pods:
        return state, ()
    return _delete(with_pod(state, replace(state.pods[uid], removed=True)), uid)


def _gone(state: KubeletState, uid: str) -> Stepped:
    return replace(state, pods={k: r for k, r in state.pods.items() if k != uid}), (PodTerminated(uid),)


def _container_exited(state: KubeletState, uid: str, container: str, exit_code: int, now: float) -> Stepped:
    before = state.pods.get(uid)
    if before is None:
        return state, ()
    record = ended(before, container, exit_code, now)
    state = with_pod(state, record)
    if record.phase == "Terminating" and not record.running:
        return _chain(state, now, lambda state, _: _gone(state, uid), _room_made)
    if record.phase == "Evicting" and not record.running:
        return _chain(state, now, lambda state, _: evicted(state, uid), _room_made)
    stops = tuple(StopContainer(uid, name) for name in to_stop(record) if name not in to_stop(before))
    if record.phase not in ("Starting", "Running"):
        return state, stops
    state, effects = _sync_pod(state, uid, now)
    return state, (*effects, *stops)


def _container(pod: Pod, name: str) -> Any:
    return next(c for c in (*pod.init_containers, *pod.containers) if c.name == name)
