"""Machines whose kubelet gives CPUs of their own to containers: which ones, to whom, and whether it starts again."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from kubedev.api.names import CPU, MEMORY
from kubedev.api.objects import Pod
from kubedev.api.qos import get_pod_qos
from kubedev.api.quantity import Quantity
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.cpu.cpu_manager import CPUDecision
from kubedev.kubelet.cpu.cpu_policy import NO_CPUS
from kubedev.kubelet.cpu.cpu_topology import CPUTopology
from kubedev.kubelet.cpu.cpuset import CPUSet
from kubedev.kubelet.cpu.cpuset import format_cpus as format_cpus
from kubedev.kubelet.cpu.cpuset import parse_cpus as parse_cpus
from kubedev.kubelet.memory.memory_policy import MemoryReservation, NUMAMemory
from kubedev.kubelet.pressure.cgroups import cgroup_v2_files
from kubedev.kubelet.pressure.pod_cgroup import CgroupSettings, container_resources
from kubedev.kubelet.topology.merge import NUMAInfo
from kubedev.lab.machine import Machine
from kubedev.views.catalogue import say
from kubedev.views.cpus import CPUBoard, May, cpus_picture, requests_picture, starts_picture, steps, why
from kubedev.views.live import LivePicture
from kubedev.views.picture import Picture
from kubedev.views.stage import Frame, Stage

OPTIONS = (
    "full-pcpus-only",
    "distribute-cpus-across-cores",
    "distribute-cpus-across-numa",
    "align-by-socket",
    "strict-cpu-reservation",
    "prefer-align-cpus-by-uncorecache",
)


def settings(
    sockets: int = 2,
    cores: int = 3,
    threads: int = 2,
    *,
    nodes: int = 1,
    caches: int = 1,
    dealt: bool = True,
    reserved: str = "0",
    options: str = "",
    alpha: bool = True,
    memory: int = 0,
    **more: Any,
) -> KubeletConfig:
    """A kubelet's settings with the static policy, and its machine: `nodes` a socket, `cores` and `caches` a NUMA node.

    `options` are those of the policy that are on, `alpha` is the gate of most of them. With `memory`, GiB a NUMA node,
    the memory manager has the policy Static, and 1 GiB of node 0 is reserved. `more` are other fields of KubeletConfig.
    """
    topology = CPUTopology.regular(sockets, nodes, cores, threads, caches, dealt=dealt)
    fields: dict[str, Any] = {"cpu_manager_policy": "static", "reserved_system_cpus": parse_cpus(reserved)}
    if memory:
        fields["memory_manager_policy"] = "Static"
        fields["numa_memory"] = tuple(NUMAMemory(n, memory << 30) for n in range(topology.num_numa_nodes))
        fields["reserved_memory"] = (MemoryReservation(0, {MEMORY: Quantity.parse("1Gi")}),)
        fields["system_reserved"] = ((MEMORY, "924Mi"),)  # and 100Mi of hard eviction
    return KubeletConfig(
        NUMAInfo(tuple(range(topology.num_numa_nodes))),
        cpu_topology=topology,
        cpu_manager_policy_options=tuple((option, "true") for option in options.split()),
        feature_gates=(("CPUManagerPolicyAlphaOptions", alpha),),
        **{**fields, **more},
    )


# Pods come


def admitted(machine: Machine, *pods: Pod) -> Machine:
    """The machine after these pods have come, one after another."""
    for pod in pods:
        machine = machine.admit(pod, *_policy(machine))[0]
    return machine


def _policy(machine: Machine) -> tuple[str, str]:
    config = machine.kubelet.config
    return config.topology_manager_policy, config.topology_manager_scope


def decisions(machine: Machine, pod: Pod) -> list[CPUDecision]:
    """What the CPU manager decides about each container of a pod that comes, up to the first refusal."""
    made = machine.admit(pod, *_policy(machine))[1].allocations
    return [each.decision for each in made if isinstance(each.decision, CPUDecision)]


def of(machine: Machine, pod: str, container: str = "main") -> str:
    """A container's own CPUs as Linux writes them; `shared` where it has none."""
    own = machine.kubelet.cpus.assigned(pod, container)
    return format_cpus(own) if own else say("cpus.none")


def cgroup(machine: Machine, pod: str) -> dict[str, dict[str, str]]:
    """The files of each container's cgroup that say on which CPUs, with which weight and within which quota it runs."""
    there = machine.kubelet.pods[pod].pod
    files = {}
    for container in (*there.init_containers, *there.containers):
        config = container_resources(there, container, CgroupSettings(memory_capacity=64 << 30)).config()
        cpus = format_cpus(machine.kubelet.cpus.cpus_of(pod, container.name))
        files[container.name] = {"cpuset.cpus": cpus, **cgroup_v2_files(config, {})}
    return files


def restarted(machine: Machine, config: KubeletConfig, file: str | None = None) -> Machine:
    """The machine after its kubelet was started again with these settings: its files are read, and its pods come again.

    `file` is the text that it finds as the CPU manager's, if it is not what was written. ValueError with Kubernetes'
    text where it does not start.
    """
    old = machine.kubelet
    new = Machine.set_up(config).kubelet
    devices = replace(new.devices, sources_ready=False)  # nothing is forgotten before all pods have come
    cpus = config.cpus(old.cpus.checkpoint if file is None else file)
    memory = config.memory(old.memory.checkpoint)
    state = replace(new, devices=devices, cpus=cpus, memory=memory)
    pods = (record.pod for record in old.pods.values() if record.active)
    return admitted(Machine(state), *pods)


def start_error(config: KubeletConfig, machine: Machine | None = None, file: str | None = None) -> str:
    """Why a kubelet does not start with these settings, over a machine's files if there is one; empty if it does.

    `file` is another text for the CPU manager's file.
    """
    try:
        Machine.set_up(config) if machine is None else restarted(machine, config, file)
    except ValueError as error:
        return str(error)
    return ""


# Pictures


def draw(machine: Machine, new: Pod | None = None, piece: int = 99) -> Picture:
    """A machine's CPUs and its containers, after the pod `new` has come; `piece` pieces of its CPUs are taken."""
    if new is None:
        return cpus_picture(say("cpus.title"), say("cpus.nobody"), _board(machine, rows=True))
    made, after = decisions(machine, new), admitted(machine, new)
    pieces = [step.cpus for step in steps(made[-1])]
    lit = NO_CPUS.union(*pieces[:piece])
    after = _without(after, new.uid, made[-1].container, NO_CPUS.union(*pieces[piece:]))
    names = {each.container: _name(new, each.container) for each in made}
    told = "; ".join(say("cpus.told", name=names[each.container], why=why(each, piece)) for each in made)
    return cpus_picture(say("cpus.title"), told, _board(after, lit, rows=True))


def _without(machine: Machine, pod: str, container: str, later: CPUSet) -> Machine:
    """The machine on which a container does not have some of its CPUs yet."""
    state = machine.kubelet.cpus
    if not later:
        return machine
    own = {**state.assignments[pod], container: state.cpus_of(pod, container) - later}
    before = replace(state, default=state.default | later, assignments={**state.assignments, pod: own})
    return replace(machine, kubelet=replace(machine.kubelet, cpus=before))


def show(config: KubeletConfig, *pods: Pod) -> Stage:
    """A stage on which pods come to an empty machine, one after another."""
    machine = Machine.set_up(config)
    frames = [Frame(draw(machine))]
    for pod in pods:
        frames.append(Frame(draw(machine, pod), "you", pod.name))
        machine = admitted(machine, pod)
    return Stage(frames, since=1, play=True)


def side_by_side(title: str, cases: Mapping[str, tuple[Machine, Pod]]) -> LivePicture:
    """Small multiples: what a pod gets on each machine, and why."""
    shown = {}
    for name, (machine, pod) in cases.items():
        made, after = decisions(machine, pod), admitted(machine, pod)
        policy = machine.kubelet.config.topology_manager_policy
        said = why(made[-1]) if made else say("cpus.nowhere", policy=policy)
        own = made[-1].cpus if made else None
        shown[name] = (_board(after, own or NO_CPUS), [*_rows(after)][-1], said)
    return LivePicture(requests_picture(title, say("cpus.cases", count=len(cases)), shown))


def restarts(title: str, cases: Mapping[str, tuple[Machine, KubeletConfig]]) -> LivePicture:
    """Kubelets that start with other settings over the files of before, and what each of them says."""
    errors = {name: start_error(config, machine) for name, (machine, config) in cases.items()}
    sentence = say("cpus.restarts", starts=sum(not error for error in errors.values()), count=len(cases))
    return LivePicture(starts_picture(title, sentence, errors))


def _board(machine: Machine, lit: frozenset[int] = NO_CPUS, rows: bool = False) -> CPUBoard:
    kubelet = machine.kubelet
    taken = NO_CPUS.union(*(own for held in kubelet.cpus.assignments.values() for own in held.values()))
    reserved = kubelet.cpus.policy.reserved if kubelet.cpus.policy else NO_CPUS
    shown = [*_rows(machine)] if rows else []
    shared, withheld = reserved & kubelet.cpus.default, reserved - kubelet.cpus.default
    return CPUBoard(kubelet.config.cpus_of_machine, taken, shared, shown, lit, 175.0 * rows, withheld)


def _name(pod: Pod, container: str) -> str:
    """What a container is called: by its pod alone, if there is no other one in it."""
    return pod.name if len(pod.init_containers) + len(pod.containers) == 1 else f"{pod.name}/{container}"


def _rows(machine: Machine) -> Iterator[May]:
    cpus = machine.kubelet.cpus
    for uid, record in machine.kubelet.pods.items():
        containers, qos = (
            (*record.pod.init_containers, *record.pod.containers),
            get_pod_qos(record.pod).qos_class,
        )
        for c in containers:
            about = say("cpus.asks", qos=qos, cpu=c.requests[CPU]) if CPU in c.requests else qos
            its = cpus.cpus_of(uid, c.name) if record.active else None
            yield May(
                _name(record.pod, c.name), about, its, bool(cpus.assigned(uid, c.name)), say("cpus.refused")
            )
