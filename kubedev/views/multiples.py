"""Lab 00: one pod in several clusters, side by side: what it asks for over the devices that could meet it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kubedev.views.catalogue import say
from kubedev.views.grammar import Block, Card, Column, Facts, Grid, Part, Row, Words, picture
from kubedev.views.parts import Cells, Device, Legend
from kubedev.views.path_devices import device_state, device_words, short_names
from kubedev.views.path_state import DeviceView
from kubedev.views.picture import Box, Line, Mark, Picture, Text, table
from kubedev.views.style import SIZE_TITLE, WIDTH, DeviceState, text_width

__all__ = ["ClusterView", "multiples_picture"]

_HIGH, _REQUEST = 42.0, 30.0


@dataclass(frozen=True, slots=True)
class ClusterView:
    """One cluster: `allocatable` is None where the node's status does not have the resource.

    `reason` is the part of the `message` that names the cause; a pod that runs has none.
    """

    title: str
    note: str
    devices: tuple[DeviceView, ...]
    allocatable: int | None
    phase: str
    reason: str = ""
    message: str = ""


def multiples_picture(
    pod: str, resource: str, asks: int, clusters: Sequence[ClusterView], width: float = WIDTH
) -> Picture:
    """Draw a card for each cluster; `pod` asks for `asks` devices of `resource` in each of them."""
    runs = [cluster.title for cluster in clusters if cluster.phase == "Running"]
    where = say("clusters.where", titles=", ".join(runs)) if runs else ""
    about = {"pod": pod, "asks": asks, "resource": resource, "runs": len(runs), "count": len(clusters)}
    cards = Grid(*(_card(pod, resource, asks, cluster) for cluster in clusters), across=4)
    rows = [
        (c.title, str(asks), _number(c.allocatable), c.phase, c.message or c.reason, _held(c))
        for c in clusters
    ]
    facts = Facts(table("clusters", "cluster asks allocatable phase reason devices.list", rows))
    states = (DeviceState.FREE, DeviceState.ALLOCATED, DeviceState.UNHEALTHY)
    title = say("clusters.title", count=len(clusters))
    return picture(
        title, say("clusters.sentence", where=where, **about), Column(facts, cards, Legend(*states)), width
    )


def _card(pod: str, resource: str, asks: int, cluster: ClusterView) -> Card:
    enough = cluster.allocatable is not None and asks <= cluster.allocatable
    sum_ = f"{asks} {'≤' if enough else '>'} {cluster.allocatable or 0}"
    key = "none" if cluster.allocatable is None else "enough" if enough else "more"
    because = Words(say(f"clusters.{key}"), "muted")
    arithmetic = Row(
        Words(sum_, bold=True, mono=True, size=SIZE_TITLE), because, shares=(0, 1), gap=12, middle=True
    )
    runs = cluster.phase == "Running"
    why = say("path.pod.holds", devices=_held(cluster)) if runs else cluster.reason or cluster.message
    outcome = Card(
        cluster.phase, Words(why, "muted"), look="lit" if runs else "dead", tooltip=cluster.message
    )
    meets = _Meets(pod, resource.rpartition("/")[2], asks, cluster.devices)
    return Card(cluster.title, Words(cluster.note, "muted"), meets, arithmetic, outcome)


def _number(count: int | None) -> str:
    return say("clusters.absent") if count is None else str(count)


def _held(cluster: ClusterView) -> str:
    return ", ".join(device.id for device in cluster.devices if device.owner) or say("set.none")


@dataclass(frozen=True, slots=True)
class _Meets(Part):
    """A row of requests over a row of devices: each request over the device that meets it, the others over none."""

    pod: str
    what: str
    asks: int
    devices: tuple[DeviceView, ...]

    def _columns(self) -> tuple[list[int], list[int]]:
        """The columns of the requests that a device meets, and of those that none does."""
        held = [n for n, device in enumerate(self.devices) if device.owner]
        free = [n for n, device in enumerate(self.devices) if device.healthy and not device.owner]
        met = sorted((held or free)[: self.asks])
        left = [n for n in range(max(len(self.devices), self.asks)) if n not in met]
        return met, left[: self.asks - len(met)]

    def least(self) -> float:
        return self._left() + 2 * (text_width(self.what, bold=True) + 20)

    def _left(self) -> float:
        labels = (say("clusters.asks", pod=self.pod), say("clusters.devices"))
        return max(text_width(label) for label in labels) + 14

    def lay(self, width: float, key: str) -> Block:
        met, unmet = self._columns()
        names = short_names([device.id for device in self.devices])
        left, count = self._left(), max(len(self.devices), self.asks, 1)
        pitch = min((width - left) / count, 64.0)
        size, below = min(_HIGH, pitch - 6), _REQUEST + 28

        def draw(x: float, y: float, _height: float) -> Iterator[Mark]:
            yield Text(f"{key}/asks", x, y + 20, say("clusters.asks", pod=self.pod), tone="muted")
            yield Text(f"{key}/devices", x, y + below + size / 2 + 5, say("clusters.devices"), tone="muted")
            for n in range(count):
                middle, name = x + left + pitch * (n + 0.5), f"{key}/{n}"
                if n in met or n in unmet:
                    text = self.what if text_width(self.what, bold=True) <= pitch - 18 else "1" * (pitch > 28)
                    box = (middle - pitch / 2 + 3, y, pitch - 6, _REQUEST)
                    yield Box(f"{name}/asks", *box, text, centred=True, tooltip=self.what)
                    end = below - 3 if n in met else _REQUEST + 10
                    points = ((middle, y + _REQUEST + 1), (middle, y + end))
                    yield Line(f"{name}/line", points, "strong" if n in met else "quiet")
                if n in unmet:
                    stop = ((middle - 6, y + _REQUEST + 10), (middle + 6, y + _REQUEST + 10))
                    yield Line(f"{name}/stop", stop, "quiet")
                place = (middle - size / 2, y + below)
                if n < len(self.devices):
                    device = self.devices[n]
                    state, tip = device_state(device), device_words(device)
                    yield Device(names[device.id], state, tooltip=tip).cell(f"{name}/device", *place, size)
                else:
                    yield Box(f"{name}/none", *place, size, size, "", look="impossible")

        return Block(below + size + 4, draw)

    def about(self) -> str:
        return Cells(*(Device(d.id, device_state(d)) for d in self.devices)).says()
