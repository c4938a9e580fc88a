"""What policies and scopes make of a machine, and how a mask cuts through its devices."""

from collections.abc import Iterable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from kubedev.api.names import MEMORY
from kubedev.api.objects import Pod
from kubedev.api.quantity import Format, Quantity
from kubedev.kubelet.cpu.cpuset import format_cpus
from kubedev.kubelet.devices.allocation import filter_by_affinity
from kubedev.kubelet.topology.bitmask import mask_of
from kubedev.kubelet.topology.hints import written_out
from kubedev.kubelet.topology.merge import Merge, filter_providers_hints, merge_at_once, merge_by_permutation
from kubedev.kubelet.topology.topology import BEST_EFFORT, NO_LOCALITY, Alignment
from kubedev.lab.machine import POLICIES, Machine, full_name, pod_asking
from kubedev.lab.machine_scene import device_views, machine_part
from kubedev.views.catalogue import say
from kubedev.views.charts import MergeTime, explosion_figure
from kubedev.views.grammar import Card, Column, Facts, Grid, Words, picture
from kubedev.views.live import LivePicture
from kubedev.views.masks import mask_words
from kubedev.views.merge import hint_words, merge_picture, policy_card, preferred_words
from kubedev.views.parts import Cells
from kubedev.views.parts import Device as Shown
from kubedev.views.path_devices import device_state, device_words
from kubedev.views.path_state import DeviceView
from kubedev.views.picture import Picture, Table

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "LISTS",
    "admitted",
    "compare_policies",
    "draw_lists",
    "draw_merge",
    "draw_pods",
    "draw_policies",
    "draw_scopes",
    "lists",
    "merge",
    "merge_times",
]

LISTS = ("aligned", "unaligned", "no affinity")


def admitted(machine: Machine, **asked: int) -> dict[str, str]:
    """Each policy with `admitted` or `refused`, for a pod with one container that asks for so many."""
    pod = pod_asking("new", asked)
    return {policy: "refused" if machine.admit(pod, policy)[1].refusal else "admitted" for policy in POLICIES}


def _policy_cards(name: str, machine: Machine, asked: Mapping[str, int]) -> Card:
    return _told(name, [_policy_card(machine, policy, asked) for policy in POLICIES])


def _told(name: str, cards: Sequence[Card], across: int = 4) -> Card:
    """Cards side by side under a name, and the same as a table."""
    rows = tuple((card.title, "; ".join(part.says() for part in card.parts())) for card in cards)
    table = Table(name, (say("table.what"), say("table.why")), rows)
    return Card(name, Grid(*cards, across=across), Facts(table))


def _policy_card(machine: Machine, policy: str, asked: Mapping[str, int]) -> Card:
    pod = pod_asking("new", asked)
    after, admission = machine.admit(pod, policy)
    refusal = admission.refusal
    error = say("scene.refused", reason=refusal.reason) if refusal else ""
    gets = [] if refusal else [_gets(after, pod.name)]
    return policy_card(machine.decide(policy, **asked), *gets, error=error)


def _gets(machine: Machine, pod: str) -> str:
    """What a pod holds: devices, CPUs of its own, and on which NUMA nodes its memory is."""
    held, state = list(machine.held_by(pod)), machine.kubelet
    for cpus in state.cpus.assignments.get(pod, {}).values():
        held.append(say("scene.gets.cpus", cpus=format_cpus(cpus)))
    for block in (each for blocks in state.memory.assignments.get(pod, {}).values() for each in blocks):
        held.append(say("scene.gets.memory", mask=mask_words(mask_of(block.numa_affinity))))
    return say("scene.gets", devices=", ".join(held)) if held else say("scene.gets.nothing")


def draw_policies(machine: Machine, **asked: int) -> Picture:
    """The machine with the merged mask laid over it, and what each of the four policies makes of the pod."""
    hint = machine.decide(BEST_EFFORT, **asked).hint
    mask = hint.numa_node_affinity
    sentence = say("scene.policies.sentence", mask=mask_words(mask), preferred=preferred_words(hint))
    cards = _policy_cards(say("scene.policies.head"), machine, asked)
    return picture(say("scene.policies"), sentence, Column(machine_part(machine.kubelet, mask), cards))


def compare_policies(machines: Mapping[str, tuple[Machine, Mapping[str, int]]]) -> LivePicture:
    """Small multiples: a row for each machine with what a pod asks of it, a card for each policy."""
    rows = [_policy_cards(name, machine, asked) for name, (machine, asked) in machines.items()]
    return LivePicture(picture(say("scene.machines"), say("scene.machines.sentence"), Column(*rows)))


def draw_merge(machine: Machine, policy: str, step: int | None = None, **asked: int) -> Picture:
    """The merge of one policy, after so many permutations, beside the outcome of all four."""
    decisions = [machine.decide(each, **asked) for each in POLICIES]
    return merge_picture(decisions[POLICIES.index(policy)], decisions, step)


def merge(machine: Machine, *, by_permutation: bool = False, **asked: int) -> Merge:
    """The merge of the hints for one container: at once, or by trying every permutation as Kubernetes does."""
    filtered = filter_providers_hints([{h.resource: h.hints} for h in machine.hints(**asked)])
    return (merge_by_permutation if by_permutation else merge_at_once)(filtered, machine.kubelet.config.numa)


_GO_MEASURED = ((4, 2, 36e-6), (4, 3, 0.7e-3), (8, 3, 3.1), (8, 4, 14 * 60))
_NAMES = ("gpu", "nic", "fpga", "npu")


def merge_times(nodes: Iterable[int], resources: Sequence[int]) -> "Figure":
    """Seconds of a merge over its permutations, on log scales: what the Go code of v1.32 took on one core (the last
    one is extrapolated), and what the merge at once takes here and now, the best of three rounds.

    Each of the NUMA nodes has a device of each resource, and one of each is asked for.
    """
    here = [MergeTime(n, count, _seconds(n, count)) for n in nodes for count in resources]
    return explosion_figure([MergeTime(*each) for each in _GO_MEASURED], here)


def _seconds(nodes: int, resources: int) -> float:
    names = _NAMES[:resources]
    machine = Machine.of(nodes, **dict.fromkeys(names, nodes))
    hints = machine.hints(**dict.fromkeys(names, 1))
    filtered = filter_providers_hints([{each.resource: each.hints} for each in hints])

    def once() -> float:
        start = perf_counter()
        merge_at_once(filtered, machine.kubelet.config.numa)
        return perf_counter() - start

    return min(once() for _ in range(3))


# Pods


def draw_scopes(machine: Machine, pod: Pod, policy: str, scope: str) -> Picture:
    """The machine after a pod's admission, and the admission step by step."""
    after, admission = machine.admit(pod, policy, scope)
    cards = [_alignment(alignment) for alignment in admission.alignments]
    cards.append(_pod_card(after, pod.name, admission.refusal.message if admission.refusal else ""))
    sentence = "; ".join(f"{card.title}: {card.parts()[-1].says()}" for card in cards) + "."
    mask = admission.alignments[-1].decision.hint.numa_node_affinity if admission.alignments else None
    steps = _told(say("scene.scopes.head"), cards)
    board = machine_part(after.kubelet, mask if scope == "pod" else None)
    return picture(say("scene.scopes", scope=scope, policy=policy), sentence, Column(board, steps))


def _alignment(alignment: Alignment) -> Card:
    title = say("scene.scopes.pod")
    if alignment.container is not None:
        title = say("scene.scopes.container", name=alignment.container)
    lines = []
    for _, answer in alignment.answers:
        for resource, hints in answer.items():
            listed = " ".join(map(hint_words, written_out(hints.hints))) or say("scene.scopes.none")
            count = Quantity(hints.request, format=Format.BINARY_SI) if resource == MEMORY else hints.request
            lines.append(say("scene.scopes.asked", resource=resource, count=count, hints=listed))
    hint = alignment.decision.hint
    mask = mask_words(hint.numa_node_affinity)
    lines.append(say("scene.scopes.merged", mask=mask, preferred=preferred_words(hint)))
    return Card(title, *map(Words, lines), look="plain" if alignment.decision.admit else "impossible")


def draw_pods(machine: Machine) -> Picture:
    """The machine, and what became of each of its pods with policy restricted."""
    cards = [_pod_card(machine, name) for name in machine.kubelet.pods]
    sentence = say("scene.turn.sentence", pods=", ".join(machine.kubelet.pods))
    return picture(
        say("scene.turn"),
        sentence,
        Column(machine_part(machine.kubelet), _told(say("path.pods"), cards, 3)),
    )


def _pod_card(machine: Machine, pod: str, message: str = NO_LOCALITY.reason) -> Card:
    if machine.kubelet.pods[pod].active:
        return Card(pod, Words(say("scene.admitted")), Words(_gets(machine, pod)), look="lit")
    said = Words("✕ " + say("merge.refused"))
    return Card(pod, said, Words(message), look="impossible")


# Affinity


def _cell(view: DeviceView, where: str) -> Shown:
    key, tooltip = f"{where}/{view.id}", device_words(view)
    return Shown(view.id, device_state(view), key, tooltip=tooltip)


def lists(machine: Machine, mask: int | None, short: str = "gpu") -> dict[str, str]:
    """In which of LISTS each free device of a resource is."""
    resource, state = full_name(short), machine.kubelet.devices
    found = filter_by_affinity(state.all_devices[resource], state.free(resource), mask)
    return {id_: name for name in LISTS for id_ in sorted(getattr(found, name.replace(" ", "_")))}


def draw_lists(machine: Machine, mask: int | None, short: str = "gpu") -> Picture:
    """The mask on the machine, and the three lists that filter_by_affinity makes of a resource's free devices."""
    found = lists(machine, mask, short)
    views = {view.id: view for view in device_views(machine.kubelet, full_name(short))}
    members = {name: [id_ for id_, its in found.items() if its == name] for name in LISTS}
    cards = [
        Card(
            name,
            Cells(*(_cell(views[i], name) for i in ids), high=44.0),
            Words(say(f"scene.affinity.{name}"), "muted"),
            look="plain",
        )
        for name, ids in members.items()
    ]
    counts = {name.replace(" ", "_"): len(ids) for name, ids in members.items()}
    sentence = say("scene.affinity.sentence", mask=mask_words(mask), **counts)
    three = _told(say("scene.affinity.head"), cards, 3)
    return picture(say("scene.affinity"), sentence, Column(machine_part(machine.kubelet, mask), three))
