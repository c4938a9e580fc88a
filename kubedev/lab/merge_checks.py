"""The exercises of lab 06: two pods in an order, a provider of one's own, and a machine with 34 NUMA nodes."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from kubedev.api.messages import Device
from kubedev.kubelet.topology.hints import TopologyHint, written_out
from kubedev.kubelet.topology.merge import NUMAInfo
from kubedev.kubelet.topology.topology import (
    BEST_EFFORT,
    NO_LOCALITY,
    RESTRICTED,
    SINGLE_NUMA_NODE,
    TopologyManager,
    decide,
)
from kubedev.lab.check import Checked
from kubedev.lab.machine import GPU, Machine, on, pod_asking
from kubedev.lab.machine_checks import MachineInvariant, admits
from kubedev.lab.merge_scene import board
from kubedev.views.cards import Card, cards_picture
from kubedev.views.catalogue import say
from kubedev.views.picture import Picture
from kubedev.views.stack import stack

__all__ = [
    "BIG_MACHINES",
    "answers_for_all",
    "both_run",
    "check_nodes_to_try",
    "check_provider",
    "draw_in_turn",
    "in_turn",
]

Provider = Callable[[int, tuple[TopologyHint, ...]], Any]


# Two pods, one after the other


def in_turn(first: int, second: int, single: str, **_: Any) -> Machine:
    """Three devices, one of them alone on its NUMA node, and the pods that ask for so many, in this order.

    `single` is the node with one device. A pod that is refused holds nothing.
    """
    alone, pair = (0, 1) if single == "NUMA 0" else (1, 0)
    machine = Machine.of(gpu=on(pair, "a0 a1") + on(alone, "b0"))
    for count in (first, second):
        machine, _admission = machine.admit(pod_asking(f"asks-{count}", {"gpu": count}), RESTRICTED)
    return machine


def both_run(machine: Machine) -> Iterator[str]:
    """A pod with one device and one with two are there, both admitted by restricted."""
    for count in (1, 2):
        name = f"asks-{count}"
        if name not in machine.kubelet.pods:
            yield say("check.merge.pods", count=count)
        elif not machine.kubelet.pods[name].active:
            broken: MachineInvariant = admits(RESTRICTED, pod=name, gpu=count)
            yield from broken(machine)


def draw_in_turn(first: int, second: int, single: str) -> Picture:
    """The machine after both, and what became of each."""
    machine = in_turn(first, second, single)
    cards = [_turn(machine, count) for count in dict.fromkeys((first, second))]
    sentence = say("scene.turn.sentence", first=first, second=second)
    return stack(
        say("scene.turn"),
        sentence,
        board(machine),
        cards_picture(say("scene.policies.head"), sentence, cards),
        heads=False,
    )


def _turn(machine: Machine, count: int) -> Card:
    name = f"asks-{count}"
    title = say("scene.turn.pod", count=count)
    if machine.kubelet.pods[name].active:
        return Card(
            title, (say("scene.admitted"), say("scene.gets", devices=", ".join(machine.held_by(name))))
        )
    return Card(title, (say("scene.refused", reason=NO_LOCALITY.reason),), "impossible")


# A provider of hints


def answers_for_all(request: int, masks: tuple[TopologyHint, ...]) -> dict[str, Any]:
    """A provider that has an answer for every pod: the masks that can serve it."""
    return {GPU: masks}


def check_provider(provider: Provider) -> Checked:
    """Whether pods pass that a provider has no say about, and only those that it can serve else."""
    return Checked(
        [*_refused(provider, "kube-dns", 0), *_refused(provider, "trainer", 1), *_greedy(provider)]
    )


def _asked(provider: Provider, request: int) -> Any:
    machine = Machine.of(gpu=on(0, "a0 a1") + on(1, "b0 b1"))
    masks = written_out(machine.hints(gpu=request)[0].hints) if request else ()
    return provider(request, masks or ())


def _decided(answer: Any, policy: str) -> bool:
    return decide(TopologyManager.new(policy, "container", NUMAInfo((0, 1))), [answer]).admit


def _refused(provider: Provider, pod: str, request: int) -> Iterator[str]:
    try:
        answer = _asked(provider, request)
        good = [_decided(answer, policy) for policy in (BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE)]
    except Exception as error:  # whatever a reader's function does
        yield say("check.merge.error", what=f"pod {pod}", error=repr(error))
        return
    if answer is not None and not isinstance(answer, Mapping):
        yield say("check.merge.no-dict", pod=pod, got=repr(answer))
    elif not all(good):
        policy = (BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE)[good.index(False)]
        yield say("check.merge.refused", pod=pod, count=request, policy=policy, said=repr(answer))


def _greedy(provider: Provider) -> Iterator[str]:
    try:
        answer = _asked(provider, 9)
        admitted = _decided(answer, SINGLE_NUMA_NODE)
    except Exception as error:  # whatever a reader's function does
        yield say("check.merge.error", what="pod greedy", error=repr(error))
        return
    if admitted:
        yield say("check.merge.admitted", pod="greedy", count=9, policy=SINGLE_NUMA_NODE, said=repr(answer))


# Thirty-four NUMA nodes

BIG_MACHINES: Mapping[str, tuple[Device, ...]] = {
    "tray": on(0, "a0 a1") + on(1, "b0 b1"),
    "far": on(2, "a0 a1") + on(33, "b0 b1"),
    "wide": on((0, 1), "a0") + on((1, 2), "b0") + on(None, "x0"),
}
"""Machines with 34 NUMA nodes by name: where their devices are."""


def check_nodes_to_try(
    nodes_to_try: Callable[[Sequence[Device], Sequence[int]], Collection[int]],
) -> Checked:
    """Whether a function chooses NUMA nodes so that no device is left out, and no more than that takes."""
    return Checked(
        [line for name, devices in BIG_MACHINES.items() for line in _nodes(name, devices, nodes_to_try)]
    )


def _nodes(
    machine: str,
    devices: Sequence[Device],
    choose: Callable[[Sequence[Device], Sequence[int]], Collection[int]],
) -> Iterator[str]:
    everywhere = range(34)
    enough = {node for device in devices for node in device.numa_nodes or ()}
    try:
        tried = set(choose(devices, everywhere))
    except Exception as error:  # whatever a reader's function does
        yield say("check.merge.error", what=f"machine {machine}", error=repr(error))
        return
    for node in sorted(tried - set(everywhere)):
        yield say("check.merge.stranger", machine=machine, node=node)
    for device in devices:
        for node in sorted(set(device.numa_nodes or ()) - tried):
            yield say("check.merge.left-out", machine=machine, device=device.id, node=node)
    if len(tried) > len(enough):
        masks = f"{2 ** len(tried) - 1:,}"
        yield say("check.merge.many", machine=machine, count=len(tried), masks=masks, enough=len(enough))
