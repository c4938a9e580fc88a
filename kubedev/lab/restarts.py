"""What a restart leaves of a node: a lab's lives and its checkpoint file, and what a kubelet asks of a pod again."""

from collections.abc import Mapping

from kubedev.api.objects import Pod
from kubedev.kubelet.devices import device_manager
from kubedev.kubelet.devices.allocation import DevicesToAllocate
from kubedev.kubelet.devices.checkpoint import checkpoint_text
from kubedev.kubelet.devices.device_manager import AllocationDecision
from kubedev.lab.lookup import node_name
from kubedev.lab.machine import GPU, Machine, on
from kubedev.lab.session import Lab
from kubedev.lab.streams import sample_of
from kubedev.views.board import Decision, Decisions
from kubedev.views.catalogue import say
from kubedev.views.checkpoint import file_leaves
from kubedev.views.grammar import Card, Column, Grid, Row, picture
from kubedev.views.live import LivePicture
from kubedev.views.masks import natural_list
from kubedev.views.picture import Picture
from kubedev.views.restart import lives, memory_card, restart_picture
from kubedev.views.style import WIDTH
from kubedev.views.tree import Tree

__all__ = ["again", "draw", "draw_again", "file", "files", "restarted", "side_by_side", "watch"]

QUESTIONS = ("same request", "running", "registered", "healthy", "held healthy", "needed")


def draw(lab: Lab, step: int, width: int = WIDTH, knobs: bool = True) -> Picture:
    """The lives on a lab's node up to a step, for `lab.show`, and the file between two kubelets."""
    states = [lab.history[i].state for i in range(lab.history.first, step + 1)]
    return restart_picture(states, GPU, width, knobs)


def watch(lab: Lab, step: int, width: int = WIDTH) -> Picture:
    """The same without what ends the lives."""
    return draw(lab, step, width, knobs=False)


def side_by_side(labs: Mapping[str, Lab]) -> LivePicture:
    """The lives in several labs of one node, by what is different in them: since the last pod was applied."""
    cards, told = [], list[str]()
    for title, lab in labs.items():
        applied = max(n for n, done in enumerate(lab.actions) if done.action["do"] == "apply")
        since = lab.actions[applied + 1].step if applied + 1 < len(lab.actions) else len(lab.history)
        states = [lab.history[i].state for i in range(since - 1, len(lab.history))]
        cards.append(Card(title, lives(states, GPU, most=5)))
        numbers = sample_of(lab.node(), GPU)
        pods = ", ".join(f"{pod.name} {pod.phase}" for pod in lab.state.store.pods.values())
        told.append(say("restart.case", title=title, said=f"{numbers[0]} / {numbers[1]}, {pods}"))
    return LivePicture(picture(say("restart.multiples"), " ".join(told), Grid(*cards, across=2)))


def file(lab: Lab, node: str = "") -> str:
    """The text of a kubelet's checkpoint file, empty where there is none."""
    return checkpoint_text(lab.state.kubelets[node_name(lab.state, node)].devices) or ""


def files(texts: Mapping[str, str], written: str = "") -> LivePicture:
    """Checkpoint files by their titles: what is different from the one `written`, and what a kubelet makes of each."""
    reads = {title: device_manager.restart(text, 0.0) for title, text in texts.items()}
    cards = [
        Card(title, Tree(*file_leaves(texts[title], read, written or texts[title]), caption=title))
        for title, read in reads.items()
    ]
    said = {title: read.read_error or say("checkpoint.lit") for title, read in reads.items()}
    told = " ".join(say("restart.case", title=title, said=words) for title, words in said.items())
    return LivePicture(picture(say("restart.files"), told, Grid(*cards, across=2)))


def restarted(machine: Machine, run: bool, sources_ready: bool = False, listed: str = "") -> Machine:
    """A machine whose kubelet has started again. Its containers `run` on, or have ended with the machine; the plugin
    has listed these devices, or is away.
    """
    machine = machine.restarted(runs=run, sources_ready=sources_ready)
    return machine.listed("gpu", on(0, listed)) if listed else machine


def again(machine: Machine, pod: Pod) -> tuple[str, dict[str, DevicesToAllocate]]:
    """What becomes of a pod that comes to a machine's kubelet: why it is refused, or nothing; and what was decided
    about each of its containers' GPUs.
    """
    _, admission = machine.admit(pod)
    decisions = [a.decision for a in admission.allocations if isinstance(a.decision, AllocationDecision)]
    found = {d.container: one for d in decisions for one in d.decisions if one.request.resource == GPU}
    return admission.refusal.message if admission.refusal else "", found


def draw_again(machine: Machine, pod: Pod, width: float = WIDTH) -> Picture:
    """The questions that a kubelet asks about each container of a pod, up to the one that decides."""
    refusal, found = again(machine, pod)
    cards = [Card(name, Decisions(*_asked(one), caption=name)) for name, one in found.items()]
    calls = sum(one.devices is not None and one.error is None for one in found.values())
    told = (
        say("again.refused", pod=pod.name, error=refusal)
        if refusal
        else say("again.goes-on", pod=pod.name, calls=calls)
    )
    body = Row(memory_card("memory", machine.kubelet.devices, GPU), Column(*cards), shares=(1, 3))
    return picture(say("again.title", pod=pod.name), told, body, width)


def _asked(one: DevicesToAllocate) -> list[Decision]:
    settled = one.steps[-1].rule if one.devices is None else ""
    shown = []
    for rule in QUESTIONS:
        here, failed = rule == settled, rule == settled and one.error is not None
        answer = say("again.yes" if here == (rule == "running") else "again.no")
        why = one.steps[-1].why if here else say("again.passed")
        shown.append(Decision(say(f"again.{rule}"), answer, why, failed))
        if here:
            return shown
    taken = natural_list(one.devices or frozenset())
    return [
        *shown,
        Decision(say("again.takes"), taken, one.error or one.steps[-1].why, one.error is not None),
    ]
