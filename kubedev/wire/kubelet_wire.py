"""Carries out what a kubelet wants of its plugins and agents, over any transport: replies, calls and streams.

What comes of it is told as events. `carry_out`, `handled`, `restart` and `close` are called from one thread, `tell` is
called from any.
"""

import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kubedev.api.messages import Device, RegisterRequest
from kubedev.api.podresources import PodResourcesAnswer, PodResourcesRequest
from kubedev.kubelet.events import (
    Answered,
    Ask,
    CloseStream,
    Effect,
    KubeletEvent,
    ListReceived,
    OpenStream,
    PluginRegistering,
    PodResourcesAsked,
    PodResourcesReply,
    StreamEnded,
)
from kubedev.kubelet.events import Reply as ReplyEffect
from kubedev.wire.inflow import Inflow
from kubedev.wire.transport import Client, Listener, Reply, Transport
from kubedev.wire.underway import Stream

__all__ = ["KubeletWire"]

Tell = Callable[[KubeletEvent], None]


@dataclass(slots=True)
class _Connection:
    """A client; `number` is the kubelet's, from the moment that its stream is opened until it has ended."""

    client: Client
    socket: str
    number: int | None = None
    inflow: Inflow | None = None


class KubeletWire:
    """One kubelet's end of the wire. It listens from the beginning.

    `socket_dir` is the kubelet's own name for the transport's directory. Numbers for calls to the kubelet are taken
    from `ids`.
    """

    def __init__(self, transport: Transport, tell: Tell, socket_dir: str, ids: Iterator[int]) -> None:
        self._transport = transport
        self._tell = tell
        self._socket_dir = socket_dir
        self._ids = ids
        self._replies: dict[int, Reply] = {}
        self._connections: list[_Connection] = []
        self._asked: dict[int, _Connection] = {}
        self._held: list[tuple[str, KubeletEvent]] = []
        self._agents: dict[int, Callable[[PodResourcesAnswer], None]] = {}
        self._listeners: list[Listener] = []
        self._listen()

    def carry_out(self, effect: Effect) -> None:
        """Do what concerns plugins; other effects are not looked at."""
        match effect:
            case ReplyEffect(register_id, _, error):
                if register_id in self._replies:
                    self._replies.pop(register_id)(error)
            case PodResourcesReply(request_id, told):
                if request_id in self._agents:
                    self._agents.pop(request_id)(told)
            case Ask(call_id, call):
                connection = self._dial(call.socket) if call.method == "Dial" else self._newest(call.socket)
                self._asked[call_id] = connection
                connection.client.ask(call, lambda answer: self._tell(Answered(call_id, answer)))
            case OpenStream(number, _, socket):
                self.follow(number, socket)
            case CloseStream(number):
                self.drop_stream(number)

    def follow(self, number: int, socket: str) -> None:
        """Open ListAndWatch under the kubelet's number: a stream has a connection of its own, also where two plugins
        registered with one socket before either stream was opened.
        """
        newest = self._newest(socket)
        self._follow(number, newest if newest.number is None else self._dial(socket), self._tell)

    def resume(self, stream: Stream) -> None:
        """Take over a stream that is open already. A list that the kubelet has is not told again; one that it has
        not yet, or the stream's end, waits for `release`.
        """
        waiting = [stream.known]

        def tell(event: KubeletEvent) -> None:
            if not waiting:
                self.release(stream.socket)
                self._tell(event)
            elif event != ListReceived(stream.client, waiting[0] or ()) or waiting[0] is None:
                self._held.append((stream.socket, event))

        if stream.over:
            tell(StreamEnded(stream.client, "EOF"))
        else:
            self._follow(stream.client, self._dial(stream.socket), tell)
        waiting.clear()

    def release(self, socket: str = "") -> None:
        """Tell what was on its way when the streams were taken over: of all sockets, or of one."""
        told = [event for at, event in self._held if socket in ("", at)]
        self._held = [(at, event) for at, event in self._held if socket not in ("", at)]
        for event in told:
            self._tell(event)

    def expect_reply(self, register_id: int, reply: Reply) -> None:
        """Take over a Register call that waits for its answer."""
        self._replies[register_id] = reply

    def _follow(self, number: int, connection: "_Connection", tell: Tell) -> None:
        connection.number = number

        def on_end(error: str) -> None:
            connection.number = None
            tell(StreamEnded(number, error))

        def on_list(devices: tuple[Device, ...]) -> None:
            tell(ListReceived(number, devices))

        put, end = on_list, on_end
        if self._transport.threaded:
            connection.inflow = Inflow(on_list, on_end)
            put, end = connection.inflow.put, connection.inflow.end
        connection.client.list_and_watch(put, end)

    def handled(self, event: KubeletEvent) -> None:
        """An event that was told has been applied: the next list of that stream may come."""
        if isinstance(event, Answered):
            self._asked.pop(event.call_id, None)
        if isinstance(event, ListReceived):
            for connection in self._connections:
                if connection.number == event.client and connection.inflow:
                    connection.inflow.handled()

    def drop_stream(self, number: int) -> bool:
        """Close the connection of a stream as if the kubelet had lost it; False where it is not open."""
        dropped = [connection for connection in self._connections if connection.number == number]
        for connection in dropped:
            self._close(connection)
        return bool(dropped)

    def abandon(self) -> None:
        """Remove the sockets and leave all else: for a process that is about to end, from any thread."""
        for listener in self._listeners:
            listener.abandon()

    def restart(self) -> None:
        """End the kubelet's end of everything, and listen anew: plugins see a new kubelet.sock."""
        self.close()
        self._listen()

    def close(self) -> None:
        """Stop listening and close all connections."""
        for listener in reversed(self._listeners):
            listener.stop()
        self._listeners.clear()
        self._replies.clear()
        self._agents.clear()
        self._asked.clear()
        for connection in list(self._connections):
            self._close(connection)

    def _listen(self) -> None:
        """Serve plugins and agents, or neither of them."""
        self._listeners.append(self._transport.listen(self._on_register))
        try:
            self._listeners.append(self._transport.serve_pod_resources(self._on_pod_resources))
        except Exception:
            self._listeners.pop().stop()
            raise

    def _dial(self, socket: str) -> _Connection:
        """A new connection; older ones to the same socket stay open only while a stream or a call is on them."""
        asked = list(self._asked.values())
        older = [c for c in self._connections if c.socket == socket and c.number is None]
        for connection in [c for c in older if not any(c is one for one in asked)]:
            self._close(connection)
        real = posixpath.join(self._transport.directory, posixpath.relpath(socket, self._socket_dir))
        self._connections.append(_Connection(self._transport.connect(posixpath.normpath(real)), socket))
        return self._connections[-1]

    def _newest(self, socket: str) -> _Connection:
        found = [connection for connection in self._connections if connection.socket == socket]
        return found[-1] if found else self._dial(socket)

    def _close(self, connection: _Connection) -> None:
        self._connections.remove(connection)
        connection.client.close()
        if connection.inflow:
            connection.inflow.close()

    def _on_register(self, request: RegisterRequest, reply: Reply) -> None:
        register_id = next(self._ids)
        self._replies[register_id] = reply
        self._tell(PluginRegistering(register_id, request))

    def _on_pod_resources(
        self, request: PodResourcesRequest, reply: Callable[[PodResourcesAnswer], None]
    ) -> None:
        request_id = next(self._ids)
        self._agents[request_id] = reply
        self._tell(PodResourcesAsked(request_id, request))
