"""What a plugin is asked, as a conversation: no socket, no clock and no thread is needed to have it.

It yields the calls to make, several at once where they are to come together, and is sent what became of them.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass

from kubedev.api.messages import (
    HEALTHY,
    AllocateRequest,
    Answer,
    Call,
    ContainerPreferredAllocationRequest,
    Device,
    DevicePluginOptions,
    PreferredAllocationRequest,
    PreStartContainerRequest,
    Request,
)
from kubedev.deviceplugin.duties.seen import LIMITS, Asked, Limits

__all__ = ["HUNG", "NEVER_LISTED", "Ask", "Questions", "ask_all", "hung", "odd_questions", "questions"]

NEVER_LISTED = "kubedev-never-listed"
TOGETHER = 8  # so many calls of Allocate come at once
ONE_BY_ONE = 16  # so many devices are allocated each by itself

HUNG = "DeadlineExceeded"
"""The code of a call that was not answered in time."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A call that is to show something."""

    why: str
    call: Call


Questions = Generator[tuple[Ask, ...], tuple[Asked, ...], None]


def questions(
    resource: str,
    socket: str,
    devices: Sequence[Device],
    options: DevicePluginOptions,
    limits: Limits = LIMITS,
) -> Questions:
    """The calls that a kubelet makes, for devices that are listed as healthy. Ends early where one is not answered."""
    ids = tuple(dict.fromkeys(device.id for device in devices if device.health == HEALTHY))
    if not ids:
        return

    def ask(why: str, method: str, request: Request, timeout: float = limits.call) -> Ask:
        return Ask(why, Call(resource, socket, method, request, timeout))

    def allocate(why: str, *containers: tuple[str, ...]) -> Ask:
        return ask(why, "Allocate", AllocateRequest(containers))

    batches: list[tuple[Ask, ...]] = [(allocate("one", (id_,)),) for id_ in ids[:ONE_BY_ONE]]
    batches.append((allocate("again", ids[:1]),))
    if len(ids) > 1:
        batches.append((allocate("all", ids),))
        batches.append(tuple(allocate("together", (id_,)) for id_ in ids[:TOGETHER]))
        batches.append((allocate("containers", ids[:1], ids[1:2]),))
    if options.get_preferred_allocation_available:
        for container in _preferences(ids):
            request = PreferredAllocationRequest((container,))
            batches.append((ask("preferred", "GetPreferredAllocation", request),))
    if options.pre_start_required:
        request_ = PreStartContainerRequest(ids[:1])
        batches.append((ask("pre-start", "PreStartContainer", request_, limits.pre_start),))
    for batch in batches:
        answers = yield batch
        if hung(answers):
            return


def hung(answers: Iterable[Asked]) -> bool:
    """Whether a call was not answered at all: it is not waited for twice."""
    return any(getattr(asked.answer, "code", "") == HUNG for asked in answers)


def _preferences(ids: tuple[str, ...]) -> list[ContainerPreferredAllocationRequest]:
    """As the kubelet asks: no more than is on offer, and what must be included is on offer too."""
    asked = [ContainerPreferredAllocationRequest(ids, (), 1)]
    if len(ids) > 1:
        asked.append(ContainerPreferredAllocationRequest(ids, ids[-1:], 2))
        asked.append(ContainerPreferredAllocationRequest(ids[1:], (), len(ids) - 1))
    return asked


def odd_questions(resource: str, socket: str, limits: Limits = LIMITS) -> Questions:
    """Calls that no kubelet of this version makes. What becomes of them is worth knowing, and breaks no duty."""
    for why, containers in (("unknown", ((NEVER_LISTED,),)), ("empty", ((),)), ("empty", ())):
        yield (Ask(why, Call(resource, socket, "Allocate", AllocateRequest(containers), limits.call / 4)),)


def ask_all(conversation: Questions, answer: Callable[[Call], Answer]) -> tuple[Asked, ...]:
    """Have a conversation in which `answer` is the plugin, at once: for a plugin in memory."""
    asked: list[Asked] = []
    try:
        batch = next(conversation)
        while True:
            answers = tuple(Asked(ask.why, ask.call, answer(ask.call)) for ask in batch)
            asked.extend(answers)
            batch = conversation.send(answers)
    except StopIteration:
        return tuple(asked)
