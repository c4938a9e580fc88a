"""What a device plugin owes its kubelet, duty by duty, and how a plugin is judged by what was seen of it.

`DUTIES` are all of them as data. `questions` says what a plugin is asked, `observe` asks one in memory, `judged` says
which duties it keeps. The command `kubedev check-plugin` collects the same on sockets and processes.
"""

from collections.abc import Callable, Sequence

from kubedev.api.messages import Answer, Call, Device, DevicePluginOptions, RegisterRequest
from kubedev.deviceplugin.duties import allocation, life, lists, registration
from kubedev.deviceplugin.duties.calls import ask_all, odd_questions, questions
from kubedev.deviceplugin.duties.duty import Duty, Finding, Outcome, Verdict, judged
from kubedev.deviceplugin.duties.seen import Asked, Limits, Listed, Registered, Seen

__all__ = [
    "DUTIES",
    "Asked",
    "Duty",
    "Finding",
    "Limits",
    "Listed",
    "Outcome",
    "Registered",
    "Seen",
    "Verdict",
    "judged",
    "observe",
    "odd_questions",
    "questions",
]

DUTIES: tuple[Duty, ...] = (*registration.DUTIES, *lists.DUTIES, *allocation.DUTIES, *life.DUTIES)


def observe(
    request: RegisterRequest,
    error: str | None,
    options: DevicePluginOptions,
    listed: Sequence[tuple[Device, ...]],
    answer: Callable[[Call], Answer],
) -> Seen:
    """What is seen of a plugin in memory: its call of Register and the kubelet's answer, its lists, and its answers.

    Sockets, processes and time are not there: the duties that need them do not apply.
    """
    asked: tuple[Asked, ...] = ()
    if error is None and listed:
        resource, socket, devices = request.resource_name, request.endpoint, listed[0]
        asked = ask_all(questions(resource, socket, devices, options), answer)
        asked += ask_all(odd_questions(resource, socket), answer)
    return Seen(
        request.resource_name,
        registered=(Registered(request, error, options=None if error else options),),
        listed=tuple(map(Listed, listed)),
        asked=asked,
    )
