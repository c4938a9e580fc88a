"""Invariants of a machine: what it must answer, and which device stands in the way."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kubedev.api.messages import Device
from kubedev.kubelet.topology.hints import MaskVerdict, ResourceHints, TopologyHint, written_out
from kubedev.kubelet.topology.topology import decide
from kubedev.lab.check import Checked, tried
from kubedev.lab.explore import Explorer
from kubedev.lab.machine import POLICIES, Machine, on
from kubedev.views.catalogue import say
from kubedev.views.masks import mask_words

__all__ = [
    "MachineInvariant",
    "admits",
    "check_enough",
    "one_change",
    "only_preferred",
    "passes",
    "pods_run",
    "tries",
    "two_holders",
]

if TYPE_CHECKING:
    from networkx import DiGraph

MachineInvariant = Callable[[Machine], Iterator[str]]


def _on_mask(machine: Machine, resource: str, mask: int) -> list[str]:
    devices = machine.kubelet.devices.all_devices[resource].values()
    return [d.id for d in devices if any(mask >> node & 1 for node in d.numa_nodes or ())]


def check_enough(enough: "Callable[[DiGraph, int], Iterable[int]]") -> Checked:
    """Whether a function of a machine's graph names the NUMA nodes that have so many devices, as the kubelet counts."""
    machines = {
        "a0 a1, b0, x, y": Machine.of(gpu=on(0, "a0 a1") + on(1, "b0") + on((0, 1), "x") + on(None, "y")),
        "4 NUMA nodes": Machine.of(4, cpus=2, gpu=on(1, "a0 a1 a2") + on(3, "b0")).taken("a0"),
    }
    cases = {}
    for name, machine in machines.items():
        for count in (1, 2, 3):
            masks = next(iter(machine.hints(gpu=count))).masks
            right = {each.counts.mask.bit_length() - 1 for each in masks
                     if each.counts.mask.bit_count() == 1 and each.counts.all >= count}  # fmt: skip
            cases[say("check.enough", machine=name, count=count)] = (machine.graph(), count), right
    return tried(lambda case: set(enough(*case)), cases)


def admits(*policies: str, pod: str = "new", **asked: int) -> MachineInvariant:
    """These policies (all, if none is named) admit a pod that asks for so many."""

    def broken(machine: Machine) -> Iterator[str]:
        for policy in policies or POLICIES:
            decision = machine.decide(policy, **asked)
            if decision.admit:
                continue
            yield say(
                "check.numa.refused",
                policy=policy,
                pod=pod,
                reason="TopologyAffinityError",
                mask=mask_words(decision.hint.numa_node_affinity),
                preferred=say("merge.is.preferred" if decision.hint.preferred else "merge.not.preferred"),
            )
            for hints in machine.hints(**asked):
                yield from _why(machine, hints, pod)
            return

    return broken


def _why(machine: Machine, hints: ResourceHints, pod: str) -> Iterator[str]:
    """Why a resource's hints are not enough."""
    if hints.hints == ():
        placed = _on_mask(machine, hints.resource, -1)
        devices = sorted(machine.kubelet.devices.free(hints.resource) & set(placed))
        listed = ", ".join(devices) or say("set.none")
        yield say(
            "check.numa.cannot", resource=hints.resource, pod=pod, devices=listed, request=hints.request
        )
    for mask in hints.masks:
        if mask.verdict == "not preferred":
            yield _not_preferred(machine, hints, mask, pod)


def _not_preferred(machine: Machine, hints: ResourceHints, mask: MaskVerdict, pod: str) -> str:
    smaller = next(m.counts for m in hints.masks if m.counts.all >= hints.request)
    return say(
        "check.numa.not-preferred",
        mask=mask_words(mask.counts.mask),
        pod=pod,
        smaller=mask_words(smaller.mask),
        all=smaller.all,
        devices=", ".join(_on_mask(machine, hints.resource, smaller.mask)),
        request=hints.request,
    )


def only_preferred(mask: int, pod: str = "new", **asked: int) -> MachineInvariant:
    """This mask is preferred, and no other is."""

    def broken(machine: Machine) -> Iterator[str]:
        (hints,) = machine.hints(**asked)
        for verdict in hints.masks:
            counts = verdict.counts
            if counts.mask != mask and verdict.verdict == "preferred":
                there = sorted(
                    set(_on_mask(machine, hints.resource, counts.mask))
                    & machine.kubelet.devices.free(hints.resource)
                )
                yield say("check.numa.preferred-too", mask=mask_words(counts.mask), devices=", ".join(there))
            if counts.mask == mask and verdict.verdict == "too few":
                yield say(
                    "check.numa.no-hint",
                    mask=mask_words(mask),
                    pod=pod,
                    free=counts.available,
                    all=counts.all,
                    request=hints.request,
                )
            if counts.mask == mask and verdict.verdict == "not preferred":
                yield _not_preferred(machine, hints, verdict, pod)

    return broken


def pods_run(policy: str, *pods: str) -> MachineInvariant:
    """These pods are there, and the policy has admitted them."""

    def broken(machine: Machine) -> Iterator[str]:
        for name in pods:
            record = machine.kubelet.pods.get(name)
            if record is None:
                yield say("check.no-pod", pod=name)
            elif not record.active:
                requests = record.pod.containers[0].requests
                asked = {full.rpartition("/")[2]: amount.value() for full, amount in requests.items()}
                yield from admits(policy, pod=name, **asked)(machine)

    return broken


Provider = Callable[[int, tuple[TopologyHint, ...]], Any]
"""A hint provider of a reader's own: from the number that is asked and the hints that could serve it, to its answer."""


def passes(provider: Provider, pods: Mapping[str, int], admit: bool = True) -> MachineInvariant:
    """With this provider of GPUs the pods, which ask for so many, are admitted by every policy that merges, or refused
    by single-numa-node.
    """

    def broken(machine: Machine) -> Iterator[str]:
        policies = POLICIES[1:] if admit else POLICIES[-1:]
        for pod, count in pods.items():
            try:
                said = provider(count, written_out(machine.hints(gpu=count)[0].hints) if count else ())
                made = [decide(machine.manager(policy), [said]).admit for policy in policies]
            except Exception as error:  # whatever a reader's function does
                yield say("check.error", what=f"pod {pod}", error=repr(error))
                continue
            if admit not in made or not all(each == admit for each in made):
                policy = policies[made.index(not admit)]
                key = "check.merge.refused" if admit else "check.merge.admitted"
                yield say(key, pod=pod, count=count, policy=policy, said=repr(said))

    return broken


def tries(
    choose: Callable[[Sequence[Device], Sequence[int]], Collection[int]], machines: Mapping[str, Machine]
) -> MachineInvariant:
    """A function chooses NUMA nodes of these machines so that no device is left out, and no more than that takes."""

    def broken(_: Machine) -> Iterator[str]:
        for name, machine in machines.items():
            devices, everywhere = tuple(machine.devices.values()), machine.kubelet.config.numa.nodes
            try:
                tried = set(choose(devices, everywhere))
            except Exception as error:  # whatever a reader's function does
                yield say("check.error", what=f"machine {name}", error=repr(error))
            else:
                yield from _tried(name, devices, tried, everywhere)

    return broken


def _tried(name: str, devices: Sequence[Device], tried: set[int], everywhere: Sequence[int]) -> Iterator[str]:
    enough = {node for device in devices for node in device.numa_nodes or ()}
    for node in sorted(tried - set(everywhere)):
        yield say("check.merge.stranger", machine=name, node=node)
    for device in devices:
        for node in sorted(set(device.numa_nodes or ()) - tried):
            yield say("check.merge.left-out", machine=name, device=device.id, node=node)
    if len(tried) > len(enough):
        masks = f"{2 ** len(tried) - 1:,}"
        yield say("check.merge.many", machine=name, count=len(tried), masks=masks, enough=len(enough))


def one_change(explorer: Explorer) -> MachineInvariant:
    """At most one knob is set otherwise than at the start."""

    def broken(_: Machine) -> Iterator[str]:
        start: Mapping[str, Any] = explorer.history[0]
        changed = [name for name, value in explorer.values.items() if value != start[name]]
        if len(changed) > 1:
            yield say("check.numa.changes", count=len(changed), devices=", ".join(changed))

    return broken


def two_holders(explorer: Explorer) -> MachineInvariant:
    """Pods one and two hold a device each, and not the same."""

    def broken(_: Machine) -> Iterator[str]:
        if explorer.values["one"] == explorer.values["two"]:
            yield say("check.numa.same", first="one", second="two", device=explorer.values["one"])

    return broken
