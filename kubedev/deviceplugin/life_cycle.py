"""The plugin's side of registration, as a table: where it stands, and what brings it on.

A plugin survives its kubelet. While no kubelet serves it is `away` and waits; a kubelet.sock that is made
anew is a kubelet that has forgotten all plugins, so the plugin serves afresh and registers again. A refusal
is final: a plugin that the kubelet does not want ends, and whoever runs it sees the error.
"""

__all__ = ["EVENTS", "STATES", "TRANSITIONS"]

STATES = ("away", "registering", "registered", "stopped")
EVENTS = ("kubelet_appeared", "kubelet_gone", "retry", "unreachable", "accepted", "refused", "stop")

# (state, event) -> state; what is not listed changes nothing.
TRANSITIONS = {
    ("away", "kubelet_appeared"): "registering",
    ("away", "retry"): "registering",
    ("registering", "kubelet_appeared"): "registering",
    ("registering", "kubelet_gone"): "away",
    ("registering", "unreachable"): "away",
    ("registering", "accepted"): "registered",
    ("registering", "refused"): "stopped",
    ("registered", "kubelet_appeared"): "registering",
    ("registered", "kubelet_gone"): "away",
    ("away", "stop"): "stopped",
    ("registering", "stop"): "stopped",
    ("registered", "stop"): "stopped",
}
