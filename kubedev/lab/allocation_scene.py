"""A node's devices, a request and a plugin, all set by knobs: what lab 04 explores without any cluster.

Eight devices, d0 to d3 on NUMA node 0 and d4 to d7 on node 1. The decision is the kubelet's own.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TypeVar

from kubedev.api.messages import (
    HEALTHY,
    UNHEALTHY,
    Answer,
    Call,
    ContainerAllocateResponse,
    ContainerPreferredAllocationRequest,
    Device,
    DevicePluginOptions,
    PreferredAllocationRequest,
    PreferredAllocationResponse,
    RpcError,
    converse,
)
from kubedev.deviceplugin.preference import preferred_allocation
from kubedev.kubelet.devices.allocation import DeviceRequest, DevicesToAllocate, devices_to_allocate
from kubedev.kubelet.devices.capacity import with_plugin
from kubedev.kubelet.devices.devices import DeviceAllocateInfo, DeviceManagerState
from kubedev.lab.rows import Rows
from kubedev.views.allocation_multiples import allocation_multiples
from kubedev.views.allocation_sets import allocation_picture
from kubedev.views.catalogue import say
from kubedev.views.live import LivePicture
from kubedev.views.masks import natural_list
from kubedev.views.picture import Picture

__all__ = [
    "FRAMES",
    "KNOBS",
    "MASKS",
    "MOMENTS",
    "PLUGINS",
    "RESOURCE",
    "AllocationScene",
    "Prefer",
    "allocation_scene",
    "decide",
    "draw_allocation",
    "edge_of_alignment",
    "first_question",
    "plugins_side_by_side",
    "steps",
]

RESOURCE = "example.com/gpu"
Prefer = Callable[[ContainerPreferredAllocationRequest], Iterable[str]]
"""A plugin's preference: from what is on offer to the ids it would like."""

_IDS = tuple(f"d{i}" for i in range(8))
_IN_USE = ("d1", "d6", "d2", "d5", "d0", "d7")
_UNHEALTHY = ("d4", "d3", "d6")
_REUSABLE = ("d7", "d3")
_POD, _CONTAINER = "web", "main"
R = TypeVar("R")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class AllocationScene:
    """The device manager's state, the request, and what the pod's finished init containers leave for it."""

    state: DeviceManagerState
    request: DeviceRequest
    reusable: frozenset[str]

    @property
    def devices(self) -> Mapping[str, Device]:
        """All devices by id."""
        return self.state.all_devices[RESOURCE]


def allocation_scene(
    needed: int = 2, in_use: int = 0, unhealthy: int = 0, reusable: int = 0, moment: str = "first"
) -> AllocationScene:
    """A container asks for `needed` devices while some are in use, some unhealthy, some left by init containers.

    `moment` is one of MOMENTS: it says what the kubelet knows of the container already.
    """
    bad = frozenset(_IDS if moment == "all unhealthy" else _UNHEALTHY[:unhealthy])
    left = frozenset(_REUSABLE[:reusable])
    used = frozenset(_IN_USE[:in_use]) | left
    devices = {id_: Device(id_, UNHEALTHY if id_ in bad else HEALTHY, (int(id_[1]) // 4,)) for id_ in _IDS}
    state = with_plugin(DeviceManagerState(), RESOURCE, tuple(devices.values()), preferred=True)
    state = replace(state, allocated_devices={RESOURCE: used})
    request = DeviceRequest(_POD, _CONTAINER, RESOURCE, needed)
    return AllocationScene(_at(moment, state, needed), request, left)


def _at(moment: str, state: DeviceManagerState, needed: int) -> DeviceManagerState:
    """The state with what the container has already: free devices first, then in place of others' ones."""
    healthy, used = state.healthy_devices[RESOURCE], state.allocated_devices[RESOURCE]
    ids = sorted(_IDS, key=lambda id_: (id_ not in healthy, id_ in used, id_))
    match moment:
        case "held":
            return _holding(state, ids[:needed])
        case "held more":
            return _holding(state, ids[: needed + 1 if needed < len(ids) else needed - 1])
        case "held unhealthy":
            lost, held = frozenset(ids[:1]), _holding(state, ids[:needed])
            healthy_now = {RESOURCE: held.healthy_devices[RESOURCE] - lost}
            unhealthy_now = {RESOURCE: held.unhealthy_devices[RESOURCE] | lost}
            return replace(held, healthy_devices=healthy_now, unhealthy_devices=unhealthy_now)
        case "runs":
            held = _holding(state, ids[:needed])
            return replace(held, sources_ready=False, running={_POD: frozenset({_CONTAINER})})
        case "not registered":
            return replace(state, healthy_devices={}, unhealthy_devices={})
    return state


def _holding(state: DeviceManagerState, ids: Iterable[str]) -> DeviceManagerState:
    info = DeviceAllocateInfo({-1: tuple(ids)}, ContainerAllocateResponse())
    allocated = {RESOURCE: state.allocated_devices[RESOURCE] | info.devices}
    return replace(state, pod_devices={_POD: {_CONTAINER: {RESOURCE: info}}}, allocated_devices=allocated)


# What the plugin says


def _honest(scene: AllocationScene) -> Prefer:
    devices = tuple(scene.devices.values())
    return lambda request: preferred_allocation(devices, request).device_ids


def _not_on_offer(request: ContainerPreferredAllocationRequest) -> Iterable[str]:
    others = [id_ for id_ in reversed(_IDS) if id_ not in request.available_device_ids]
    return others[: request.allocation_size] or ["d8", "d9"]


def _too_many(request: ContainerPreferredAllocationRequest) -> Iterable[str]:
    return request.available_device_ids[::-1]


def _refuses(request: ContainerPreferredAllocationRequest) -> Iterable[str]:
    raise RuntimeError("no topology file")


_PREFER: Mapping[str, Prefer] = {
    "not on offer": _not_on_offer,
    "unknown": lambda request: [f"GPU-{i}" for i in range(request.allocation_size)],
    "one only": lambda request: request.available_device_ids[-1:],
    "too many": _too_many,
    "empty": lambda request: (),
    "error": _refuses,
}


def decide(
    scene: AllocationScene, mask: int | None = None, plugin: "str | Prefer" = "honest"
) -> DevicesToAllocate:
    """Take the kubelet's decision; `mask` is the topology manager's, `plugin` one of PLUGINS or a function."""
    prefer = plugin if callable(plugin) else _PREFER.get(plugin, _honest(scene))
    state = scene.state
    if plugin == "not asked":
        mute = replace(state.connections[1], options=DevicePluginOptions())
        state = replace(state, connections={1: mute})

    def answer(call: Call) -> Answer:
        assert isinstance(call.request, PreferredAllocationRequest)
        try:
            wishes = tuple(tuple(prefer(asked)) for asked in call.request.container_requests)
        except Exception as error:
            return RpcError("Unknown", str(error))
        return PreferredAllocationResponse(wishes)

    return converse(devices_to_allocate(state, scene.request, scene.reusable, mask), answer)[1]


def first_question(scene: AllocationScene, mask: int | None = None) -> Rows:
    """Run the decision up to its question to the plugin: the request's fields."""
    _, call = next(devices_to_allocate(scene.state, scene.request, scene.reusable, mask))
    assert isinstance(call.request, PreferredAllocationRequest)
    asked = call.request.container_requests[0]
    values = ((field.name, getattr(asked, field.name)) for field in fields(asked))
    rows = [(name, str(value) if isinstance(value, int) else natural_list(value)) for name, value in values]
    return Rows((call.method, ""), rows)


def steps(decision: DevicesToAllocate) -> Rows:
    """Which rule took what, among which devices, and why."""
    heads = [say(f"table.{head}") for head in ("rule", "among", "taken", "why")]
    rows = [(s.rule, natural_list(s.offered), natural_list(s.taken), s.why) for s in decision.steps]
    return Rows(heads, rows)


# Pictures


def draw_allocation(
    needed: int = 2,
    mask: int = 0,
    in_use: int = 0,
    unhealthy: int = 0,
    reusable: int = 0,
    plugin: str = "honest",
    moment: str = "first",
    follow: str = "",
) -> Picture:
    """The sets of a decision, for `explore`; a mask of 0 is none."""
    scene = allocation_scene(needed, in_use, unhealthy, reusable, moment)
    affinity = mask or None
    decision = decide(scene, affinity, plugin)
    if not decision.sets.in_use:  # settled before any set was made; what is held is held all the same
        held = scene.state.allocated_devices[RESOURCE]
        decision = replace(decision, sets=replace(decision.sets, in_use=held))
    if decision.error is not None:  # what was taken before the error is not given
        decision = replace(decision, sets=replace(decision.sets, taken=frozenset()))
    return allocation_picture(decision, scene.devices, affinity, follow)


def edge_of_alignment(mask: int = 0b01, in_use: int = 1) -> LivePicture:
    """One device fewer than are aligned, just as many, one more: side by side."""
    aligned = len(decide(allocation_scene(1, in_use), mask).sets.aligned)
    cases = []
    for more in (-1, 0, 1):
        scene = allocation_scene(aligned + more, in_use)
        heading = say("multiples.edge", needed=aligned + more, aligned=aligned)
        cases.append((heading, decide(scene, mask, _last_ones), scene.devices))
    return LivePicture(allocation_multiples(say("multiples.edge.title"), cases))


def _last_ones(request: ContainerPreferredAllocationRequest) -> Iterable[str]:
    """A wish that can be told from the kubelet's own order: what must be, then the last ones of the list."""
    others = [i for i in request.available_device_ids if i not in request.must_include_device_ids]
    count = request.allocation_size - len(request.must_include_device_ids)
    return (*request.must_include_device_ids, *others[len(others) - count :])


def plugins_side_by_side(*plugins: str, needed: int = 3, in_use: int = 3) -> LivePicture:
    """The same request to plugins that answer differently."""
    scene = allocation_scene(needed, in_use)
    cases = [(say(f"plugin.{plugin}"), decide(scene, None, plugin), scene.devices) for plugin in plugins]
    return LivePicture(allocation_multiples(say("multiples.plugins.title"), cases))


# Knobs


MASKS = {say("knob.no-mask"): 0, "{0}": 0b01, "{1}": 0b10, "{0,1}": 0b11}
"""The topology manager's masks; 0 stands for none."""

PLUGINS = {say(f"plugin.{name}"): name for name in ("honest", *_PREFER, "not asked")}
"""How the plugin answers GetPreferredAllocation."""

MOMENTS = {
    say(f"moment.{name}"): name
    for name in ("first", "held", "held more", "held unhealthy", "runs", "not registered", "all unhealthy")
}
"""What the kubelet knows of the container when it is asked."""

KNOBS = {
    "needed": range(1, 9),
    "mask": MASKS,
    "in_use": range(7),
    "unhealthy": range(4),
    "reusable": range(3),
    "plugin": PLUGINS,
    "moment": MOMENTS,
    "follow": {say("knob.nobody"): "", **{id_: id_ for id_ in _IDS}},
}
"""The knobs of `draw_allocation`, for `explore`."""

FRAMES: tuple[Mapping[str, object], ...] = (
    {"needed": 2},
    {"needed": 2, "in_use": 2, "unhealthy": 1},
    {"needed": 2, "in_use": 2, "unhealthy": 1, "mask": 0b10},
    {"needed": 3, "in_use": 1, "mask": 0b01, "plugin": "not on offer"},
    {"needed": 4, "in_use": 1, "mask": 0b01},
    {"needed": 3, "reusable": 2, "follow": "d7"},
    {"needed": 2, "plugin": "error"},
    {"needed": 7, "in_use": 2, "unhealthy": 1},
    {"needed": 2, "moment": "held unhealthy"},
)
"""Settings that a page without a kernel steps through."""
