"""The first screens of labs 04 to 06: devices through their sets, masks over a machine, two hints into one."""

from dataclasses import replace

from kubedev.api.messages import HEALTHY, UNHEALTHY, Device
from kubedev.kubelet.devices.allocation import DeviceRequest
from kubedev.kubelet.devices.capacity import with_plugin
from kubedev.kubelet.devices.devices import DeviceManagerState
from kubedev.kubelet.topology.bitmask import iterate_bit_masks
from kubedev.kubelet.topology.hints import count_mask_by_mask, device_hints
from kubedev.kubelet.topology.merge import NUMAInfo, filter_providers_hints, permutations
from kubedev.views.board import Board, BoardRow, Head
from kubedev.views.catalogue import say
from kubedev.views.firsts import First, allocated, screen
from kubedev.views.grammar import Card, Column, Row, Space, Words
from kubedev.views.masks import mask_words
from kubedev.views.parts import Cells
from kubedev.views.parts import Device as Shown
from kubedev.views.path_devices import numa_text
from kubedev.views.picture import Look
from kubedev.views.style import DeviceState

__all__ = ["masks", "merged", "taken"]

_GPU = "nvidia.com/gpu"
_SETS = ("all", "healthy", "available", "aligned", "taken")


def taken() -> First:
    """Lab 04: a decision of devices_to_allocate, set by set; the plugin has no preference."""
    ids = tuple(f"d{n}" for n in range(6))
    devices = {i: Device(i, UNHEALTHY if i == "d1" else HEALTHY, (int(i[1]) // 4,)) for i in ids}
    state = with_plugin(DeviceManagerState(), _GPU, tuple(devices.values()))
    state = replace(state, allocated_devices={_GPU: frozenset({"d4"})})
    sets = allocated(state, DeviceRequest("web", "main", _GPU, 2), affinity=0b01).sets
    heads = [Head(say(f"sets.{name}")) for name in _SETS]
    bodies = []
    for now in range(len(_SETS)):
        rows = []
        for i in ids:
            member = [i in getattr(sets, name) for name in _SETS]
            cells = [
                Shown(i[1:], _state(i, name, state)) if there and n <= now else None
                for n, (name, there) in enumerate(zip(_SETS, member, strict=True))
            ]
            label = numa_text(devices[i].numa_nodes or ())
            rows.append(BoardRow(label, tuple(cells), "strong" if member[-1] else "faint"))
        bodies.append(Card("", Board(heads, rows, size=24)))
    return screen("04", [say(f"sets.{name}") for name in _SETS], bodies, still=3)


def _state(device: str, column: str, state: DeviceManagerState) -> DeviceState:
    if device in state.unhealthy_devices[_GPU]:
        return DeviceState.UNHEALTHY
    used = device in state.allocated_devices[_GPU]
    return DeviceState.ALLOCATED if used or column == "taken" else DeviceState.FREE


def masks() -> First:
    """Lab 05: every mask over the machine, and what is free inside; which of them become hints is not said."""
    devices = {f"{'ab'[n // 3]}{n % 3}": Device("", numa_nodes=(n // 3,)) for n in range(6)}
    used = {"a0", "b1", "b2"}
    places = {i: device.numa_nodes for i, device in devices.items()}
    counts = {c.mask: c for c in count_mask_by_mask(places, frozenset(places) - used, frozenset(), (0, 1))}
    bodies, names = [], []
    for mask in iterate_bit_masks((0, 1)):
        cards = []
        for node in (0, 1):
            look: Look = "mask" if mask >> node & 1 else "plain"
            held = [i for i, device in devices.items() if device.numa_nodes == (node,)]
            states = [DeviceState.ALLOCATED if i in used else DeviceState.FREE for i in held]
            cells = [Shown(i, s, key=f"cell/{i}") for i, s in zip(held, states, strict=True)]
            cards.append(
                Card(
                    f"NUMA {node}", Space(6), Cells(*cells, high=50), look=look, key=f"numa/{node}", high=110
                )
            )
        words = say(
            "first.05.inside", mask=mask_words(mask), free=counts[mask].available, all=counts[mask].all
        )
        bodies.append(Column(Row(*cards, gap=24), Words(words, bold=True, size=16, anchor="middle")))
        names.append(mask_words(mask))
    return screen("05", names, bodies, still=2)


def merged() -> First:
    """Lab 06: the permutations of two resources' hints, one by one."""
    gpus = {f"g{n}": Device(f"g{n}", numa_nodes=(n,)) for n in (0, 1)}
    nics = {"n0": Device("n0", numa_nodes=(1,))}
    offers = [
        device_hints(name, 1, held, frozenset(held), (0, 1)) for name, held in (("gpu", gpus), ("nic", nics))
    ]
    filtered = filter_providers_hints([{offer.resource: offer.hints} for offer in offers])
    tried = list(permutations(filtered, NUMAInfo((0, 1))))
    bodies = []
    for permutation in tried:
        cards = []
        for offer, chosen in zip(filtered, permutation.hints, strict=True):
            boxes = [
                Card(
                    mask_words(hint.numa_node_affinity or 0),
                    look="lit" if hint == chosen else "plain",
                    high=32,
                )
                for hint in offer.hints
            ]
            cards.append(Card(say("first.06.offers", what=offer.resource), Row(*boxes, gap=8)))
        common = permutation.merged.numa_node_affinity
        words = mask_words(common) if common else say("first.06.none")
        place = Card(say("first.06.common"), Card(words, look="mask" if common else "dead", high=32))
        bodies.append(Column(Row(*cards, gap=24), Row(Space(), place, Space(), shares=(1, 1, 1)), gap=16))
    return screen("06", [str(n) for n in range(1, len(tried) + 1)], bodies, still=2)
