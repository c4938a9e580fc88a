"""One plugin as the kubelet knows it: from its Register call to the day it is forgotten.

Source: `pkg/kubelet/cm/devicemanager/endpoint.go`, `.../plugin/v1beta1/client.go`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from kubedev.api.messages import Answer, Call, Conversation, DevicePluginOptions, Request, RpcError

__all__ = ["PLUGIN_PHASES", "STOP_GRACE_PERIOD", "Endpoint", "Phase", "ask", "moved"]

Phase = Literal["absent", "dialing", "asking options", "connected", "superseded", "dead unnoticed", "stopped"]

# The life of one registration. The labs draw their diagram from this table, and `moved` allows nothing else.
# With the switch 121994, "superseded" reads no lists and "dead unnoticed" is never reached.
PLUGIN_PHASES: Mapping[tuple[Phase, str], Phase] = {
    ("absent", "Register"): "dialing",
    ("absent", "kubelet restarts"): "stopped",
    ("dialing", "dialed"): "asking options",
    ("dialing", "dial fails"): "absent",
    ("asking options", "options come"): "connected",
    ("asking options", "options fail"): "absent",
    ("connected", "list comes"): "connected",
    ("connected", "replaced"): "superseded",
    ("connected", "stream ends"): "stopped",
    ("connected", "stream ends unnoticed"): "dead unnoticed",
    ("superseded", "list comes"): "superseded",
    ("superseded", "stream ends"): "absent",
    ("dead unnoticed", "replaced"): "absent",
    ("dead unnoticed", "stream ends"): "stopped",
    ("stopped", "stream ends"): "stopped",
    ("stopped", "replaced"): "absent",
    ("stopped", "grace period over"): "absent",
}

# How long a stopped plugin's devices still count as capacity, in seconds.
STOP_GRACE_PERIOD = 300.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A plugin's connection. `options` is None before the plugin told them and after a kubelet restart.

    `stop_time` is in seconds, and None as long as the plugin is not stopped.
    """

    resource: str
    socket: str
    phase: Phase
    options: DevicePluginOptions | None = None
    stop_time: float | None = None

    @property
    def stopped(self) -> bool:
        """Whether calls to the plugin fail without being sent."""
        return self.phase == "stopped"

    def stop_grace_period_expired(self, now: float) -> bool:
        """Whether the plugin has been stopped for more than five minutes."""
        return self.stop_time is not None and now - self.stop_time > STOP_GRACE_PERIOD


def moved(endpoint: Endpoint, what: str) -> Endpoint:
    """The endpoint after `what` happened; KeyError where PLUGIN_PHASES knows no such transition."""
    return replace(endpoint, phase=PLUGIN_PHASES[endpoint.phase, what])


S = TypeVar("S")
A = TypeVar("A", bound=Answer)


def ask(
    state: S, endpoint: Endpoint, method: str, request: Request, answer: type[A], timeout: float | None = None
) -> Conversation[S, A | str]:
    """Call the plugin; the result is its answer, or an error's text. A stopped plugin is not called."""
    if endpoint.stopped:
        return state, f"endpoint {endpoint.resource} has been stopped"
    state, got = yield state, Call(endpoint.resource, endpoint.socket, method, request, timeout)
    if isinstance(got, RpcError):
        return state, str(got)
    if not isinstance(got, answer):
        raise TypeError(
            f"{method} of {endpoint.resource}: expected {answer.__name__} or RpcError, got {got!r}: "
            "whoever carries the conversation must send the plugin's answer to this very call"
        )
    return state, got
