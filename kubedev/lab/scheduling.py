"""Nodes as the scheduler knows them, its decision about a pod, and the kubelet's own check of the same."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import repeat
from typing import Any

from kubedev.api.manifests import load
from kubedev.api.objects import ContainerImage, Node, Pod
from kubedev.api.quantity import Quantity
from kubedev.api.requests import compute_pod_resource_request
from kubedev.api.storage import StorageObject
from kubedev.cluster.events import SchedulerConfigured
from kubedev.kubelet.predicates import PredicateAdmission, admit_by_predicates
from kubedev.lab.lookup import read_taint
from kubedev.lab.pods import Amounts, container, pod
from kubedev.lab.scheduler_config import SchedulerConfig
from kubedev.lab.session import Lab
from kubedev.lab.turning import Turns
from kubedev.scheduler.context import Context
from kubedev.scheduler.cycle import Decision, schedule_one
from kubedev.scheduler.extension_points import EXTENSION_POINTS as EXTENSION_POINTS
from kubedev.scheduler.framework import Framework
from kubedev.scheduler.framework import num_feasible_nodes_to_find as enough
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.default_plugins import default_framework
from kubedev.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kubedev.scheduler.plugins.resource_scores import ResourceSpec, Strategy, UtilizationPoint
from kubedev.scheduler.scheduler_state import snapshot_of
from kubedev.scheduler.snapshot import Snapshot
from kubedev.scheduler.status import SUCCESS
from kubedev.scheduler.storage import Storage
from kubedev.views.catalogue import say
from kubedev.views.charts import shape_figure as shape_figure
from kubedev.views.controls import Button, act
from kubedev.views.cycle import Cycle
from kubedev.views.fits import Asked, asked_picture, fits_picture, fits_pictures
from kubedev.views.live import LivePicture
from kubedev.views.part import Knob
from kubedev.views.picture import Picture
from kubedev.views.placed import Case, placed_picture
from kubedev.views.shape import shape_picture
from kubedev.views.stage import Frame, Stage
from kubedev.views.style import WIDTH

__all__ = [
    "EXTENSION_POINTS",
    "cycle",
    "decide",
    "draw",
    "draw_cycle",
    "draw_shape",
    "enough",
    "kubelet",
    "node",
    "nodes_of",
    "only",
    "place",
    "placements",
    "play",
    "profile",
    "read",
    "shape_figure",
    "shaped",
    "show",
    "side_by_side",
    "verdicts",
]


def node(
    name: str,
    allocatable: Amounts,
    requested: Amounts | None = None,
    taint: str = "",
    pods: int = 1,
    labels: Mapping[str, str] | None = None,
    images: Mapping[str, str] | None = None,
    unschedulable: bool = False,
) -> NodeInfo:
    """A node with what its pods request together; there is room for 110 pods unless `allocatable` says otherwise.

    `images` are those that are on its disk, with their sizes.
    """
    amounts = {key: Quantity.parse(str(amount)) for key, amount in {"pods": 110, **allocatable}.items()}
    taints = (read_taint(taint),) if taint else ()
    first = pod(container("c", requested), name=f"{name}-0")
    others = (pod(container("c"), name=f"{name}-{n}") for n in range(1, pods))
    named = {"kubernetes.io/hostname": name, **(labels or {})}
    held = tuple(ContainerImage((n,), Quantity.parse(size).value()) for n, size in (images or {}).items())
    made = Node(name, named, {}, taints, unschedulable, amounts, amounts, held)
    return NodeInfo.of(made, (first, *others) if requested or pods > 1 else ())


def nodes_of(lab: Lab, step: int | None = None) -> tuple[NodeInfo, ...]:
    """The nodes of a lab as its scheduler has them in its cache, now or at a step of the history."""
    state = lab.state if step is None else lab.history[step].state
    return tuple(snapshot_of(state.scheduler).node_infos)


def read(text: str) -> tuple[Any, ...]:
    """The objects of a manifest: pods, claims, volumes."""
    return load(text).objects


def profile(configuration: str = "", *plugins: type) -> Framework:
    """The scheduler's profile by a KubeSchedulerConfiguration, by default Kubernetes' own, with classes of one's own.

    Raises ConfigurationError with what kube-scheduler would say.
    """
    events = SchedulerConfig(plugins).beginning(configuration or None)
    configured = [event.profiles[0] for event in events if isinstance(event, SchedulerConfigured)]
    return configured[0] if configured else default_framework()


def only(profile: Framework, filters: Collection[str]) -> Framework:
    """The profile with these filters only, in its own order."""
    asked = {plugin.name for plugin in profile.at("filter")}
    kept = (plugin for plugin in profile.plugins if plugin.name in filters or plugin.name not in asked)
    return replace(profile, plugins=tuple(kept))


def decide(
    pod: Pod,
    nodes: Sequence[NodeInfo],
    profile: Framework | None = None,
    storage: Iterable[StorageObject] = (),
    start: int = 0,
) -> Decision:
    """One cycle of the scheduler, by default Kubernetes' own: `message` is what the pod's condition would say.

    `storage` are volumes, claims and the like; `start` is the number of the node to look at first.
    """
    stored = reduce(Storage.with_object, storage, Storage())
    snapshot = Snapshot.of(Context(tuple(nodes), storage=stored))
    return schedule_one(profile or default_framework(), pod, snapshot, start)


def place(
    pods: Iterable[Pod],
    nodes: Sequence[NodeInfo],
    profile: Framework | None = None,
    chosen: Iterable[str] | None = None,
) -> tuple[dict[str, str], tuple[NodeInfo, ...]]:
    """Decide on one pod after the other, each with the ones before in their places; or place them as was `chosen`.

    The node of each pod by their names, an empty text where it waits, and the nodes as they are then.
    """
    placed, now = {}, {info.name: info for info in nodes}
    names = repeat(None) if chosen is None else chosen
    for one, given in zip(pods, names, strict=False):
        name = decide(one, [*now.values()], profile).node_name if given is None else given
        placed[one.name] = name
        if name:
            now[name] = now[name].add_pod(replace(one, node_name=name))
    return placed, tuple(now.values())


def draw_cycle(
    pod: Pod,
    nodes: Sequence[NodeInfo],
    profile: Framework | None = None,
    storage: Iterable[StorageObject] = (),
) -> Picture:
    """One cycle as it ends, as a picture."""
    framework = profile or default_framework()
    return Cycle.of(decide(pod, nodes, framework, storage), framework)[-1].picture()


def cycle(
    pod: Pod,
    nodes: Sequence[NodeInfo],
    profile: Framework | None = None,
    storage: Iterable[StorageObject] = (),
    end: bool = False,
) -> Stage:
    """One cycle as a stage, from point to point, or at its `end` at once; a raw score opens to its arithmetic."""
    framework = profile or default_framework()
    decision = decide(pod, nodes, framework, storage)
    frames = [Frame(moment.picture()) for moment in Cycle.of(decision, framework)]
    since = len(frames) - 1 if end else 0
    stage = Stage(frames, since=since, play=not end, on_action=lambda _, at, control: stage.tell(control, at))
    return stage


def verdicts(
    pod: Pod,
    nodes: Sequence[NodeInfo],
    profile: Framework | None = None,
    storage: Iterable[StorageObject] = (),
) -> dict[str, str]:
    """What each node says: fits, or refuses."""
    found = decide(pod, nodes, profile, storage).found
    checks = found.checks if found else {}
    return {name: say(f"fits.{'fits' if c.status.is_success else 'refuses'}") for name, c in checks.items()}


def kubelet(pod: Pod, node: NodeInfo) -> PredicateAdmission:
    """What the node's kubelet checks itself when the pod is bound to it."""
    return admit_by_predicates(node.node, pod, [there.pod for there in node.pods])


def draw(pod: Pod, nodes: Sequence[NodeInfo], looked: int | None = None) -> Picture:
    """The nodes with what they have and what the pod asks, and the sentence; of the first `looked` only."""
    return fits_picture(decide(pod, nodes), nodes, looked)


def show(pod: Pod, nodes: Sequence[NodeInfo]) -> Stage:
    """The same as a stage that looks at one node after the other."""
    decision = decide(pod, nodes)
    frames = map(Frame, fits_pictures(decision, nodes, range(len(nodes) + 1)))
    return Stage(list(frames), since=1, play=True)


def side_by_side(title: str, cases: Mapping[str, tuple[Any, ...]], kubelets: bool = False) -> LivePicture:
    """Pods and nodes by what is special about them, each pair with the volumes and claims that there are: what the
    scheduler says and, if wanted, what the kubelet says.
    """
    asked = []
    for name, (one, at, *storage) in cases.items():
        found = decide(one, [at], storage=storage).found
        refused = found.statuses.get(at.name) if found and not found.feasible else SUCCESS
        words = ""
        if kubelets:
            admission = kubelet(one, at)
            words = say("fits.admitted") if admission.admit else f"{admission.reason}: {admission.message}"
        asked.append(Asked(name, at, compute_pod_resource_request(one), refused, words))
    return LivePicture(asked_picture(title, asked))


def shaped(shape: Sequence[tuple[int, int]], resource: str) -> Framework:
    """A profile whose only score is RequestedToCapacityRatio of one resource, with this shape."""
    points = tuple(UtilizationPoint(*point) for point in shape)
    fit = NodeResourcesFit(Strategy.REQUESTED_TO_CAPACITY_RATIO, (ResourceSpec(resource),), points)
    return Framework((fit,))


def draw_shape(
    shape: Sequence[tuple[int, int]], pod: Pod, nodes: Sequence[NodeInfo], resource: str
) -> Picture:
    """The shape as a curve whose points can be dragged, and what the nodes score by it."""
    return shape_picture(shape, decide(pod, nodes, shaped(shape, resource)))


def placements(title: str, cases: Mapping[str, Case], resource: str) -> LivePicture:
    """What came of `place` in several cases, side by side."""
    return LivePicture(placed_picture(title, cases, resource))


def play(queue: Sequence[Pod], nodes: Sequence[NodeInfo], resource: str) -> Turns[tuple[str, ...]]:
    """The reader binds one pod after the other; at the end the scheduler's own placement stands beside theirs.

    The value is the node of each pod so far, an empty text for one that was left Pending.
    """

    def there(chosen: tuple[str, ...]) -> tuple[NodeInfo, ...]:
        return place(queue, nodes, chosen=chosen)[1]

    def draw(chosen: tuple[str, ...]) -> Picture:
        if len(chosen) < len(queue):
            leave = Knob(Button(say("play.skip"), act("skip")))
            shown = fits_picture(
                decide(queue[len(chosen)], there(chosen)), there(chosen), None, WIDTH, "bind", leave
            )
            then = ", ".join(pod.name for pod in queue[len(chosen) + 1 :]) or say("set.none")
            sentence = say("play.next", pod=queue[len(chosen)].name, then=then)
            return replace(shown, title=say("play.title"), sentence=sentence)
        cases = {
            say("play.yours"): place(queue, nodes, chosen=chosen),
            say("play.scheduler"): place(queue, nodes),
        }
        return placed_picture(say("play.title"), cases, resource)

    def bind(chosen: tuple[str, ...], node: str) -> tuple[str, ...]:
        if len(chosen) == len(queue):
            raise ValueError(say("play.over"))
        pod = queue[len(chosen)]
        found = decide(pod, there(chosen)).found
        if found and not found.checks[node].status.is_success:
            why = found.checks[node].status.message
            raise ValueError(say("play.refused", node=node, pod=pod.name, why=why))
        return (*chosen, node)

    def skip(chosen: tuple[str, ...]) -> tuple[str, ...]:
        return (*chosen, "")

    return Turns((), draw, {"bind": bind, "skip": skip}, {"skip": say("play.skip")})
