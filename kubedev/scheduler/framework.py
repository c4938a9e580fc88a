"""The scheduling framework: plugins, the points at which they are asked, and what comes of it.

A plugin is any object with a `name` and some of these methods (`EXTENSION_POINTS`); nothing is to be
inherited. One's own takes ten lines:

    @dataclass(frozen=True)
    class OnlyQuietNodes:
        name: str = "OnlyQuietNodes"

        def filter(self, state, pod, node_info):
            if len(node_info.pods) < 3:
                return SUCCESS
            return Status(Code.UNSCHEDULABLE, ("node(s) were not quiet",), self.name)

    framework = default_framework().with_plugin(OnlyQuietNodes())

`configuration.own_plugins` makes a plugin of a simpler class, and guards the scheduler against what it raises.

Beside these methods, `events_to_register()` says which events may change the plugin's refusals (without it: any
event), `unreserve` takes back what `reserve` did, and `add_pod` and `remove_pod` give a filter's state as if a node
had one pod more or less: preemption tries its victims that way.

Go: `pkg/scheduler/framework/interface.go`, `pkg/scheduler/framework/runtime/framework.go`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

from kubedev.api.objects import Pod
from kubedev.api.values import Same, replace
from kubedev.scheduler.context import Context
from kubedev.scheduler.extension_points import EXTENSION_POINTS, PART_OF, POINT_OF
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.queue.default_hints import DEFAULT_EVENTS
from kubedev.scheduler.queue.queueing_hints import EVERY_EVENT, HintMap, RegisteredEvent, hint_map
from kubedev.scheduler.scores import DEFAULT_WEIGHTS
from kubedev.scheduler.status import SUCCESS, Code, Status

__all__ = [
    "CycleState",
    "Framework",
    "Plugin",
    "PreFiltered",
    "num_feasible_nodes_to_find",
    "run_filters",
]

MIN_FEASIBLE_NODES_TO_FIND = 100
MIN_FEASIBLE_NODES_PERCENTAGE_TO_FIND = 5


class Plugin(Protocol):
    """Anything with a name; what else it has says where it is asked."""

    @property
    def name(self) -> str:
        """The name by which it appears in decisions, weights and queueing hints."""


FilterCalls = tuple[tuple[str, Callable[[Any, Pod, NodeInfo], Status], Any], ...]
"""Filters that are to be asked: name, method and the plugin's state."""


@dataclass(frozen=True, slots=True)
class CycleState:
    """What the plugins worked out for one pod, by the plugin's name; `skip` are those with nothing to say."""

    states: Mapping[str, Any] = field(default_factory=dict)
    skip: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Unasked:
    """In place of the state of a filter whose PreFilter a profile has switched off: what the filter answers."""

    status: Status

    def filter(self, state: object, pod: Pod, node_info: NodeInfo) -> Status:
        """The same for every node."""
        return self.status


AskPreFilter = Callable[[Any, Pod, Context], tuple[Any, Status, frozenset[str] | None]]


def ask_pre_filter(plugin: Any, pod: Pod, context: Context) -> tuple[Any, Status, frozenset[str] | None]:
    """A plugin's state, its answer, and the only nodes worth a look (None: all)."""
    answer: tuple[Any, Status, frozenset[str] | None] = plugin.pre_filter(pod, context.node_infos, context)
    return answer


RECOMPUTING = frozenset({"NodeAffinity", "NodeVolumeLimits", "VolumeZone"})
"""The filters that work out what they need themselves where nobody asked their PreFilter."""


@dataclass(frozen=True, slots=True)
class PreFiltered:
    """What came of PreFilter.

    `status` refuses the pod on all nodes, or is success; `node_names` are the only nodes worth a look (None:
    all), as `narrowed_by` want it; `answers` has every plugin that was asked with its answer.
    """

    state: CycleState
    status: Status = SUCCESS
    node_names: frozenset[str] | None = None
    narrowed_by: tuple[str, ...] = ()
    answers: tuple[tuple[str, Status], ...] = ()


def num_feasible_nodes_to_find(num_all_nodes: int, percentage: int = 0) -> int:
    """How many feasible nodes are enough: below 100 nodes all, else a percentage, at least 100.

    A percentage of 0 adapts: 50 % of few nodes, less the more there are, at least 5 %.

    Go: `pkg/scheduler/schedule_one.go: numFeasibleNodesToFind`.
    """
    if num_all_nodes < MIN_FEASIBLE_NODES_TO_FIND:
        return num_all_nodes
    if percentage == 0:
        percentage = max(50 - num_all_nodes // 125, MIN_FEASIBLE_NODES_PERCENTAGE_TO_FIND)
    return max(num_all_nodes * percentage // 100, MIN_FEASIBLE_NODES_TO_FIND)


@dataclass(frozen=True, slots=True)
class Framework:
    """A scheduler's profile: its plugins in order, their weights, and how many nodes are looked at.

    `percentage_of_nodes_to_score` 0 adapts to the size of the cluster. A score plugin without a weight has 1.
    `order` names the plugins at an extension point, by its method; where it says nothing, all plugins that have the
    method are asked, in their order.
    """

    plugins: tuple[Plugin, ...]
    weights: Mapping[str, int] = field(default_factory=lambda: dict(DEFAULT_WEIGHTS))
    percentage_of_nodes_to_score: int = 0
    scheduler_name: str = "default-scheduler"
    order: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def with_plugin(self, plugin: Plugin, weight: int = 1) -> "Framework":
        """With one plugin more, asked last; one of the same name is replaced in its place."""
        methods = [point.method for point in EXTENSION_POINTS]
        if not any(hasattr(plugin, method) for method in methods):
            raise ValueError(
                f"{plugin.name} has no method that is ever called; it needs one of {', '.join(methods)}"
            )
        if plugin.name in {one.name for one in self.plugins}:
            plugins = tuple(plugin if one.name == plugin.name else one for one in self.plugins)
        else:
            plugins = (*self.plugins, plugin)
        order = {
            method: names if plugin.name in names or not hasattr(plugin, method) else (*names, plugin.name)
            for method, names in self.order.items()
        }
        weights = {**self.weights, plugin.name: weight}
        return replace(self, plugins=plugins, weights=weights, order=order)

    def without_plugin(self, name: str) -> "Framework":
        """Without the plugin of this name."""
        if name not in {plugin.name for plugin in self.plugins}:
            raise ValueError(f"no plugin {name!r} here, only {', '.join(one.name for one in self.plugins)}")
        order = {method: tuple(one for one in names if one != name) for method, names in self.order.items()}
        return replace(self, plugins=tuple(one for one in self.plugins if one.name != name), order=order)

    def at(self, method: str) -> tuple[Any, ...]:
        """The plugins that are asked at an extension point, given by its method."""
        return asked_at(Same(self), method)

    def stands_at(self, name: str, method: str) -> bool:
        """Whether a plugin is asked at a point, as far as the profile's order says."""
        return name in self.order.get(method, (name,))

    def hints(self) -> HintMap:
        """What the plugins register for their refused pods; whoever says nothing hears of everything.

        Go: `fillEnqueueExtensions`.
        """
        return hints_of(Same(self))

    # The queue

    def pre_enqueue(self, pod: Pod) -> Status:
        """The first refusal to try the pod at all, or success. Go: `runPreEnqueuePlugins`."""
        for plugin in self.at("pre_enqueue"):
            status: Status = plugin.pre_enqueue(pod)
            if not status.is_success:
                return replace(status, plugin=plugin.name)
        return SUCCESS

    # Filters

    def pre_filter(self, pod: Pod, context: Context, ask: AskPreFilter = ask_pre_filter) -> PreFiltered:
        """Ask all PreFilter plugins. Go: `RunPreFilterPlugins`.

        An unresolvable refusal ends it; after another one the rest is asked, as preemption needs their
        states. `ask` is how a plugin is asked.
        """
        states: dict[str, Any] = {}
        answers: list[tuple[str, Status]] = []
        narrowed_by: list[str] = []
        refusal, names = SUCCESS, None
        for plugin in self.at("pre_filter"):
            states[plugin.name], status, only = ask(plugin, pod, context)
            answers.append((plugin.name, status))
            if status.is_skip:
                continue
            if not status.is_success:
                refusal = failure_of("running PreFilter plugin", plugin.name, status)
                if refusal.code is Code.UNSCHEDULABLE:
                    continue
                names, narrowed_by = None, []
                break
            if only is not None:
                narrowed_by.append(plugin.name)
                names = frozenset(only) if names is None else names & only
                if not names:
                    refusal = nothing_left(narrowed_by)
                    break
        states.update(self._unasked(pod, context) if self.order else {})
        skip = frozenset(name for name, status in answers if status.is_skip)
        return PreFiltered(
            CycleState(states, skip), refusal, names, tuple(sorted(narrowed_by)), tuple(answers)
        )

    def _unasked(self, pod: Pod, context: Context) -> dict[str, Any]:
        """The states of filters whose PreFilter is not asked, although they have one."""
        asked = {plugin.name for plugin in self.at("pre_filter")}
        states: dict[str, Any] = {}
        for plugin in self.at("filter"):
            if plugin.name in asked or not hasattr(plugin, "pre_filter"):
                continue
            text = f'error reading "PreFilter{plugin.name}" from cycleState: not found'
            status = Status(Code.ERROR, (text,), plugin.name)
            if plugin.name in RECOMPUTING:
                states[plugin.name], status, _ = plugin.pre_filter(pod, context.node_infos, context)
            if not (status.is_success or status.is_skip):
                states[plugin.name] = Unasked(status)
        return states

    def filters(self, state: CycleState) -> FilterCalls:
        """The filters to ask for a pod, each with its state: found once, called for every node."""
        states = state.states
        return tuple(
            (plugin.name, mine.filter if isinstance(mine, Unasked) else plugin.filter, mine)
            for plugin in self.at("filter")
            if plugin.name not in state.skip
            for mine in (states.get(plugin.name),)
        )

    def add_pod(self, state: CycleState, pod_to_add: Pod, node_info: NodeInfo) -> CycleState:
        """What the filters' states are if one more pod ran on the node. Go: `RunPreFilterExtensionAddPod`."""
        return self._with_pod("add_pod", state, pod_to_add, node_info)

    def remove_pod(self, state: CycleState, pod_to_remove: Pod, node_info: NodeInfo) -> CycleState:
        """What they are if a pod of the node were gone. Go: `RunPreFilterExtensionRemovePod`."""
        return self._with_pod("remove_pod", state, pod_to_remove, node_info)

    def _with_pod(self, method: str, state: CycleState, pod: Pod, node_info: NodeInfo) -> CycleState:
        changed = {
            plugin.name: getattr(plugin, method)(state.states[plugin.name], pod, node_info)
            for plugin in self.at(method)
            if plugin.name not in state.skip
        }
        return replace(state, states={**state.states, **changed}) if changed else state

    # Binding

    def first_failure(self, method: str, pod: Pod, node_name: str) -> Status:
        """The first answer of Reserve, Permit, PreBind or Bind plugins that is not success, or success.

        A Bind plugin may skip: the next one is asked. Go: `RunReservePluginsReserve` and those beside it.
        """
        for plugin in self.at(method):
            status: Status = getattr(plugin, method)(pod, node_name)
            if status.code is Code.WAIT:
                return replace(status, plugin=plugin.name)
            if not status.is_success and not (method == "bind" and status.is_skip):
                return failure_of(f"running {POINT_OF[method]} plugin", plugin.name, status)
        return SUCCESS


@lru_cache(maxsize=512)
def asked_at(profile: Same[Framework], method: str) -> tuple[Any, ...]:
    """The plugins of a profile at a point: those that it names there, or else all that have the method."""
    framework = profile.value
    plugins: Iterable[Any] = framework.plugins
    if (names := framework.order.get(PART_OF.get(method, method))) is not None:
        by_name = {plugin.name: plugin for plugin in framework.plugins}
        plugins = [by_name[name] for name in names]
    return tuple(plugin for plugin in plugins if hasattr(plugin, method))


@lru_cache(maxsize=64)
def hints_of(profile: Same[Framework]) -> HintMap:
    """The hints of a profile's plugins: asked for once, as in Go."""
    plugins = profile.value.plugins
    return hint_map((plugin.name, events_of(plugin)) for plugin in plugins if may_refuse(plugin))


def run_filters(calls: FilterCalls, pod: Pod, node_info: NodeInfo) -> Status:
    """The first refusal of the node, or success. Go: `RunFilterPlugins`."""
    for name, call, state in calls:
        status = call(state, pod, node_info)
        if status.code is not Code.SUCCESS:
            return failure_of("running", name, status, "filter plugin")
    return SUCCESS


def may_refuse(plugin: Plugin) -> bool:
    """Whether pods can be waiting because of this plugin. Go: `shouldHaveEnqueueExtensions`."""
    return any(hasattr(plugin, m) for m in ("pre_enqueue", "pre_filter", "filter", "reserve", "permit"))


def events_of(plugin: Plugin) -> tuple[RegisteredEvent, ...]:
    """The plugin's own `events_to_register()`, those of the default plugin of this name, or every event."""
    own = getattr(plugin, "events_to_register", None)
    return tuple(own()) if own else DEFAULT_EVENTS.get(plugin.name, EVERY_EVENT)


def failure_of(doing: str, name: str, status: Status, what: str = "") -> Status:
    """A refusal under the plugin's name; anything else is an error, and says where it happened."""
    if status.is_rejected:
        return status if status.plugin == name else replace(status, plugin=name)
    where = " ".join(filter(None, (doing, f'"{name}"', what)))
    return Status(Code.ERROR, (f"{where}: {status.message}",), name)


def nothing_left(narrowed_by: list[str]) -> Status:
    """The refusal where the plugins that name nodes leave none."""
    names = sorted(narrowed_by)
    which = f"plugin {names[0]}" if len(names) == 1 else f"plugin(s) [{' '.join(names)}] simultaneously"
    reason = f"node(s) didn't satisfy {which}"
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,))
