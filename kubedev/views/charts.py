"""Charts that people explore, as ordinary plotly figures: time lines, and the matrix of a large machine.

Only their data is sent to the browser. Sizes are given, since a hidden slide measures nothing, and so are
colours, since plotly does not know the page's theme. plotly is imported when a figure is made.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubedev.kubelet.topology.hints import ResourceHints
from kubedev.scheduler.plugins.resource_scores import UtilizationPoint, broken_linear
from kubedev.views.catalogue import say
from kubedev.views.masks import mask_words
from kubedev.views.style import FONT, WIDTH, Theme, colour
from kubedev.views.timeline import Timeline

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["MergeTime", "explosion_figure", "hints_figure", "shape_figure", "timeline_figure"]

_VERDICTS = ("too few", "reusable left out", "not preferred", "preferred")


def timeline_figure(timeline: Timeline, theme: Theme = "light") -> "Figure":
    """Return capacity and allocatable as stepped lines, the grace shaded, the messages as marks."""
    figure = _figure(say("timeline.title", resource=timeline.resource), theme, 420)
    times = [*(sample.at for sample in timeline.samples), timeline.now]
    for name, tone, dash in (("capacity", "muted", "dot"), ("allocatable", "accent", "solid")):
        values = [getattr(sample, name) for sample in timeline.samples]
        line = {"shape": "hv", "color": colour(tone, theme), "dash": dash, "width": 2.5}
        figure.add_scatter(
            x=times, y=[*values, *values[-1:]], name=say(f"timeline.{name}"), mode="lines", line=line
        )
    at = [message[0] for message in timeline.messages]
    marker = {"symbol": "circle", "size": 9, "color": colour("ink", theme)}
    texts = [message[1] for message in timeline.messages]
    words = say("timeline.messages.row")
    figure.add_scatter(x=at, y=[0] * len(at), name=words, mode="markers", marker=marker, text=texts)
    for stop, until in timeline.graces():
        figure.add_vrect(
            x0=stop,
            x1=until,
            fillcolor=colour("wash", theme),
            layer="below",
            line_width=0,
            annotation_text=say("timeline.grace"),
            annotation_position="inside bottom right",
        )
    figure.update_xaxes(title=say("timeline.axis"), rangemode="tozero")
    most = max((sample.capacity or 0 for sample in timeline.samples), default=0)
    figure.update_yaxes(title=say("timeline.count"), rangemode="tozero", dtick=max(1, round(most / 8)))
    return figure


def hints_figure(resources: Sequence[ResourceHints], theme: Theme = "light") -> "Figure":
    """Return every mask of every resource as a heat map; for machines whose matrix is too wide to draw."""
    row = min(60, 420 / max(1, len(resources)))
    figure = _figure(say("hints.title"), theme, round(180 + row * len(resources)))
    shown = [resource for resource in resources if resource.masks]
    masks = [mask_words(verdict.counts.mask) for verdict in shown[0].masks] if shown else []
    steps = ("line", "line", "edge", "preferred")
    scale = [[part, colour(steps[i], theme)] for i in range(4) for part in (i / 4, (i + 1) / 4)]
    figure.add_heatmap(
        x=masks,
        y=[resource.resource for resource in shown],
        z=[[_VERDICTS.index(verdict.verdict) for verdict in resource.masks] for resource in shown],
        text=[[verdict.verdict for verdict in resource.masks] for resource in shown],
        hovertemplate="%{y} %{x}: %{text}<extra></extra>",
        colorscale=scale,
        zmin=0,
        zmax=3,
        xgap=1,
        ygap=3,
        showscale=False,
    )
    for words, step in (("hints.preferred", 3), ("hints.not preferred", 2), ("hints.no-hint", 0)):
        marker = {"symbol": "square", "size": 14, "color": colour(steps[step], theme)}
        figure.add_scatter(x=[None], y=[None], mode="markers", name=say(words), marker=marker)
    figure.update_xaxes(title=say("hints.masks"), nticks=8, tickangle=0)
    figure.update_yaxes(autorange="reversed")
    below = {"orientation": "h", "x": 1, "xanchor": "right", "y": 1.01, "yanchor": "bottom"}
    figure.update_layout(legend=below, margin={"t": 90})
    return figure


@dataclass(frozen=True, slots=True)
class MergeTime:
    """How many seconds a merge took, with every hint of so many resources on a machine with so many NUMA nodes."""

    nodes: int
    resources: int
    seconds: float

    @property
    def permutations(self) -> int:
        """How many permutations it has."""
        return int((2**self.nodes - 1) ** self.resources)


def explosion_figure(
    every: Sequence[MergeTime], at_once: Sequence[MergeTime], theme: Theme = "light"
) -> "Figure":
    """Return seconds over permutations, both on log scales: trying every one, and all at once."""
    figure = _figure(say("explosion.title"), theme, 440)
    for name, times, tone, symbol in (
        ("explosion.every", every, "unhealthy", "diamond"),
        ("explosion.once", at_once, "accent", "circle"),
    ):
        points = sorted(times, key=lambda time: time.permutations)
        words = [
            say("explosion.point", nodes=p.nodes, resources=p.resources, permutations=f"{p.permutations:,}")
            for p in points
        ]
        figure.add_scatter(
            x=[p.permutations for p in points],
            y=[p.seconds for p in points],
            text=words,
            name=say(name),
            mode="lines+markers",
            marker={"symbol": symbol, "size": 11, "color": colour(tone, theme)},
            line={"color": colour(tone, theme), "width": 2},
            hovertemplate="%{text}<br>%{y:.3s} s<extra></extra>",
        )
    figure.update_xaxes(title=say("explosion.permutations"), type="log", dtick=1, exponentformat="power")
    seconds = [1e-5, 1e-3, 1, 60, 3600]
    figure.update_yaxes(
        title=say("explosion.time"),
        type="log",
        tickvals=seconds,
        ticktext=["10 µs", "1 ms", "1 s", "1 min", "1 h"],
    )
    figure.update_layout(legend={"x": 0.02, "y": 0.98, "bgcolor": colour("ground", theme)})
    return figure


def shape_figure(shape: Sequence[tuple[int, int]], theme: Theme = "light") -> "Figure":
    """Return the scores of three strategies by how full a node would be: least, most, and a shape of one's own."""
    points = [UtilizationPoint(*point) for point in shape]
    figure = _figure(say("shape.figure"), theme, 380)
    across = list(range(101))
    for name, tone, dash, scores in (
        ("LeastAllocated", "muted", "dot", [100 - u for u in across]),
        ("MostAllocated", "unhealthy", "dash", across),
        (say("shape.own"), "accent", "solid", [broken_linear(points, u) for u in across]),
    ):
        line = {"color": colour(tone, theme), "dash": dash, "width": 3}
        figure.add_scatter(x=across, y=scores, name=name, line=line)
    figure.update_xaxes(title=say("shape.across"), range=[0, 101])
    figure.update_yaxes(title=say("shape.up"), range=[-3, 104])
    return figure


def _figure(title: str, theme: Theme, height: int) -> "Figure":
    from plotly.graph_objects import Figure, Layout

    ink, line = colour("ink", theme), colour("line", theme)
    axis = {"gridcolor": line, "zerolinecolor": line, "linecolor": line}
    layout = Layout(
        title={"text": title, "font": {"size": 20}},
        width=WIDTH,
        height=height,
        font={"family": FONT, "size": 14, "color": ink},
        paper_bgcolor=colour("ground", theme),
        plot_bgcolor=colour("ground", theme),
        margin={"l": 90, "r": 40, "t": 60, "b": 60},
        xaxis=axis,
        yaxis=axis,
        template="none",
    )
    return Figure(layout=layout)
