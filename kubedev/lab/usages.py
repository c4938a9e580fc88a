"""What containers and machines of a lab use, and what their kubelets make of it."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kubedev.api.quantity import Quantity
from kubedev.cluster import events as e
from kubedev.cluster.usage import MachineUsage, Usage
from kubedev.kubelet.pressure.cgroup_tree import Cgroup, cgroups_of_node
from kubedev.kubelet.pressure.eviction import EvictionRound
from kubedev.lab.actions import Action, action
from kubedev.lab.branches import Branches
from kubedev.lab.lookup import find_pod, node_name

__all__ = ["Amount", "Usages"]

Amount = str | int
"""Bytes or a count: `500Mi`, `1.5Gi`, or a whole number."""


class Usages(Branches):
    """A run in which memory, disks, inodes and process ids can run short."""

    @abstractmethod
    def began(self) -> Any:
        """What is to be remembered of the moment before an action."""

    @abstractmethod
    def done(self, action: Action, before: Any) -> None:
        """Take down what was done."""

    @action
    def use(
        self,
        pod: str,
        container: str = "",
        *,
        memory: Amount | None = None,
        rootfs: Amount | None = None,
        logs: Amount | None = None,
        inodes: int | None = None,
        processes: int | None = None,
        volumes: Mapping[str, Amount] | None = None,
    ) -> None:
        """From now on a container (the pod's first one by default) uses so much; what is not named stays.

        The kubelet sees it when it looks the next time, every ten seconds. Raises KeyError for a pod, ValueError for a
        container that is not there.
        """
        found = find_pod(self.state, pod)
        names = [c.name for c in (*found.containers, *found.init_containers)]
        name = container or names[0]
        if name not in names:
            raise ValueError(f"expected a container of {pod} ({', '.join(names)}), got {container!r}")
        before = self.state.usage.get((found.uid, name), Usage())
        layers = _numbers(memory=memory, rootfs=rootfs, logs=logs, inodes=inodes, processes=processes)
        if volumes is not None:
            layers["volumes"] = tuple((volume, _number(size)) for volume, size in volumes.items())
        self.do(e.UsageSet(found.uid, name, replace(before, **layers)))

    @action
    def machine_uses(
        self,
        node: str = "",
        *,
        memory: Amount | None = None,
        disk: Amount | None = None,
        images: Amount | None = None,
        dead_containers: Amount | None = None,
        inodes: int | None = None,
        processes: int | None = None,
    ) -> None:
        """From now on a machine uses so much besides its pods; what is not named stays.

        `images` nobody needs and `dead_containers` are removed before a pod has to go for the disk.
        """
        name = node_name(self.state, node)
        before = self.state.machine_usage.get(name, MachineUsage())
        named = _numbers(
            memory=memory,
            disk=disk,
            images=images,
            dead_containers=dead_containers,
            inodes=inodes,
            processes=processes,
        )
        self.do(e.MachineUsageSet(name, replace(before, **named)))

    def look(self, node: str = "") -> EvictionRound | None:
        """The latest look of a node's eviction manager with all its reasons; None before the first one."""
        return self.state.kubelets[node_name(self.state, node)].look

    def cgroups(self, node: str = "") -> Cgroup:
        """The cgroups of a node's pods, with what stands in their files."""
        agent = self.state.kubelets[node_name(self.state, node)]
        running = [record.pod for record in agent.pods.values() if record.running]
        return cgroups_of_node(agent.node, running, agent.config.node_allocatable())


def _numbers(**amounts: Amount | None) -> dict[str, Any]:
    return {name: _number(amount) for name, amount in amounts.items() if amount is not None}


def _number(amount: Amount) -> int:
    number = Quantity.from_json(amount).value()
    if number < 0:
        raise ValueError(f"expected 0 or more, got {amount}")
    return number
