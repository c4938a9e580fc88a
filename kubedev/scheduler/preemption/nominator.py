"""Who is nominated to which node: room that preemption made for a pod which is not bound yet.

The scheduler keeps this in memory, since a pod's status.nominatedNodeName comes back from the API server
late.

Go: `pkg/scheduler/backend/queue/nominator.go`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubedev.api.objects import Pod

__all__ = ["Nominator"]


@dataclass(frozen=True, slots=True)
class Nominator:
    """The nominated pods and their nodes, by the pod's uid, in the order in which they were nominated."""

    nominations: Mapping[str, tuple[Pod, str]] = field(default_factory=dict)

    def add(self, pod: Pod, node_name: str | None = None) -> "Nominator":
        """Nominate the pod to a node. None takes what its status says; an empty name takes the nomination
        away.

        Go: `nominator.addNominatedPodUnlocked`; there an emptied nomination is kept under no node.
        """
        node = pod.nominated_node_name if node_name is None else node_name
        rest = self.delete(pod.uid)
        return Nominator({**rest.nominations, pod.uid: (pod, node)}) if node else rest

    def update(self, old: Pod, new: Pod) -> "Nominator":
        """A pending pod changed. An update that does not speak of a nomination leaves the one in memory
        alone.

        Go: `nominator.UpdateNominatedPod`.
        """
        remembered = self.nominations.get(old.uid)
        speaks = bool(old.nominated_node_name or new.nominated_node_name)
        return self.delete(old.uid).add(new, None if speaks or remembered is None else remembered[1])

    def delete(self, uid: str) -> "Nominator":
        """Forget the pod's nomination, if there is one."""
        if uid not in self.nominations:
            return self
        return Nominator({key: value for key, value in self.nominations.items() if key != uid})

    def node_of(self, uid: str) -> str:
        """The node that the pod is nominated to, or an empty text."""
        return self.nominations[uid][1] if uid in self.nominations else ""

    def pods_for_node(self, node_name: str) -> tuple[Pod, ...]:
        """The pods nominated to this node. Go: `nominator.nominatedPodsForNode`."""
        if not self.nominations:
            return ()
        return tuple(pod for pod, node in self.nominations.values() if node == node_name)
