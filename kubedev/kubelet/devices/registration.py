"""Registration: a plugin says who it is, the kubelet calls back, and from then on they are connected.

Register is answered only after the kubelet has dialed the plugin's socket and asked for its options; so a
plugin must serve before it registers. What the request says about options is ignored.

Two maps make v1.32's faults. `clients` (the server's) says who registered last, from the moment of the
Register call; `endpoints` (the manager's) says who is asked for devices. When any connection of a resource
ends, the kubelet disconnects whoever registered last, be it another one; and when a second registration
fails, nobody is left in `clients`, so that the first one's death goes unnoticed. Switch 121994 mends both.

Source: `pkg/kubelet/cm/devicemanager/plugin/v1beta1/server.go, handler.go, client.go`;
`manager.go: PluginConnected, PluginDisconnected`.
"""

import posixpath
from collections.abc import Sequence
from dataclasses import replace

from kubedev.api.gotext import quote
from kubedev.api.gourl import URLError, dial_address
from kubedev.api.messages import (
    VERSION,
    Call,
    Conversation,
    DevicePluginOptions,
    Dial,
    Empty,
    RegisterRequest,
    RpcError,
)
from kubedev.api.names import is_extended_resource_name
from kubedev.kubelet.devices.devices import DeviceManagerState, mark_resource_unhealthy
from kubedev.kubelet.devices.endpoint import PLUGIN_PHASES, Endpoint, Phase, ask, moved

__all__ = [
    "DIAL_TIMEOUT",
    "PLUGIN_PHASES",
    "Phase",
    "clients",
    "deregister",
    "grace_period_over",
    "plugin_connected",
    "plugin_disconnected",
    "register",
    "resource_of",
    "server_socket_error",
    "socket_path",
    "stop",
    "stream_ended",
    "validate",
    "validate_plugin",
]

# How long the kubelet tries to connect to a plugin's socket, in seconds.
DIAL_TIMEOUT = 10.0

Disconnected = tuple[DeviceManagerState, tuple[int, ...]]


def validate(version: str, resource_name: str) -> str | None:
    """Why a registration is refused before the plugin is dialed; None if it is not."""
    if version != VERSION:
        return (
            f"requested API version {quote(version)} is not supported by kubelet. "
            f"Supported version is [{quote(VERSION)}]"
        )
    if not is_extended_resource_name(resource_name):
        return f"the ResourceName {quote(resource_name)} is invalid"
    return None


def validate_plugin(name: str, versions: Sequence[str]) -> str | None:
    """The same question where a plugin is found by the plugin watcher. (`handler.go: ValidatePlugin`)"""
    if VERSION not in versions:
        return f"manager version, {VERSION}, is not among plugin supported versions [{' '.join(versions)}]"
    if not is_extended_resource_name(name):
        return f"invalid name of device plugin socket: the ResourceName {quote(name)} is invalid"
    return None


def server_socket_error(path: str) -> str | None:
    """Why the registration service cannot be served at this path; None if it can. (`server.go: NewServer`)"""
    return None if path.startswith("/") else f"bad socketPath, must be an absolute path: {path}"


def socket_path(socket_dir: str, endpoint: str) -> str:
    """The plugin's socket. The endpoint is joined to the directory: `/x` stays in it, `../x` does not."""
    path = posixpath.normpath(posixpath.join(socket_dir, endpoint.lstrip("/")))
    return path.removeprefix("/") if path.startswith("//") else path


def register(
    state: DeviceManagerState, request: RegisterRequest, socket_dir: str, client: int
) -> Conversation[DeviceManagerState, str | None]:
    """Answer a Register call: None, or the error's text. `client` is the number of the new connection.

    After None the kubelet is to open ListAndWatch on the connection. The path is dialed as gRPC in Go reads it: an
    endpoint `a%20b.sock` is a socket `a b.sock`, and one with a control character is refused at once.
    """
    error = validate(request.version, request.resource_name)
    if error is not None:
        return state, error
    resource = request.resource_name
    path = socket_path(socket_dir, request.endpoint)
    try:
        socket, unreadable = dial_address(path), None
    except URLError as wrong:
        socket, unreadable = path, str(wrong)
    endpoint = moved(Endpoint(resource, socket, "absent"), "Register")
    state = _with_connection(state, client, endpoint)
    if "121994" not in state.switches:
        state = replace(state, clients={**state.clients, resource: client})

    if unreadable is not None:
        return _refused(state, client, "dial fails"), f"failed to dial device plugin: {unreadable}"
    state, dialed = yield state, Call(resource, endpoint.socket, "Dial", Dial(), DIAL_TIMEOUT)
    if isinstance(dialed, RpcError):
        return _refused(state, client, "dial fails"), f"failed to dial device plugin: {dialed.message}"
    endpoint = moved(endpoint, "dialed")
    state = _with_connection(state, client, endpoint)

    state, options = yield from ask(state, endpoint, "GetDevicePluginOptions", Empty(), DevicePluginOptions)
    if isinstance(options, str):
        return _refused(state, client, "options fail"), f"failed to get device plugin options: {options}"
    return plugin_connected(state, client, options), None


def _refused(state: DeviceManagerState, client: int, what: str) -> DeviceManagerState:
    """Forget a failed registration; v1.32 then forgets the client of an earlier one too."""
    resource = state.connections[client].resource
    if "121994" not in state.switches:
        state = _without_client(state, resource)
    return _move(state, client, what)


def plugin_connected(
    state: DeviceManagerState, client: int, options: DevicePluginOptions
) -> DeviceManagerState:
    """The connection answered and is in force now, in place of the one before. Its list comes later."""
    endpoint = moved(replace(state.connections[client], options=options), "options come")
    resource = endpoint.resource
    if resource in state.endpoints:
        state = _move(state, state.endpoints[resource], "replaced")
    state = _with_connection(state, client, endpoint)
    if "121994" in state.switches:
        state = replace(state, clients={**state.clients, resource: client})
    return replace(state, endpoints={**state.endpoints, resource: client})


def plugin_disconnected(state: DeviceManagerState, resource: str, now: float) -> DeviceManagerState:
    """The plugin in force is gone: its devices are unhealthy, and the five minutes of grace begin."""
    if resource not in state.endpoints:
        return state
    client = state.endpoints[resource]
    endpoint = replace(moved(state.connections[client], "stream ends"), stop_time=now)
    return _with_connection(mark_resource_unhealthy(state, resource), client, endpoint)


def stream_ended(state: DeviceManagerState, client: int, now: float) -> Disconnected:
    """The ListAndWatch stream of a connection ended; the result also says which connections to close.

    In v1.32 the one that registered last is closed, even if an older one ended.
    """
    if client not in state.connections:
        return state, ()
    endpoint = state.connections[client]
    in_force = state.endpoints.get(endpoint.resource) == client
    if not in_force:
        state = _move(state, client, "stream ends")
    last = state.clients.get(endpoint.resource)
    if last is None or ("121994" in state.switches and last != client):
        unnoticed = in_force and endpoint.phase == "connected"
        return (_move(state, client, "stream ends unnoticed") if unnoticed else state), ()
    state, close = deregister(state, endpoint.resource, now)
    return state, tuple(c for c in close if c != client)


def grace_period_over(state: DeviceManagerState, resource: str) -> DeviceManagerState:
    """Forget a plugin that has been stopped for too long."""
    if resource not in state.endpoints:
        return state
    state = _move(state, state.endpoints[resource], "grace period over")
    return replace(state, endpoints={r: c for r, c in state.endpoints.items() if r != resource})


def deregister(state: DeviceManagerState, resource: str, now: float) -> Disconnected:
    """Disconnect the one that registered last, and say which connections to close.

    Source: `handler.go: DeRegisterPlugin, disconnectClient`.
    """
    if resource not in state.clients:
        return state, ()
    last = state.clients[resource]
    dialing = last in state.connections and state.connections[last].phase == "dialing"
    state = plugin_disconnected(_without_client(state, resource), resource, now)
    return state, () if dialing else (last,)


def stop(state: DeviceManagerState, now: float) -> Disconnected:
    """The kubelet stops: all plugins are disconnected. (`server.go: Stop`)"""
    closed: tuple[int, ...] = ()
    for resource in sorted(state.clients):
        state, close = deregister(state, resource, now)
        closed += close
    return state, closed


def clients(state: DeviceManagerState) -> tuple[int, ...]:
    """The connections that are open."""
    closed = ("stopped", "dead unnoticed")
    return tuple(client for client, e in sorted(state.connections.items()) if e.phase not in closed)


def resource_of(state: DeviceManagerState, client: int) -> str | None:
    """The resource whose devices this connection's lists are; None where its lists no longer count."""
    endpoint = state.connections.get(client)
    if endpoint is None or (endpoint.phase, "list comes") not in PLUGIN_PHASES:
        return None
    if endpoint.phase == "superseded" and "121994" in state.switches:
        return None
    return endpoint.resource


def _with_connection(state: DeviceManagerState, client: int, endpoint: Endpoint) -> DeviceManagerState:
    return replace(state, connections={**state.connections, client: endpoint})


def _move(state: DeviceManagerState, client: int, what: str) -> DeviceManagerState:
    endpoint = moved(state.connections[client], what)
    if endpoint.phase != "absent":
        return _with_connection(state, client, endpoint)
    return replace(state, connections={c: e for c, e in state.connections.items() if c != client})


def _without_client(state: DeviceManagerState, resource: str) -> DeviceManagerState:
    return replace(state, clients={r: c for r, c in state.clients.items() if r != resource})
