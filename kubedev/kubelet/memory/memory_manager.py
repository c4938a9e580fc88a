"""The memory manager's static policy: memory of certain NUMA nodes for each container of a Guaranteed pod.

Memory and huge pages of every size are served together, from one group of nodes. Two groups never overlap: a node that
serves containers alone is in no wider group, and the nodes of a group serve nobody else. So a machine with free
memory may have no place left for a pod.

Source: `pkg/kubelet/cm/memorymanager/{memory_manager,policy_static}.go`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from kubedev.api.objects import Container, Pod
from kubedev.api.qos import GUARANTEED, get_pod_qos
from kubedev.kubelet.memory.memory_machine import (
    are_equal,
    check_known,
    free_on,
    released,
    taken,
    violates,
)
from kubedev.kubelet.memory.memory_masks import (
    Reusable,
    calculate_hints,
    find_best_hint,
    requested_resources,
)
from kubedev.kubelet.memory.memory_policy import MemoryPolicy
from kubedev.kubelet.memory.memory_state import (
    MEMORY_MANAGER_STATE_PATH,
    Assignments,
    Block,
    MachineState,
    MemoryManagerError,
    read_state,
    write_state,
)
from kubedev.kubelet.topology.bitmask import mask_of, nodes_of
from kubedev.kubelet.topology.hints import TopologyHint
from kubedev.kubelet.topology.topology import ANYWHERE, Refusal

__all__ = [
    "MemoryDecision",
    "MemoryManagerState",
    "add_container",
    "allocate",
    "remove_container",
    "remove_stale_state",
    "start",
]


@dataclass(frozen=True, slots=True)
class MemoryManagerState:
    """The memory manager as a value; with `policy` None nothing is ever assigned.

    `reusable` is what finished init containers of the pod that was admitted last had, by pod uid and mask.
    """

    policy: MemoryPolicy | None = None
    machine: MachineState = field(default_factory=dict)
    assignments: Assignments = field(default_factory=dict)
    reusable: Mapping[str, Reusable] = field(default_factory=dict)

    @property
    def policy_name(self) -> str:
        """None or Static."""
        return "Static" if self.policy else "None"

    @property
    def checkpoint(self) -> str:
        """The text of the file memory_manager_state, which is written at every change."""
        return write_state(self.policy_name, self.machine, self.assignments)

    def blocks(self, pod_uid: str, container: str) -> tuple[Block, ...] | None:
        """What a container has; None if it is not known. (Go: `GetMemoryBlocks`)"""
        return self.assignments.get(pod_uid, {}).get(container)

    @property
    def allocatable(self) -> tuple[Block, ...]:
        """What there is for containers, by node and type. (Go: `GetAllocatableMemory`)"""
        if self.policy is None:
            return ()
        return tuple(
            Block((node,), resource, table.allocatable)
            for node, state in sorted(self.machine.items())
            for resource, table in sorted(state.memory_map.items())
            if table.allocatable
        )


def start(
    policy: MemoryPolicy | None, checkpoint: str | None = None, path: str = MEMORY_MANAGER_STATE_PATH
) -> MemoryManagerState:
    """The state after the kubelet's start, from its file (None if there is none), or MemoryManagerError.

    Everything is worked out again from the assignments, and has to be what the file says.

    Source: `memory_manager.go: Start`, `policy_static.go: validateState`.
    """
    state = MemoryManagerState(policy)
    if checkpoint is not None:
        machine, assignments = read_state(checkpoint, state.policy_name, path)
        state = replace(state, machine=machine, assignments=assignments)
    if policy is None:
        return state
    if not state.machine:
        if state.assignments:
            raise MemoryManagerError(
                "[memorymanager] machine state can not be empty when it has memory assignments"
            )
        return replace(state, machine=policy.default_machine_state())
    expected = policy.default_machine_state()
    for uid, containers in sorted(state.assignments.items()):
        for name, blocks in sorted(containers.items()):
            for block in blocks:
                check_known(expected, block, f"(pod: {uid}, container: {name})")
                expected = taken(expected, block.numa_affinity, block.type, block.size)
    if not are_equal(state.machine, expected):
        raise MemoryManagerError("[memorymanager] the expected machine state is different from the real one")
    return state


# Allocation


@dataclass(frozen=True, slots=True)
class MemoryDecision:
    """What a container got and why. `affinity` is what the topology manager said, `hint` what was kept to.

    They differ where there was no affinity, or one that has not enough: then it was widened.
    """

    pod_uid: str
    container: str
    reason: Literal["policy None", "not Guaranteed", "kept", "assigned", "refused"]
    requested: Mapping[str, int] = field(default_factory=dict)
    affinity: TopologyHint = ANYWHERE
    hint: TopologyHint | None = None
    blocks: tuple[Block, ...] = ()
    refusal: Refusal | None = None
    error: str | None = None


def allocate(
    state: MemoryManagerState, pod: Pod, container: Container, affinity: TopologyHint = ANYWHERE
) -> tuple[MemoryManagerState, MemoryDecision]:
    """Give a container memory of certain nodes, if its pod is Guaranteed. Source: `policy_static.go: Allocate`."""
    decision = MemoryDecision(pod.uid, container.name, "assigned", affinity=affinity)
    if state.policy is None:
        return state, replace(decision, reason="policy None")
    if get_pod_qos(pod).qos_class != GUARANTEED:
        return state, replace(decision, reason="not Guaranteed")
    held = state.blocks(pod.uid, container.name)
    if held is not None:
        return _with_reusable(state, pod, container, held), replace(decision, reason="kept", blocks=held)
    try:
        requested = requested_resources(container)
        decision = replace(decision, requested=requested)
        hint = _best_hint(state, pod, requested, affinity)
    except MemoryManagerError as error:
        text = str(error)
        return state, replace(decision, reason="refused", error=text, refusal=Refusal.unexpected(text))
    nodes = nodes_of(hint.numa_node_affinity or 0)
    blocks = tuple(Block(nodes, resource, size) for resource, size in sorted(requested.items()))
    reusable = state.reusable.get(pod.uid, {}).get(hint.numa_node_affinity or 0, {})
    machine = state.machine
    for block in blocks:
        needed = max(0, block.size - reusable.get(block.type, 0))
        machine = taken(machine, nodes, block.type, needed)
    state = _with_reusable(replace(state, machine=machine), pod, container, blocks)
    state = _with_blocks(state, pod.uid, container.name, blocks)
    return _without_reused(state, pod, container, blocks), replace(decision, hint=hint, blocks=blocks)


def _best_hint(
    state: MemoryManagerState, pod: Pod, requested: Mapping[str, int], affinity: TopologyHint
) -> TopologyHint:
    """The topology manager's hint, if it is one and suffices; else the best one that it lies in."""
    machine, best = state.machine, affinity
    if affinity.numa_node_affinity is None:
        hints = calculate_hints(machine, requested, state.reusable.get(pod.uid, {}))
        if not hints:
            raise MemoryManagerError(
                "[memorymanager] failed to get the default NUMA affinity, "
                "no NUMA nodes with enough memory is available"
            )
        best = find_best_hint(hints)
        if affinity.preferred and not best.preferred:
            raise MemoryManagerError("[memorymanager] failed to find the default preferred hint")
    mask = best.numa_node_affinity or 0
    if any(free_on(machine, mask, resource) < size for resource, size in requested.items()):
        hints = calculate_hints(machine, requested, state.reusable.get(pod.uid, {}))
        wider = find_best_hint(hints, including=mask)
        if wider.numa_node_affinity is None:
            raise MemoryManagerError(
                "[memorymanager] failed to find NUMA nodes to extend the current topology hint"
            )
        if best.preferred and not wider.preferred:
            raise MemoryManagerError("[memorymanager] failed to find the extended preferred hint")
        best = wider
    if violates(machine, nodes_of(best.numa_node_affinity or 0)):
        raise MemoryManagerError("[memorymanager] preferred hint violates NUMA node allocation")
    return best


def _with_blocks(
    state: MemoryManagerState, pod_uid: str, container: str, blocks: tuple[Block, ...]
) -> MemoryManagerState:
    containers = {**state.assignments.get(pod_uid, {}), container: blocks}
    return replace(state, assignments={**state.assignments, pod_uid: containers})


# What init containers leave to those after them


def _with_reusable(
    state: MemoryManagerState, pod: Pod, container: Container, blocks: tuple[Block, ...]
) -> MemoryManagerState:
    """Offer an init container's memory to the pod's next containers, or take away what this one goes on using.

    Source: `policy_static.go: updatePodReusableMemory`.
    """
    by_mask = {mask: dict(sizes) for mask, sizes in state.reusable.get(pod.uid, {}).items()}
    init = next((c for c in pod.init_containers if c.name == container.name), None)
    ends = init is not None and not init.restartable
    for block in blocks:
        mask = mask_of(block.numa_affinity)
        before = by_mask.get(mask, {}).get(block.type, 0)
        if ends:
            by_mask.setdefault(mask, {})[block.type] = max(before, block.size)
        elif before:
            by_mask[mask][block.type] = max(0, before - block.size)
    return replace(state, reusable={pod.uid: by_mask} if by_mask else {})


def _without_reused(
    state: MemoryManagerState, pod: Pod, container: Container, blocks: tuple[Block, ...]
) -> MemoryManagerState:
    """Take off the init containers' blocks what this container goes on using, so that the sum is right.

    Source: `policy_static.go: updateInitContainersMemoryBlocks`.
    """
    names = [c.name for c in pod.init_containers]
    before = names[: names.index(container.name)] if container.name in names else names
    ending = [c.name for c in pod.init_containers if c.name in before and not c.restartable]
    for block in blocks:
        left = block.size
        for name in ending:
            kept = []
            for own in state.blocks(pod.uid, name) or ():
                same = own.type == block.type and set(own.numa_affinity) == set(block.numa_affinity)
                part = min(left, own.size) if same else 0
                left -= part
                kept.append(replace(own, size=own.size - part))
            if kept:
                state = _with_blocks(state, pod.uid, name, tuple(kept))
    return state


# Release


def remove_container(state: MemoryManagerState, pod_uid: str, container: str) -> MemoryManagerState:
    """Free the memory of a container that is gone. Source: `policy_static.go: RemoveContainer`."""
    blocks = state.blocks(pod_uid, container)
    if blocks is None or state.policy is None:
        return state
    machine = state.machine
    for block in blocks:
        machine = released(machine, block)
    siblings = {name: own for name, own in state.assignments[pod_uid].items() if name != container}
    others = {uid: containers for uid, containers in state.assignments.items() if uid != pod_uid}
    assignments = {**others, pod_uid: siblings} if siblings else others
    return replace(state, machine=machine, assignments=assignments)


def add_container(state: MemoryManagerState, pod: Pod, container: str) -> MemoryManagerState:
    """A container starts: init containers before it are over, and what they still have is free.

    Source: `memory_manager.go: AddContainer`.
    """
    for init in pod.init_containers:
        if init.name == container:
            break
        if not init.restartable:
            state = remove_container(state, pod.uid, init.name)
    return state


def remove_stale_state(state: MemoryManagerState, active_pods: Collection[Pod]) -> MemoryManagerState:
    """Free the memory of containers that are in no active pod; done before hints and before allocations.

    Not before all sources of pods have been seen. Source: `memory_manager.go: removeStaleState`.
    """
    active = {(pod.uid, c.name) for pod in active_pods for c in (*pod.init_containers, *pod.containers)}
    for uid, containers in state.assignments.items():
        for container in containers:
            if (uid, container) not in active:
                state = remove_container(state, uid, container)
    return state
