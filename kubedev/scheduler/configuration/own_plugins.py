"""A plugin of one's own: a Python class, registered by its name, and configured like Kubernetes' own plugins.

    class QuietNodes:
        def filter(self, state, pod, node_info):
            if len(node_info.pods) >= 3:
                return "node(s) were not quiet"

        def score(self, state, pod, node_info):
            return 100 - len(node_info.pods)

    configuration = load_configuration(text, own_plugins(QuietNodes))

A class may have the methods of any extension points (`EXTENSION_POINTS` has their signatures). Where they answer with
a Status, None stands for success and a text for the reason of a refusal; a score is a whole number. `state` is what the
class' own pre_filter or pre_score worked out, None without. The arguments in a profile's pluginConfig are given to the
class by name. An object of the class is asked in every state of a history, and should remember nothing between two
calls. What it raises, or answers wrongly, becomes an error of the framework: the pod is tried again, and
nothing else is harmed.

Go: `pkg/scheduler/framework/runtime/registry.go: Registry`, `cmd/kube-scheduler/app/server.go: WithPlugin`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubedev.scheduler.configuration.profiles import METHOD_OF
from kubedev.scheduler.configuration.registry import IN_TREE, Entry, Registry
from kubedev.scheduler.extension_points import PART_OF
from kubedev.scheduler.framework import Plugin
from kubedev.scheduler.preemption.post_filter import PostFilterResult
from kubedev.scheduler.scores import Score
from kubedev.scheduler.scoring import ScoreError
from kubedev.scheduler.status import SUCCESS, Code, Status

__all__ = ["OwnPlugin", "own_plugins"]


OWN_POINTS = {point: method for point, method in METHOD_OF.items() if point != "queueSort"}
"""Where a class can stand: the order of the queue is Kubernetes' own."""


def own_plugins(*classes: type) -> Registry:
    """Register classes under their `name`, or the class' name where they have none.

    Raises ValueError for a class that no extension point asks, and for a name that is Kubernetes' own or stands twice.
    """
    registry: dict[str, Entry] = {}
    for cls in classes:
        name = name_of(cls)
        points = frozenset(point for point, method in OWN_POINTS.items() if hasattr(cls, method))
        if not points:
            methods = ", ".join(OWN_POINTS.values())
            raise ValueError(f"{name} has no method that is ever called; it needs one of {methods}")
        if name in IN_TREE or name in registry:
            raise ValueError(f"a plugin named {name} is registered already: give this class another name")
        registry[name] = Entry(points, maker(name, cls))
    return registry


def name_of(cls: type) -> str:
    """The name under which a class is registered."""
    name = getattr(cls, "name", None)
    return name if isinstance(name, str) else cls.__name__


def maker(name: str, cls: type) -> Callable[[Any], Plugin]:
    """How a plugin of the class is made; what goes wrong is the profile's error, not the lab's."""

    def make(args: Any) -> Plugin:
        if args is not None and not isinstance(args, Mapping):
            raise ValueError(f"expected the arguments of {name} by name, got {args!r}")
        try:
            return OwnPlugin(name, cls(**(args or {})))
        except Exception as error:
            raise ValueError(told(error)) from None

    return make


def told(error: Exception) -> str:
    """An exception as a text."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


@dataclass(frozen=True, slots=True)
class Failed:
    """The state of a plugin that could not follow a pod that comes or goes: its filter fails with this text."""

    text: str


@dataclass(frozen=True, slots=True)
class OwnPlugin:
    """A reader's object under its name; it has those methods that the object has."""

    name: str
    plugin: Any

    def __getattr__(self, method: str) -> Callable[..., Any]:
        guard = GUARDS.get(method)
        if guard is None:
            raise AttributeError(method)
        call = getattr(self.plugin, method)
        return lambda *args: guard(self.name, call, args)


Guard = Callable[[str, Callable[..., Any], Sequence[Any]], Any]


def failed(error: Exception, name: str) -> Status:
    """The framework's error."""
    return Status(Code.ERROR, (told(error),), name)


def status_of(name: str, answer: Any) -> Status:
    """An answer as a Status."""
    if answer is None:
        return SUCCESS
    if isinstance(answer, str):
        return Status(Code.UNSCHEDULABLE, (answer,), name)
    if not isinstance(answer, Status):
        raise TypeError(f"expected a Status, a text (the reason of a refusal) or None, got {answer!r}")
    return answer


def guard_status(name: str, call: Callable[..., Any], args: Sequence[Any]) -> Status:
    """PreEnqueue, Reserve, Permit, PreBind, Bind."""
    try:
        return status_of(name, call(*args))
    except Exception as error:
        return failed(error, name)


def guard_filter(name: str, call: Callable[..., Any], args: Sequence[Any]) -> Status:
    """Filter: a state that could not be worked out is the error here."""
    if isinstance(args[0], Failed):
        return Status(Code.ERROR, (args[0].text,), name)
    return guard_status(name, call, args)


def guard_pre_filter(name: str, call: Callable[..., Any], args: Sequence[Any]) -> tuple[Any, Status, Any]:
    """PreFilter: state, status, and the only nodes worth a look."""
    try:
        state, status, names = call(*args)
        return state, status_of(name, status), None if names is None else frozenset(names)
    except Exception as error:
        return None, failed(error, name), None


def guard_pre_score(name: str, call: Callable[..., Any], args: Sequence[Any]) -> tuple[Any, Status]:
    """PreScore: state and status."""
    try:
        state, status = call(*args)
        return state, status_of(name, status)
    except Exception as error:
        return None, failed(error, name)


def guard_score(name: str, call: Callable[..., Any], args: Sequence[Any]) -> Score:
    """Score: a whole number, or a Score with its reasons. Go: `RunScorePlugins`."""
    try:
        answer = call(*args)
        if isinstance(answer, Score):
            return answer
        if isinstance(answer, bool) or not isinstance(answer, int):
            raise TypeError(f"expected a whole number as score, got {answer!r}: round it with int(...)")
        return Score(answer)
    except Exception as error:
        text = f'running Score plugins: plugin "{name}" failed with: {told(error)}'
        raise ScoreError(text) from None


def guard_normalize(name: str, call: Callable[..., Any], args: Sequence[Any]) -> dict[str, int]:
    """NormalizeScore: a number for every node that was scored. Go: `RunScorePlugins`."""
    try:
        answer = dict(call(*args))
        if answer.keys() != args[1].keys() or not all(type(value) is int for value in answer.values()):
            raise TypeError(f"expected a whole number for each of {', '.join(args[1])}, got {answer!r}")
        return answer
    except Exception as error:
        text = f'running Normalize on Score plugins: plugin "{name}" failed with: {told(error)}'
        raise ScoreError(text) from None


def guard_post_filter(name: str, call: Callable[..., Any], args: Sequence[Any]) -> PostFilterResult:
    """PostFilter."""
    try:
        answer = call(*args)
        if not isinstance(answer, PostFilterResult):
            raise TypeError(f"expected a PostFilterResult, got {answer!r}")
        return answer
    except Exception as error:
        return PostFilterResult(failed(error, name))


def guard_state(name: str, call: Callable[..., Any], args: Sequence[Any]) -> Any:
    """AddPod, RemovePod: a trial of preemption."""
    try:
        return args[0] if isinstance(args[0], Failed) else call(*args)
    except Exception as error:
        return Failed(told(error))


def guard_nothing(name: str, call: Callable[..., Any], args: Sequence[Any]) -> None:
    """Unreserve, PostBind: nobody waits for an answer, so that nobody hears of an exception either."""
    try:
        call(*args)
    except Exception:
        return


def unguarded(name: str, call: Callable[..., Any], args: Sequence[Any]) -> Any:
    """What is asked before any pod comes."""
    return call(*args)


GUARDS: Mapping[str, Guard] = {
    **dict.fromkeys(OWN_POINTS.values(), guard_status),
    "filter": guard_filter,
    "pre_filter": guard_pre_filter,
    "pre_score": guard_pre_score,
    "score": guard_score,
    "post_filter": guard_post_filter,
    **dict.fromkeys(PART_OF, guard_state),
    "normalize": guard_normalize,
    "unreserve": guard_nothing,
    "post_bind": guard_nothing,
    "events_to_register": unguarded,
}
