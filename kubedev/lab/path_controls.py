"""The controls of a lab in a row below the picture of the path, instead of its strip of history."""

from dataclasses import replace

from kubedev.cluster.state import ClusterState
from kubedev.lab.applying import manifests
from kubedev.views.catalogue import say
from kubedev.views.controls import Button, Choice, Control, What, act, control_size
from kubedev.views.picture import Picture

__all__ = ["with_controls"]

_TOP = 508.0
_GAP = 8.0


def with_controls(picture: Picture, state: ClusterState) -> Picture:
    """Return the picture with a row of what can be done in this state."""
    marks = [m for m in picture.marks if m.key.split("/")[0] not in ("history", "mode", "clock")]
    x = 0.0
    for key, what, tip in _controls(state):
        width, height = control_size(what)
        marks.append(Control(f"act/{key}", x, _TOP, width, height, what, tip))
        x += width + _GAP
    sentence = picture.sentence.partition(": ")[2] or picture.sentence  # the transport says which step it is
    return replace(picture, marks=tuple(marks), height=_TOP + 30, sentence=sentence)


def _controls(state: ClusterState) -> list[tuple[str, What, str]]:
    pods = tuple(pod.name for pod in state.store.pods.values())
    node = next(iter(state.kubelets), "")
    alive = next((key for key, plugin in state.plugins.items() if plugin.alive), None)
    add = act("apply", manifest="=act/sample", rename=True)
    kill = act("kill_plugin", resource=alive[1] if alive else "", node=alive[0] if alive else "")
    sample = Choice(say("panel.sample"), tuple(manifests()), "one-gpu", ())
    chosen = Choice(say("panel.pod"), pods or ("-",), (pods or ("-",))[-1], ())
    seconds = Choice(say("panel.seconds"), ("10", "60", "301"), "10", ())
    advance = act("advance", seconds="=act/seconds")
    delete = act("delete", pod="=act/pod")
    return [
        ("sample", sample, say("panel.sample")),
        ("add", Button(say("panel.add"), add, primary=True), say("panel.add.tip")),
        ("yaml", Button(say("panel.yaml"), act("ask", form="yaml")), say("panel.yaml.tip")),
        ("pod", chosen, say("panel.pod")),
        ("delete", Button(say("panel.delete"), delete, disabled=not pods), say("panel.delete.tip")),
        ("plugin", Button(say("panel.plugin"), act("ask", form="plugin")), say("panel.plugin.tip")),
        (
            "kill",
            Button(say("panel.kill"), kill, disabled=alive is None),
            say("panel.kill.tip", resource=kill[1][1]),
        ),
        (
            "restart",
            Button(say("panel.restart"), act("restart_kubelet", node=node)),
            say("panel.restart.tip", node=node),
        ),
        ("seconds", seconds, say("panel.seconds")),
        ("clock", Button(say("panel.clock"), advance), say("panel.clock.tip")),
    ]
