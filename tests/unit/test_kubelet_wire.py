"""The kubelet's end of the wire: which connections are open, and which are closed, with clients that do nothing."""

from dataclasses import dataclass, field
from itertools import count

from kubedev.api.messages import Answer, Call, Empty
from kubedev.kubelet.events import Answered, Ask, KubeletEvent, OpenStream
from kubedev.wire.kubelet_wire import KubeletWire
from kubedev.wire.transport import Listener, OnAnswer, OnEnd, OnList, OnPodResources, OnRegister

SOCKET = "/plugins/gpu.sock"


@dataclass
class Silent:
    """A client whose plugin answers when the test says so."""

    waiting: list[OnAnswer] = field(default_factory=list)
    closed: bool = False

    def ask(self, call: Call, on_answer: OnAnswer) -> None:
        self.waiting.append(on_answer)

    def call(self, call: Call) -> Answer:
        raise NotImplementedError

    def list_and_watch(self, on_list: OnList, on_end: OnEnd) -> None:
        pass

    def close(self) -> None:
        self.closed = True


class Deaf:
    def stop(self) -> None:
        pass

    def abandon(self) -> None:
        pass


@dataclass
class Wires:
    """A transport that keeps the clients that it made."""

    directory: str = "/plugins"
    threaded: bool = False
    clients: list[Silent] = field(default_factory=list)

    def listen(self, on_register: OnRegister) -> Listener:
        return Deaf()

    def serve_pod_resources(self, on_request: OnPodResources) -> Listener:
        return Deaf()

    def connect(self, socket: str) -> Silent:
        self.clients.append(Silent())
        return self.clients[-1]


def test_p4_a_second_registration_at_a_socket_leaves_the_first_ones_dial_alone() -> None:
    wires, told = Wires(), list[KubeletEvent]()
    wire = KubeletWire(wires, told.append, "/plugins", count(1))

    def dials(number: int) -> Silent:
        wire.carry_out(Ask(number, Call("a.b/c", SOCKET, "Dial")))
        return wires.clients[-1]

    def answers(client: Silent) -> None:
        client.waiting.pop()(Empty())
        wire.handled(told[-1])

    first, second = dials(1), dials(2)
    assert (first.closed, second.closed) == (False, False)
    answers(first)
    assert told == [Answered(1, Empty())]
    answers(second)
    wire.carry_out(OpenStream(7, "a.b/c", SOCKET))
    third = dials(3)
    assert (first.closed, second.closed, third.closed) == (True, False, False), "the stream is on the second"
    wire.close()
    assert second.closed
    assert third.closed
