"""The first screens of lab 07, where an init container gets its devices and the next container of its pod asks, and of
lab 08, where a kubelet ends and another one begins with its file.
"""

from collections.abc import Sequence

from kubedev.api.messages import (
    AllocateResponse,
    ContainerAllocateResponse,
    Device,
    converse,
)
from kubedev.api.objects import Container, Pod
from kubedev.api.quantity import Quantity
from kubedev.kubelet.devices.capacity import with_plugin
from kubedev.kubelet.devices.checkpoint import checkpoint_text
from kubedev.kubelet.devices.device_manager import AllocationDecision, allocate
from kubedev.kubelet.devices.devices import DeviceManagerState
from kubedev.views.catalogue import say
from kubedev.views.checkpoint import file_leaves
from kubedev.views.firsts import First, screen
from kubedev.views.grammar import Card, Part, Row, Space, Words
from kubedev.views.parts import Cells
from kubedev.views.parts import Device as Shown
from kubedev.views.picture import Look
from kubedev.views.style import DeviceState
from kubedev.views.tree import Leaf, Tree
from kubedev.views.wires import Way, Wired

__all__ = ["allocations", "forgotten", "reused"]

_GPU = "example.com/gpu"


def allocations(pod: Pod, ids: Sequence[str]) -> tuple[DeviceManagerState, list[AllocationDecision]]:
    """Give a pod's containers their devices, of so many that are free: the state after it, and the decisions."""
    state = with_plugin(DeviceManagerState(), _GPU, [Device(i) for i in ids])
    decisions = []
    for container in (*pod.init_containers, *pod.containers):
        talk = allocate(state, pod, container, [pod])
        state, decision = converse(talk, lambda _: AllocateResponse((ContainerAllocateResponse(),)))
        decisions.append(decision)
    return state, decisions


def reused() -> First:
    """Lab 07: what the init container gets is told; where the next one's devices come from is not."""
    ids, count = ("d0", "d1", "d2", "d3"), 2
    load, app = (Container(name, limits={_GPU: Quantity.of(count)}) for name in ("load", "app"))
    (decision, _) = allocations(Pod("web", uid="web", containers=(app,), init_containers=(load,)), ids)[1]
    taken, bodies = decision.decisions[0].devices or frozenset(), []
    for now in range(4):
        held = taken if now >= 2 else frozenset()
        free = [Shown(i, DeviceState.FREE, f"cell/{i}") for i in ids if i not in held]
        got = [Shown(i, DeviceState.ALLOCATED, f"cell/{i}") for i in ids if i in held]
        asks = say("first.07.asks", count=count)
        first = Card(say("first.07.init"), Words(asks if now else "", "muted"), Space(6), Cells(*got, high=44),
                     key="load", look="lit" if now in (1, 2) else "plain", high=150)  # fmt: skip
        where = say("first.07.where", count=count)
        second = Card(say("first.07.app"), Words(where if now == 3 else asks if now else "", "muted"),
                      key="app", look="lit" if now == 3 else "plain", high=150)  # fmt: skip
        node = Card(say("first.07.devices"), Space(26), Cells(*free, high=44), key="node", high=150)
        ways = [Way("node", "load", pill="Allocate" if now == 2 else "", number=now)] if now < 3 else []
        bodies.append(Wired(Row(node, Space(wide=110), first, second, shares=(1, 0, 1, 1), gap=12), *ways))
    return screen("07", say("first.07.steps").split("|"), bodies, still=2)


def forgotten() -> First:
    """Lab 08: what a kubelet has in its memory and what it writes; not what the next one knows."""
    app = Container("app", limits={_GPU: Quantity.of(2)})
    pod = Pod("trainer", uid="trainer", containers=(app,))
    state, _ = allocations(pod, ("d0", "d1", "d2", "d3"))
    held, bodies = sorted(state.allocated_devices[_GPU]), []
    for now in range(5):
        cells = [Shown(i, DeviceState.ALLOCATED, f"cell/{i}") for i in held]
        known: list[Part] = [Words(say("restart.held", name="trainer"), "muted"), Cells(*cells, high=40)]
        if now >= 2:
            known = [Words(say("first.08.gone" if now == 2 else "first.08.empty"), "muted")]
        asks = [Words(say("first.08.asks"), bold=True)] if now == 4 else []
        number = say("first.08.kubelet", number=1 if now < 3 else 2)
        looks: list[Look] = ["plain", "lit", "dead", "plain", "lit"]
        kubelet = Card(number, *known, *asks, key="kubelet", look=looks[now], high=190)
        leaves = [Leaf(leaf.depth, leaf.text) for leaf in file_leaves(checkpoint_text(state))] if now else []
        file = Card(
            "kubelet_internal_checkpoint",
            Tree(*leaves),
            key="file",
            look="lit" if now == 3 else "plain",
            high=190,
        )
        way = Way("kubelet", "file", pill=say("first.08.writes"), number=now)
        ways = {1: [way], 3: [Way("file", "kubelet", pill=say("first.08.reads"), number=now)]}.get(now, [])
        bodies.append(Wired(Row(kubelet, Space(wide=100), file, shares=(1, 0, 1.5), gap=0), *ways))
    return screen("08", say("first.08.steps").split("|"), bodies, still=4)
