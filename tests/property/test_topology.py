"""What a trial counts after adding or removing a pod is what a fresh count of that cluster gives."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedev.api.objects import Node, Pod
from kubedev.scheduler.context import Context
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.pod_affinity import InterPodAffinity
from kubedev.scheduler.spread import PodTopologySpread
from kubedev.scheduler.status import Code

KEYS = ("zone", "kubernetes.io/hostname")
APPS = st.sampled_from(["web", "db"])


def term(app: str, key: str) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}


terms = st.lists(st.builds(term, APPS, st.sampled_from(KEYS)), max_size=2)


@st.composite
def pods(draw: st.DrawFn, name: str) -> Pod:
    """A pod with affinity and anti-affinity of either app over either key, and hard spread constraints."""
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    constraints = [
        {**term(draw(APPS), key), "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
        for key in draw(st.lists(st.sampled_from(KEYS), unique=True))
    ]
    affinity = {"podAffinity": {required: draw(terms)}, "podAntiAffinity": {required: draw(terms)}}
    spec = {"affinity": affinity, "topologySpreadConstraints": constraints, "containers": [{"name": "c"}]}
    return Pod.parse({"metadata": {"name": name, "labels": {"app": draw(APPS)}}, "spec": spec})


@st.composite
def clusters(draw: st.DrawFn) -> tuple[NodeInfo, ...]:
    """Up to four nodes in two zones, some without a zone, with up to three pods each."""
    nodes = []
    for i in range(draw(st.integers(1, 4))):
        zone = draw(st.sampled_from(["z1", "z2", None]))
        labels = {"kubernetes.io/hostname": f"n{i}"} | ({"zone": zone} if zone else {})
        running = [draw(pods(f"p{i}-{k}")) for k in range(draw(st.integers(0, 3)))]
        nodes.append(NodeInfo.of(Node.parse({"metadata": {"name": f"n{i}", "labels": labels}}), running))
    return tuple(nodes)


def codes(plugin: Any, state: Any, pod: Pod, nodes: tuple[NodeInfo, ...]) -> list[Code]:
    return [plugin.filter(state, pod, node).code for node in nodes]


@pytest.mark.parametrize("plugin", [InterPodAffinity(), PodTopologySpread()], ids=lambda p: p.name)
@given(cluster=clusters(), incoming=pods("incoming"), other=pods("other"), where=st.integers(0, 3))
def test_adding_and_removing_a_pod_is_counting_anew(
    plugin: Any, cluster: tuple[NodeInfo, ...], incoming: Pod, other: Pod, where: int
) -> None:
    i = where % len(cluster)
    grown = (*cluster[:i], cluster[i].add_pod(other), *cluster[i + 1 :])
    small, status, _ = plugin.pre_filter(incoming, cluster, Context(cluster))
    large, _, _ = plugin.pre_filter(incoming, grown, Context(grown))
    if status.code is Code.SUCCESS:
        added = plugin.add_pod(small, other, cluster[i])
        assert codes(plugin, added, incoming, cluster) == codes(plugin, large, incoming, cluster)
        removed = plugin.remove_pod(large, other, grown[i])
        assert codes(plugin, removed, incoming, cluster) == codes(plugin, small, incoming, cluster)
