"""Register as a conversation that is advanced one call at a time, in v1.32 and as it was in v1.21."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kubedev.api.messages import (
    VERSION,
    Answer,
    Call,
    DevicePluginOptions,
    Dial,
    Empty,
    RegisterRequest,
    RpcError,
)
from kubedev.kubelet.devices.devices import DeviceManagerState
from kubedev.kubelet.devices.endpoint import PLUGIN_PHASES, Phase
from kubedev.kubelet.devices.registration import register, socket_path, validate
from kubedev.lab.registration_scene import KUBELET, asked, options_words
from kubedev.views.catalogue import say
from kubedev.views.picture import Picture
from kubedev.views.registration import RegistrationState, SequenceCall, registration_picture

__all__ = ["PLUGINS", "draw_register", "register_now", "register_then"]

DIRECTORY = "/var/lib/kubelet/device-plugins"
PLUGIN = "plugin"
GPU = "example.com/gpu"


@dataclass(frozen=True, slots=True)
class Kind:
    """A plugin as far as Register goes: what it asks, whether it serves, and whether it tells its options."""

    request: RegisterRequest = RegisterRequest(VERSION, "gpu.sock", GPU)
    serves: bool = True
    tells_options: bool = True

    def answer(self, call: Call) -> Answer:
        """What a call to it gives."""
        if not self.serves:
            return RpcError("DeadlineExceeded", "context deadline exceeded")
        if isinstance(call.request, Dial):
            return Empty()
        if self.tells_options:
            return DevicePluginOptions()
        text = "unknown method GetDevicePluginOptions for service v1beta1.DevicePlugin"
        return RpcError("Unimplemented", text)


PLUGINS: Mapping[str, Kind] = {
    "good": Kind(),
    "does not serve yet": Kind(serves=False),
    "without GetDevicePluginOptions": Kind(tells_options=False),
    "speaks v1alpha": Kind(RegisterRequest("v1alpha", "gpu.sock", GPU)),
    "named gpu": Kind(RegisterRequest(VERSION, "gpu.sock", "gpu")),
}
"""What `draw_register` offers."""


def draw_register(plugin: str, kubelet: str, step: int) -> Picture:
    """One step of a registration: `kubelet` is `v1.32` or `v1.21`; steps beyond the last show the last."""
    run = register_now if kubelet == "v1.32" else register_then
    states = run(PLUGINS[plugin])
    return registration_picture(states[min(step, len(states) - 1)])


def register_now(plugin: Kind) -> tuple[RegistrationState, ...]:
    """Advance v1.32's conversation by hand: every state on the way. The answer to the plugin comes last."""
    states = [_begin(plugin)]
    talk = register(DeviceManagerState(), plugin.request, DIRECTORY, 1)
    try:
        manager, call = next(talk)
        while True:
            answer = plugin.answer(call)
            states.append(_with(states[-1], _phase(manager), asked(call, PLUGIN), *_answered(answer)))
            manager, call = talk.send((manager, answer))
    except StopIteration as end:
        manager, error = end.value
    states.append(_with(states[-1], _phase(manager), _reply(error), note=_refused(error)))
    if error is None:
        states.append(_with(states[-1], "connected", SequenceCall(KUBELET, PLUGIN, "ListAndWatch")))
    return tuple(states)


def _phase(manager: DeviceManagerState) -> Phase:
    return manager.connections[1].phase if 1 in manager.connections else "absent"


def register_then(plugin: Kind) -> tuple[RegistrationState, ...]:
    """The same in v1.21: the plugin is answered first and dialed afterwards, and its options are in the request.

    Source: `pkg/kubelet/cm/devicemanager/manager.go: Register, addEndpoint` of that version.
    """
    states = [_begin(plugin)]
    error = validate(plugin.request.version, plugin.request.resource_name)
    phase: Phase = "absent" if error else "dialing"
    states.append(_with(states[-1], phase, _reply(error), note=_refused(error)))
    if error is not None:
        return tuple(states)
    states[-1] = replace(states[-1], note=say("registration.then.answered"))
    socket = socket_path(DIRECTORY, plugin.request.endpoint)
    call = Call(plugin.request.resource_name, socket, "Dial", Dial())
    answer = plugin.answer(call)
    if isinstance(answer, RpcError):
        note = say("registration.then.logged", error=answer.message)
        states.append(_with(states[-1], "absent", asked(call, PLUGIN), note=note))
        return tuple(states)
    states.append(_with(states[-1], "connected", asked(call, PLUGIN)))
    states.append(_with(states[-1], "connected", SequenceCall(KUBELET, PLUGIN, "ListAndWatch")))
    return tuple(states)


def _begin(plugin: Kind) -> RegistrationState:
    request = plugin.request
    words = f"{request.version}, {request.endpoint}, {request.resource_name}"
    files = ("kubelet.sock", *((request.endpoint,) if plugin.serves else ()))
    return RegistrationState("absent", calls=(SequenceCall(PLUGIN, KUBELET, "Register", words),), files=files)


def _with(state: RegistrationState, phase: Phase, *calls: SequenceCall, note: str = "") -> RegistrationState:
    event = transition(state.phase, phase)
    calls = (*state.calls, *calls)
    return replace(state, phase=phase, before=state.phase, event=event, calls=calls, note=note)


def transition(before: Phase, after: Phase) -> str:
    """The name of the way from one phase to another; empty where there is none, as v1.21's has none."""
    ways = ((name, to) for (phase, name), to in PLUGIN_PHASES.items() if phase == before != after)
    return next((name for name, to in ways if to == after), "")


def _answered(answer: Answer) -> tuple[SequenceCall, ...]:
    if isinstance(answer, RpcError):
        return (SequenceCall(PLUGIN, KUBELET, str(answer), "", True, True),)
    if isinstance(answer, DevicePluginOptions):
        return (SequenceCall(PLUGIN, KUBELET, "DevicePluginOptions", options_words(answer), answer=True),)
    return ()


def _reply(error: str | None) -> SequenceCall:
    words = error or say("registration.call.ok")
    return SequenceCall(KUBELET, PLUGIN, words, answer=True, error=error is not None)


def _refused(error: str | None) -> str:
    return say("registration.refused", error=error) if error else ""
