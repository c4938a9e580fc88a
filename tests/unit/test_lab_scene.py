"""What the picture of the path is told of a lab: whose a device is, and what is left of a deleted pod."""

from collections.abc import Iterator

import pytest

from kubedev.lab import Lab
from kubedev.lab.node_scene import pod_yaml
from kubedev.lab.panel import draw_path
from kubedev.lab.scene import path_state
from kubedev.views.path_state import DeviceView
from kubedev.views.picture import Text
from tests.unit.picture_checks import problems

GPU = "nvidia.com/gpu"


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab("test-scene", nodes=1, transport="memory") as lab:
        lab.plugin(GPU, devices=4, numa=2)
        yield lab


def devices(lab: Lab) -> tuple[DeviceView, ...]:
    return path_state(lab.state, title="t").nodes[0].resources[0].devices


def test_s10_a_device_is_a_containers_where_its_pod_has_several(lab: Lab) -> None:
    lab.apply(pod_yaml("one", {GPU: 1}))
    lab.apply(pod_yaml("pair", {GPU: 1}, {GPU: 1}))
    owned = [(d.owner, bool(d.container)) for d in devices(lab) if d.owner]
    assert sorted(owned) == [("one", False), ("pair", True), ("pair", True)]
    assert len({d.container for d in devices(lab) if d.owner == "pair"}) == 2


def test_s10_a_deleted_pods_device_is_gone_until_the_next_pod_is_admitted(lab: Lab) -> None:
    lab.apply(pod_yaml("first", {GPU: 1}))
    lab.delete("first")
    (left,) = [d for d in devices(lab) if d.owner]
    assert left.gone
    assert left.owner == "deleted pod"
    lab.apply(pod_yaml("second", {GPU: 1}))
    assert [d.owner for d in devices(lab) if d.owner] == ["second"]


def test_every_moment_of_a_busy_run_is_in_order_in_a_wide_and_a_narrow_column(lab: Lab) -> None:
    lab.plugin("example.com/dongle", devices=3, numa=1)
    for pod in ("one-gpu", "two-resources", "two-gpus"):
        lab.apply(pod)
    lab.set_health("d0", healthy=False, resource=GPU)
    lab.kill_plugin("example.com/dongle")
    lab.restart_kubelet("gpu-node-1")
    for step in lab.message_steps():
        for width in (1080, 700):
            picture = draw_path(lab, step, width)
            assert problems(picture) == [], (step, width)
            assert not [m.text for m in picture.marks if isinstance(m, Text) and "…" in m.text]
