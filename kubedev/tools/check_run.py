"""One run of `kubedev check-plugin`: what is done with a plugin, stage by stage."""

import os
import signal
import time
from contextlib import suppress
from dataclasses import replace

from kubedev.api.messages import AllocateRequest, Answer, Call, RpcError
from kubedev.deviceplugin.duties.calls import HUNG, Ask, Questions, hung, odd_questions, questions
from kubedev.deviceplugin.duties.seen import Asked, MemorySize, Seen, Waited
from kubedev.tools.check_watch import WatchedPlugin
from kubedev.tools.process_memory import listener, resident
from kubedev.wire.client import PluginClient
from kubedev.wire.sockets import KUBELET_SOCKET, is_live, is_socket

__all__ = ["PluginCheck"]

CHUNK = 50  # so many calls of Allocate between two looks at the inbox
LOST = ("Unavailable", "Canceled")


class PluginCheck(WatchedPlugin):
    """Tries a plugin: `run` does it all."""

    def run(self) -> Seen:
        """Do it all. Raises StoppedError, CannotRunError, and SocketDirectoryError."""
        try:
            self._run()
        finally:
            if self._keeper:
                self._keeper.close()
            self._kubelet.close()
        self._done("whole", self.seen)
        return self.seen

    def _run(self) -> None:
        stages = (
            ("start", self._start),
            ("calls", self._calls),
            ("restart", self._restart),
            ("silent", self._silent),
            ("end", self._end),
        )
        goes_on = True
        for stage, run in stages:
            self._enter(stage)
            goes_on = goes_on and run()
            self._done(stage, self.seen)

    # Stages: each says whether the next ones can be tried

    def _start(self) -> bool:
        self._says("waits for it to register")
        self._kubelet.appear()
        self._start_plugin()
        self._wait(lambda: bool(self.seen.mine()) or self._gone(), self._limits.register)
        self._wait(lambda: not self._kubelet.answering, self._limits.call)  # it called in the last moment
        if self.seen.mine() and not self.seen.let_in():
            self._wait(lambda: self.seen.let_in() is not None or self._gone(), self._limits.renamed)
        if not self.seen.let_in():
            return False
        self._says("waits for its list")
        self._wait(lambda: bool(self.seen.listed or self.seen.stream_ends) or self._gone(), self._limits.list)
        if self.seen.listed and not self._healthy():
            self._wait(lambda: bool(self._healthy()) or self._gone(), self._limits.list / 4)
        return bool(self.seen.listed) and not self._gone()

    def _calls(self) -> bool:
        self._says("asks it for devices")
        self._have(questions(self.seen.resource, self._socket, self._healthy(), self._options, self._limits))
        unanswered = hung(self.seen.asked)
        if self._healthy() and not unanswered and not self._gone():
            self._says("allocates a thousand times")
            self._allocate_many()
        self._pump(0)
        if self._gone():
            return False
        if not unanswered:
            self._says("asks it what no kubelet asks")
            self._have(odd_questions(self.seen.resource, self._socket, self._limits))
            self._pump(0.2)
            if self._gone():
                self._registration(self._limits.register)
        if self.seen.stream_ends:  # does it register again by itself?
            self._wait(lambda: all(end.again for end in self.seen.stream_ends), self._limits.renamed)
        return True

    def _restart(self) -> bool:
        had_healthy = bool(self._healthy())
        self._enter("own socket")
        self._remove_own_socket()
        self._enter("restart")
        self._says("restarts the kubelet")
        self._die()
        self._pump(1)
        self._kubelet.appear()
        waited = self._registration(self._limits.restart)
        self._saw(waited=replace(waited, what="restart"))
        if waited.came:
            self._after_restart(had_healthy)
        return waited.came

    def _after_restart(self, had_healthy: bool) -> None:
        """Wait for healthy devices, if there were any before, and have one."""
        if had_healthy and not self._healthy():
            healthy = self._wait(lambda: bool(self._healthy()), self._limits.restart)
            self._saw(waited=replace(healthy, what="healthy again"))
        if (devices := self._healthy()) and not hung(self.seen.asked):
            self._ask((self._allocate("after restart", devices[0].id),))
            if self._gone() and self._registration(self._limits.restart).came:
                self._ask((self._allocate("after restart", devices[0].id),))

    def _silent(self) -> bool:
        self._says("restarts it once more, and does not answer")
        self._die()
        self._kubelet.appear(renamed=True, silent=True)
        before = len(self.seen.mine())
        waited = self._wait(lambda: len(self.seen.mine()) > before, self._limits.renamed, revive=True)
        self._saw(waited=replace(waited, what="renamed"))
        if waited.came:
            self._pump(self._limits.held)
        self._die()
        self._pump(0.5)
        self._kubelet.appear()
        again = self._registration(self._limits.restart if waited.came else self._limits.renamed)
        if waited.came:
            self._saw(waited=replace(again, what="silent"))
        return True

    def _end(self) -> bool:
        if self._keeper is None or not self._running:
            return False
        self._says("ends it")
        self._ending, self._followed = True, 0
        self._keeper.signal(signal.SIGTERM)
        waited = self._wait(lambda: not self._running, self._limits.end)
        self._saw(waited=replace(waited, what="end"))
        self._keeper.signal(signal.SIGKILL)
        self._wait(lambda: not self._running, 5)
        self.seen = replace(self.seen, left=tuple(sorted(self._sockets())))
        self._enter("again")
        self._says("starts it again")
        self._ending = False
        self._start_plugin()
        self._wait(lambda: self._running, 5)
        began = len(self.seen.mine())
        again = self._wait(lambda: len(self.seen.mine()) > began or self._gone(), self._limits.register)
        came = len(self.seen.mine()) > began
        self._saw(waited=replace(again, what="again", came=came))
        if came:
            self._wait(lambda: self._listed_now() or self._gone(), self._limits.list)
        self._ending = True
        return True

    # Parts of stages

    def _allocate_many(self) -> None:
        pid = listener(self._socket)
        ids = [device.id for device in self._healthy()]
        until = time.monotonic() + self._limits.allocating
        for done in range(1, self._limits.allocations + 1):
            client = self._client
            if time.monotonic() > until:
                return
            ask = self._allocate("many", ids[done % len(ids)], max(until - time.monotonic(), 1))
            answer = client.call(ask.call) if client else RpcError("Unavailable", "it is not connected")
            if isinstance(answer, RpcError):
                self._pump(0.2)
                if self._client is client and not self._gone() and answer.code != HUNG:
                    self._saw(asked=Asked("many", ask.call, answer))
                return
            if done % CHUNK == 0:
                self._pump(0)
            if done % (self._limits.allocations // 5) == 0 and pid and (size := resident(pid)):
                self._saw(memory=MemorySize(done, size))

    def _remove_own_socket(self) -> None:
        if not is_socket(self._socket):
            return
        self._says("removes its socket")
        inode, before = os.lstat(self._socket).st_ino, self._streams
        with suppress(OSError):
            os.unlink(self._socket)

        def noticed() -> bool:
            with suppress(OSError):
                if os.lstat(self._socket).st_ino != inode and is_live(self._socket):
                    return True
            return self._streams > before or self._gone()

        waited = self._wait(noticed, self._limits.own_socket, look=0.1)
        self._saw(waited=replace(waited, what="own socket"))
        if waited.came:
            self._wait(lambda: self._streams > before and self._listed_now(), 3, revive=True)

    def _registration(self, seconds: float) -> Waited:
        """Wait until the plugin is let in and has sent a list; one that has ended is started again."""
        before = self._streams
        waited = self._wait(lambda: self._streams > before, seconds, revive=True)
        if waited.came:
            self._wait(lambda: self._listed_now(), self._limits.list)
        return waited

    def _die(self) -> None:
        self._followed = 0
        self._kubelet.die()

    def _allocate(self, why: str, id_: str, timeout: float | None = None) -> Ask:
        request = AllocateRequest(((id_,),))
        return Ask(
            why, Call(self.seen.resource, self._socket, "Allocate", request, timeout or self._limits.call)
        )

    def _have(self, conversation: Questions) -> None:
        """Have a conversation with the plugin; it ends where the plugin does."""
        with suppress(StopIteration):
            batch = next(conversation)
            while True:
                if self._stage in ("unknown", "empty") or batch[0].why in ("unknown", "empty"):
                    self._enter(batch[0].why)
                    if self._gone():
                        self._registration(self._limits.register)
                answers = self._ask(batch)
                if any(_is_lost(answer) for answer in answers) and batch[0].why not in ("unknown", "empty"):
                    return
                batch = conversation.send(answers)

    def _ask(self, batch: tuple[Ask, ...]) -> tuple[Asked, ...]:
        """Make calls at the same time. Where the plugin registers anew meanwhile, they are made again."""
        for _ in range(2):
            client, streams = self._client, self._streams
            answers = self._answers(client, batch)
            lost = any(_is_lost(answer) for answer in answers)
            patience = 2.0 if self._stage != "restart" else self._limits.renamed
            if not lost or self._gone():
                break
            self._wait(lambda before=streams: self._streams > before or self._gone(), patience)  # type: ignore[misc]
            if self._streams == streams:
                break
        if not (self._gone() and batch[0].why in ("unknown", "empty")):
            self._saw(*(("asked", answer) for answer in answers))
        return answers

    def _answers(self, client: PluginClient | None, batch: tuple[Ask, ...]) -> tuple[Asked, ...]:
        found: dict[int, Asked] = {}
        if client is None:
            return tuple(
                Asked(ask.why, ask.call, RpcError("Unavailable", "it is not connected")) for ask in batch
            )
        for number, ask in enumerate(batch):
            began = time.monotonic()

            def answered(answer: Answer, number: int = number, ask: Ask = ask, began: float = began) -> None:
                found[number] = Asked(ask.why, ask.call, answer, time.monotonic() - began)
                self._inbox.put(())

            client.ask(ask.call, answered)
        longest = max(ask.call.timeout or self._limits.call for ask in batch)
        self._wait(lambda: len(found) == len(batch), longest + 2)
        return tuple(found[number] for number in sorted(found))

    def _sockets(self) -> list[str]:
        return [
            name
            for name in os.listdir(self.seen.directory)
            if name != KUBELET_SOCKET and is_socket(os.path.join(self.seen.directory, name))
        ]


def _is_lost(asked: Asked) -> bool:
    """Whether a call failed because the connection did."""
    return isinstance(asked.answer, RpcError) and asked.answer.code in LOST
