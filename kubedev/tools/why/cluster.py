"""A real cluster's dump in Python: its nodes for lab pictures, and what `kubedev why` and `kubedev place` say."""

import os
from collections.abc import Iterable
from typing import Any

from kubedev.api.objects import Pod
from kubedev.scheduler.cycle import Decision
from kubedev.scheduler.node_info import NodeInfo
from kubedev.tools.why.answer import answer
from kubedev.tools.why.asking import all_waiting, asked_by_name, pods_in_manifest
from kubedev.tools.why.dump import Dump, read_dump
from kubedev.tools.why.lines import lines_of
from kubedev.tools.why.placing import Placement, place
from kubedev.tools.why.world import World, world_of

__all__ = ["DumpedCluster", "Explanation", "cluster_from"]


class Explanation(dict[str, Any]):
    """What `kubedev why --json` prints, which reads as its lines."""

    def __repr__(self) -> str:
        return "\n".join(lines_of(self, coloured=False, listed=False))


class DumpedCluster:
    """A cluster at the moment of its dump."""

    def __init__(self, dump: Dump) -> None:
        self._dump = dump

    def __repr__(self) -> str:
        version = f", {self._dump.version}" if self._dump.version else ""
        return f"<a cluster of {len(self._dump.nodes)} nodes and {len(self._dump.pods)} pods{version}>"

    def world(self, pods: Iterable[Pod] = ()) -> World:
        """Its scheduler, for whoever asks about these pods."""
        return world_of(self._dump, pods)

    @property
    def nodes(self) -> tuple[NodeInfo, ...]:
        """Its nodes with their pods, as lab pictures take them: `scheduling.show(pod, cluster.nodes)`."""
        return self.world().nodes

    @property
    def pods(self) -> tuple[str, ...]:
        """Its pods, as `namespace/name`."""
        return tuple(self._dump.pods)

    def pod(self, name: str) -> Pod:
        """A pod by `name` or `namespace/name`. Raises ValueError."""
        return asked_by_name(self._dump, name).pod

    def decide(self, pod: Pod | str) -> Decision:
        """What the scheduler would decide about a pod, one of the dump's or another."""
        found = self.pod(pod) if isinstance(pod, str) else pod
        return self.world([found]).decide(found)

    def why(self, pod: str = "") -> Explanation:
        """What `kubedev why` says about a pod, or about all that wait. Raises ValueError."""
        asked = [asked_by_name(self._dump, pod)] if pod else all_waiting(self._dump)
        world = self.world([one.pod for one in asked])
        return Explanation(answer(self._dump, world, asked, every_node=False, brief=not pod))

    def place(self, pods: Iterable[Pod] | str | os.PathLike[str]) -> Placement:
        """Where pods would go: given as values, or by the name of a manifest. Raises ValueError."""
        if isinstance(pods, str | os.PathLike):
            pods = pods_in_manifest(self._dump, os.fspath(pods))
        found = list(pods)
        return place(self.world(found), found)


def cluster_from(*dumps: str | os.PathLike[str]) -> DumpedCluster:
    """The cluster of one dump or several, as `kubectl get nodes,pods -A -o json` prints them. Raises ValueError.

    cluster = cluster_from("dump.json")
    cluster.why("default/trainer")
    cluster.place("job.yaml").picture()
    """
    return DumpedCluster(read_dump([os.fspath(dump) for dump in dumps]))
