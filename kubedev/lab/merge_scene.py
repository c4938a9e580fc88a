"""Pictures of lab 06: what policies and scopes make of a machine, and how a mask cuts through its devices."""

from collections.abc import Mapping

from kubedev.api.objects import Pod
from kubedev.kubelet.devices.allocation import filter_by_affinity
from kubedev.kubelet.topology.hints import TopologyHint, written_out
from kubedev.kubelet.topology.merge import NUMAInfo
from kubedev.kubelet.topology.topology import BEST_EFFORT, NONE, Alignment, TopologyManager
from kubedev.lab.machine import POLICIES, Machine, full_name, pod_asking
from kubedev.lab.machine_scene import device_views, machine_board
from kubedev.views.cards import Card, cards_picture
from kubedev.views.catalogue import say
from kubedev.views.masks import mask_words
from kubedev.views.merge import merge_picture
from kubedev.views.numa import numa_picture
from kubedev.views.picture import Picture
from kubedev.views.stack import stack

__all__ = [
    "LISTS",
    "admitted",
    "draw_affinity",
    "draw_machines",
    "draw_merge",
    "draw_policies",
    "draw_scopes",
    "kubelet_starts",
    "list_of",
]


def board(machine: Machine, mask: int | None = None) -> Picture:
    """The machine with a mask laid over it."""
    return numa_picture(machine_board(machine, mask))


def _hint(hint: TopologyHint) -> str:
    return say("scene.merged", mask=mask_words(hint.numa_node_affinity), preferred=_preferred(hint))


def _preferred(hint: TopologyHint) -> str:
    return say("merge.is.preferred" if hint.preferred else "merge.not.preferred")


def _gets(machine: Machine, pod: str) -> str:
    devices = ", ".join(machine.held_by(pod))
    return say("scene.gets", devices=devices) if devices else say("scene.gets.nothing")


def admitted(machine: Machine, **asked: int) -> dict[str, str]:
    """Each policy with `admitted` or `refused`, for a pod with one container that asks for so many."""
    pod = pod_asking("new", asked)
    return {policy: "refused" if machine.admit(pod, policy)[1].refusal else "admitted" for policy in POLICIES}


# Policies


def _policy_cards(machine: Machine, **asked: int) -> tuple[Card, ...]:
    return tuple(_policy_card(machine, policy, **asked) for policy in POLICIES)


def _policy_card(machine: Machine, policy: str, **asked: int) -> Card:
    pod = pod_asking("new", asked)
    after, admission = machine.admit(pod, policy)
    merged = say("scene.merged.none") if policy == NONE else _hint(machine.decide(policy, **asked).hint)
    if admission.refusal:
        return Card(policy, (say("scene.refused", reason=admission.refusal.reason), merged), "impossible")
    return Card(policy, (say("scene.admitted"), merged, _gets(after, pod.name)))


def draw_policies(machine: Machine, **asked: int) -> Picture:
    """The machine with the merged mask laid over it, and what each of the four policies makes of the pod."""
    hint = machine.decide(BEST_EFFORT, **asked).hint
    mask = mask_words(hint.numa_node_affinity)
    sentence = say("scene.policies.sentence", mask=mask, preferred=_preferred(hint))
    cards = cards_picture(say("scene.policies.head"), sentence, _policy_cards(machine, **asked))
    return stack(say("scene.policies"), sentence, board(machine, hint.numa_node_affinity), cards)


def draw_machines(machines: Mapping[str, tuple[Machine, Mapping[str, int]]]) -> Picture:
    """Small multiples: a row for each machine with what a pod asks of it, a card for each policy."""
    sentence = say("scene.machines.sentence")
    rows = [cards_picture(name, sentence, _policy_cards(m, **asked)) for name, (m, asked) in machines.items()]
    head = Picture("", "", 0, (), (), "")
    return stack(say("scene.machines"), sentence, head, *rows)


def draw_merge(machine: Machine, policy: str, step: int | None = None, **asked: int) -> Picture:
    """The merge of one policy, after so many permutations, beside the outcome of all four."""
    decisions = [machine.decide(each, **asked) for each in POLICIES]
    return merge_picture(decisions[POLICIES.index(policy)], decisions, step)


# Scopes


def draw_scopes(machine: Machine, pod: Pod, policy: str, scope: str) -> Picture:
    """The machine after a pod's admission, and the admission step by step."""
    after, admission = machine.admit(pod, policy, scope)
    cards = [_alignment(alignment) for alignment in admission.alignments]
    refusal = admission.refusal
    if refusal:
        cards.append(
            Card(
                say("scene.scopes.end"),
                (say("scene.refused", reason=refusal.reason), refusal.message),
                "impossible",
            )
        )
    else:
        cards.append(Card(say("scene.scopes.end"), (say("scene.admitted"), _gets(after, pod.name)), "lit"))
    sentence = "; ".join(f"{card.title}: {card.lines[-1]}" for card in cards) + "."
    steps = cards_picture(say("scene.scopes.head"), sentence, cards)
    mask = admission.alignments[-1].decision.hint.numa_node_affinity if admission.alignments else None
    return stack(
        say("scene.scopes", scope=scope, policy=policy),
        sentence,
        board(after, mask if scope == "pod" else None),
        steps,
    )


def _alignment(alignment: Alignment) -> Card:
    title = say("scene.scopes.pod")
    if alignment.container is not None:
        title = say("scene.scopes.container", name=alignment.container)
    lines = []
    for _, answer in alignment.answers:
        for resource, hints in answer.items():
            words = " ".join(
                mask_words(hint.numa_node_affinity) + "★" * hint.preferred
                for hint in written_out(hints.hints)
            )
            listed = words or say("scene.scopes.none")
            lines.append(say("scene.scopes.asked", resource=resource, count=hints.request, hints=listed))
    hint = alignment.decision.hint
    mask = mask_words(hint.numa_node_affinity)
    lines.append(say("scene.scopes.merged", mask=mask, preferred=_preferred(hint)))
    return Card(title, tuple(lines), "plain" if alignment.decision.admit else "impossible")


def kubelet_starts(nodes: int, policy: str = "best-effort", **options: str) -> str:
    """What becomes of a kubelet that starts on so many NUMA nodes: `starts`, or why it does not.

    Options of the policy are given with underscores: `max_allowable_numa_nodes="34"`.
    """
    named = {name.replace("_", "-"): value for name, value in options.items()}
    try:
        manager = TopologyManager.new(policy, "container", NUMAInfo(tuple(range(nodes))), named)
    except ValueError as error:
        return str(error)
    return f"{say('scene.starts')}. {manager.remark}" if manager.remark else say("scene.starts")


# Affinity


LISTS = ("aligned", "unaligned", "no_affinity")


def list_of(machine: Machine, mask: int | None, short: str = "gpu") -> dict[str, str]:
    """In which of the three lists each free device of a resource is."""
    resource, state = full_name(short), machine.kubelet.devices
    free = state.healthy_devices[resource] - state.allocated_devices.get(resource, frozenset())
    lists = filter_by_affinity(state.all_devices[resource], free, mask)
    return {id_: name for name in LISTS for id_ in sorted(getattr(lists, name))}


def draw_affinity(machine: Machine, mask: int | None, short: str = "gpu") -> Picture:
    """The mask on the machine, and the three lists that filter_by_affinity makes of a resource's free devices."""
    found = list_of(machine, mask, short)
    views = {view.id: view for view in device_views(machine, full_name(short))}
    members = {name: [id_ for id_, its in found.items() if its == name] for name in LISTS}
    counts = {name: len(ids) for name, ids in members.items()}
    sentence = say("scene.affinity.sentence", mask=mask_words(mask), **counts)
    cards = [
        Card(
            say(f"scene.affinity.{name}"),
            (say(f"scene.affinity.{name}.why"),),
            devices=tuple(views[id_] for id_ in ids),
        )
        for name, ids in members.items()
    ]
    return stack(
        say("scene.affinity"),
        sentence,
        board(machine, mask),
        cards_picture(say("scene.affinity.head"), sentence, cards),
    )
