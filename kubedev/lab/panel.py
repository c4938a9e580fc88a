"""The live picture of a lab with its buttons: everything they do can be done in code as well."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from kubedev.api.messages import HEALTHY
from kubedev.lab.controls import FIT, button, control, history_slider, offer, row
from kubedev.lab.pictured import Pictured
from kubedev.lab.player import Player
from kubedev.lab.scene import path_state
from kubedev.views.catalogue import say
from kubedev.views.live import LivePicture
from kubedev.views.path import path_picture
from kubedev.views.picture import Picture

if TYPE_CHECKING:
    from kubedev.lab.session import Lab

__all__ = ["Draw", "Panel", "draw_path"]

Draw = Callable[["Lab", int], Picture]
"""Draws a step of a lab's history."""


def draw_path(lab: "Lab", step: int) -> Picture:
    """The whole path at a step of the history, counted in messages."""
    history = lab.history
    state = history[step].state
    return path_picture(
        path_state(
            state,
            title=say("path.title"),
            step=len(state.messages),
            total=len(history.state.messages),
            mode=lab.shown_mode,
            forked_at=None if lab.forked_at is None else len(history[lab.forked_at].state.messages),
        )
    )


class Panel(Pictured):
    """Picture, history and buttons. It follows the lab message by message until it has caught up."""

    def __init__(
        self,
        lab: "Lab",
        samples: dict[str, Path],
        draw: "Draw | None" = None,
        paced: bool = True,
        since: int | None = None,
    ) -> None:
        self.lab = lab
        self._drawing = draw or draw_path
        self._samples = samples
        self._opened = lab.position if since is None else since
        self._player = Player(lab, self._refresh, self._opened, paced)
        self._setting = False
        self._work = ThreadPoolExecutor(1, thread_name_prefix="kubedev panel")
        self.picture = LivePicture(self._draw(), on_action=self._clicked, frames=self._frames)
        self._make_controls(paced)
        super().__init__(self._rows())
        self.add_class("kubedev-panel")
        self._refresh()
        self._player.start()

    def sleep(self) -> None:
        """Follow no more: the picture stays with the latest state, and its buttons say why they do nothing."""
        if self._player.stopped:
            return
        self._player.stop()
        self._work.shutdown(wait=False, cancel_futures=True)
        self._refresh()
        for each in self._controls:
            each.disabled = True
        self._say(say("panel.asleep"))

    # Drawing

    def _draw(self) -> Picture:
        return self._drawing(self.lab, min(self._player.step, len(self.lab.history) - 1))

    def _frames(self) -> list[Picture]:
        """A picture for every message of the history, for pages without a kernel."""
        with self.lab.recorded():
            return [self._drawing(self.lab, step) for step in self.lab.message_steps()]

    def without_kernel(self) -> dict[str, str]:
        """Return the picture with its frames; it opens at the step at which it was shown first."""
        return self.picture.without_kernel(sum(s <= self._opened for s in self.lab.message_steps()) - 1)

    def _refresh(self) -> None:
        self.picture.show(self._draw())
        time.sleep(0.001)  # the thread that sends it goes first, the controls may follow
        self._update_controls()

    # Controls

    def _make_controls(self, paced: bool) -> None:
        self.notice = control(widgets.HTML)
        self.notice.add_class("kubedev-notice")
        self.back = self._button("panel.back", self.lab.back)
        self.forward = self._button("panel.forward", self.lab.forward)
        self.slider = history_slider()
        self.slider.observe(self._slid, "value")
        self.live = self._button("panel.live", self.lab.back_to_live)
        self.go_live = self._button("panel.go-live", self.lab.go_live)
        self.pace = control(
            widgets.ToggleButton,
            paced,
            description=say("panel.pace"),
            tooltip=say("panel.pace.tip"),
            layout=FIT,
        )
        self.pace.observe(lambda change: self._player.pace(change["new"]), "value")

        self.sample = control(
            widgets.Dropdown,
            options=list(self._samples),
            layout={"width": "250px"},
            tooltip=say("panel.sample"),
        )
        self.add = self._button("panel.add", self._add, primary=True)
        self.pod = control(widgets.Dropdown, options=[], layout={"width": "190px"}, tooltip=say("panel.pod"))
        self.delete = self._button("panel.delete", self._delete)
        self.yaml = control(
            widgets.Textarea, placeholder=say("panel.yaml.hint"), layout={"width": "100%", "height": "150px"}
        )
        self.apply = self._button("panel.apply", self._apply_text)

        self.resource = control(
            widgets.Combobox,
            value="nvidia.com/gpu",
            options=["nvidia.com/gpu", "example.com/dongle"],
            ensure_option=False,
            layout={"width": "190px"},
            tooltip=say("panel.resource"),
        )
        self.count = control(
            widgets.BoundedIntText, 8, 0, 512, layout={"width": "64px"}, tooltip=say("panel.count")
        )
        self.numa = control(
            widgets.BoundedIntText, 2, 0, 8, layout={"width": "56px"}, tooltip=say("panel.numa")
        )
        self.node = control(
            widgets.Dropdown, options=[], layout={"width": "130px"}, tooltip=say("panel.node")
        )
        self.start = self._button("panel.start", self._start_plugin)
        self.kill = self._button("panel.kill", self._kill_plugin)
        self.device = control(
            widgets.Dropdown, options=[], layout={"width": "300px"}, tooltip=say("panel.device")
        )
        self.unhealthy = self._button("panel.unhealthy", lambda: self._health(False))
        self.healthy = self._button("panel.healthy", lambda: self._health(True))
        self.seconds = control(
            widgets.Dropdown, options=[("10 s", 10), ("60 s", 60), ("301 s", 301)], layout={"width": "84px"}
        )
        self.seconds.tooltip = say("panel.seconds")
        self.clock = self._button("panel.clock", lambda: self.lab.advance(self.seconds.value))
        self.restart = self._button("panel.restart", lambda: self.lab.restart_kubelet(self.node.value or ""))
        self.reset = self._button("panel.reset", self._reset)
        self._controls = [
            c for c in vars(self).values() if isinstance(c, widgets.CoreWidget) and c.has_trait("disabled")
        ]

    def _rows(self) -> list[widgets.Widget]:
        def word(key: str) -> widgets.Widget:
            return control(widgets.Label, say(key), layout=FIT)

        pasted = control(
            widgets.Accordion, [control(widgets.VBox, [self.yaml, self.apply])], selected_index=None
        )
        pasted.set_title(0, say("panel.yaml"))
        above = [
            row("panel.pods", self.sample, self.add, self.pod, self.delete, self.reset),
            row(
                "panel.plugin",
                self.resource,
                word("panel.with"),
                self.count,
                word("panel.devices"),
                self.numa,
                word("panel.on"),
                self.node,
                self.start,
                self.kill,
            ),
            row(
                "panel.device-row",
                self.device,
                self.unhealthy,
                self.healthy,
                self.seconds,
                self.clock,
                self.restart,
            ),
        ]
        below = [
            row("panel.history", self.back, self.slider, self.forward, self.live, self.go_live, self.pace),
            pasted,
        ]
        return [*above, self.notice, self.picture, *below]

    def _button(self, key: str, action: Callable[[], Any], primary: bool = False) -> widgets.Button:
        return button(key, lambda: self._do(action), primary)

    def _do(self, action: Callable[[], Any]) -> None:
        """Run an action off the kernel's thread, and show what goes wrong instead of losing it."""

        def run() -> None:
            try:
                self._say("")
                action()
            except Exception as error:
                self._say(str(error) or repr(error))

        if not self._player.stopped:
            self._work.submit(run)

    def _say(self, text: str) -> None:
        self.notice.value = (
            f'<div class="kubedev-alert" role="alert" style="white-space: pre-line">{escape(text)}</div>'
            if text
            else ""
        )

    def _clicked(self, action: str) -> None:
        """A device that is clicked turns sick, or well again."""
        kind, _, what = action.partition(":")
        resource, _, device = what.partition(":")
        if kind == "device":
            self._do(lambda: self._toggle(resource, device))

    def _toggle(self, resource: str, device: str) -> None:
        plugins = self.lab.state.plugins.values()
        for plugin in (p for p in plugins if p.alive and p.resource == resource):
            for found in (d for d in plugin.devices if d.id == device):
                self.lab.set_health(device, found.health != HEALTHY, resource, plugin.node)
                return
        raise ValueError(say("panel.no-plugin", resource=resource))

    def _slid(self, change: dict[str, Any]) -> None:
        if not self._setting:
            steps = self.lab.message_steps()
            self._do(lambda: self.lab.seek(steps[min(change["new"], len(steps) - 1)]))

    def _add(self) -> None:
        self._created(self.lab.apply(self._samples[self.sample.value], rename=True))

    def _apply_text(self) -> None:
        self._created(self.lab.apply(self.yaml.value, say("panel.yaml.source")))

    def _created(self, loaded: Any) -> None:
        """Name what was skipped; put what a pod lacks into the plugin's fields."""
        skipped = [say("panel.skipped", kind=s.kind, name=s.name) for s in loaded.skipped]
        missing = self.lab.missing_resources(loaded.pods)
        if missing:
            self.resource.value = missing[0]
            skipped.append(say("panel.offer", resources=", ".join(missing)))
        self._say(" ".join([*skipped, *loaded.notes]))

    def _start_plugin(self) -> None:
        self.lab.plugin(self.resource.value, self.count.value, self.numa.value, self.node.value or "")
        self._warn_refused()

    def _warn_refused(self) -> None:
        for plugin in self.lab.state.plugins.values():
            if plugin.phase == "refused" and plugin.resource == self.resource.value:
                self._say(say("panel.refused", error=plugin.error))

    def _kill_plugin(self) -> None:
        self.lab.kill_plugin(self.resource.value, self.node.value or "")

    def _delete(self) -> None:
        if self.pod.value is None:
            raise ValueError(say("panel.no-pod"))
        self.lab.delete(self.pod.value)

    def _health(self, healthy: bool) -> None:
        if self.device.value is None:
            raise ValueError(say("panel.no-device"))
        node, resource, device = self.device.value
        self.lab.set_health(device, healthy, resource, node)

    def _reset(self) -> None:
        self.lab.reset()
        self._player.jump()

    def _update_controls(self) -> None:
        lab = self.lab
        steps = lab.message_steps()
        self._setting = True
        try:
            # Two messages: a slider in the page that gets both at once answers with its old value.
            self.slider.max = max(len(steps) - 1, 1)
            self.slider.value = sum(1 for step in steps if step <= self._player.step) - 1
        finally:
            self._setting = False
        state = lab.state
        offer(self.pod, [pod.name for pod in state.store.pods.values()], jump=False)
        offer(self.node, list(state.kubelets))
        offer(
            self.device,
            [
                (say("panel.device-option", device=d.id, resource=r, node=n, health=d.health), (n, r, d.id))
                for (n, r), plugin in state.plugins.items()
                if plugin.alive
                for d in plugin.devices
            ],
        )
        self.back.disabled = lab.position == 0
        self.forward.disabled = lab.mode != "replay"
        self.live.disabled = lab.mode == "live"
        self.go_live.disabled = lab.mode != "fork" and lab.mode != "replay"
        self.delete.disabled = not state.store.pods
        alive = any(plugin.alive for plugin in state.plugins.values())
        self.kill.disabled = self.unhealthy.disabled = self.healthy.disabled = not alive
