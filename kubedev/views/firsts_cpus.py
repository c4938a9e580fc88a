"""The first screen of lab 13, a machine whose CPUs are shared until somebody takes some; and its picture."""

from collections.abc import Sequence

from kubedev.api.objects import Container, Pod
from kubedev.api.quantity import Quantity
from kubedev.kubelet.cpu.cpu_manager import CPUManagerState, allocate, start
from kubedev.kubelet.cpu.cpu_policy import NO_CPUS, new_static_policy
from kubedev.kubelet.cpu.cpu_topology import CPUTopology
from kubedev.views.catalogue import say
from kubedev.views.cpus import CPUBoard, May, cpus_picture
from kubedev.views.firsts import First, screen
from kubedev.views.picture import Picture
from kubedev.views.style import WIDTH

__all__ = ["cpus", "taking"]

_MACHINE = CPUTopology.regular(sockets=2, cores=3, threads=2, dealt=True)


def taking() -> First:
    """Lab 13: a pod takes half of the CPUs out of the pool; another asks, and which it gets is not told."""
    before, after = _after(0), _after(6)
    moments = (
        _board(before, ()),
        _board(before, ("web",)),
        _board(after, ("web", "trainer")),
        _board(after, ("web", "trainer"), asks=3),
    )
    return screen("13", say("first.13.steps").split("|"), moments, still=2)


def cpus(width: float = WIDTH) -> Picture:
    """Lab 13: who may run where, after a request of three."""
    board = _board(_after(3), ("web", "batch", "trainer"))
    return cpus_picture(say("cpus.title"), board.says(), board, width=width)


def _after(count: int) -> CPUManagerState:
    """The CPU manager after a container has asked for so many CPUs of its own."""
    amounts = {"cpu": Quantity.of(count), "memory": Quantity.parse("1Gi")}
    main = Container("main", requests=amounts, limits=amounts)
    state = start(new_static_policy(_MACHINE, 1))
    return allocate(state, Pod("trainer", uid="trainer", containers=(main,)), main)[0]


def _board(state: CPUManagerState, pods: Sequence[str], asks: int = 0) -> CPUBoard:
    own = state.assigned("trainer", "main")
    about = {"web": "Burstable", "batch": "BestEffort", "trainer": f"cpu {len(own or ())}"}
    rows = [
        May(pod, about[pod], own if pod == "trainer" else state.default, pod == "trainer") for pod in pods
    ]
    if asks:
        rows.append(May("analyst", f"cpu {asks}", None, instead=say("first.13.which")))
    reserved = state.policy.reserved if state.policy else NO_CPUS
    return CPUBoard(_MACHINE, own or NO_CPUS, reserved, rows, names=100.0)
