"""What a reader does to a lab's nodes, and to pods that are to go or wait."""

from kubedev.cluster import events as e
from kubedev.cluster.controllers import podgc
from kubedev.lab.actions import action
from kubedev.lab.lookup import find_pod, known_node, matching_taints, node_name, plugin_key, read_taint
from kubedev.lab.usages import Usages

__all__ = ["Nodes"]


class Nodes(Usages):
    """A run whose nodes are cordoned, tainted and deleted, and whose kubelets fall silent."""

    @action
    def delete(self, pod: str, grace_seconds: int | None = None, force: bool = False) -> None:
        """Delete a pod, and wait until it is gone, as `kubectl delete` does.

        `grace_seconds` is how long its containers may take to end. With `force` the object goes at once, whatever
        its kubelet does. Where its node is gone, the clock goes on until it is collected; a kubelet that is silent
        is not waited for. Raises KeyError for a pod that is not there, ValueError for a grace period below 0.
        """
        if force and grace_seconds:
            raise ValueError("--force and --grace-period greater than 0 cannot be specified together")
        if grace_seconds is not None and grace_seconds < 0:
            raise ValueError(f"expected a grace period of 0 seconds or more, got {grace_seconds}")
        grace = 0 if force else grace_seconds if grace_seconds is None else max(grace_seconds, 1)
        uid = find_pod(self.state, pod).uid
        self.do(e.PodDeletionAsked(uid, grace))
        while (
            uid in self.state.store.pods and self.state.store.pods[uid].node_name not in self.state.kubelets
        ):
            self.do(e.ClockAdvanced(podgc.next_run(self.state.now) - self.state.now, asked=0))

    @action
    def kill_container(self, pod: str, container: str = "") -> None:
        """SIGKILL a container, the pod's first one where none is named, and its kubelet hears of it.

        Raises KeyError for a pod, ValueError for a container that does not run.
        """
        uid = find_pod(self.state, pod).uid
        running = [c for c in self.state.containers.values() if c.pod_uid == uid and c.phase == "running"]
        found = next((c for c in running if container in ("", c.name)), None)
        if found is None:
            there = ", ".join(c.name for c in running) or "none"
            raise ValueError(f"expected a container of {pod} that runs ({there}), got {container!r}")
        self.do(e.ContainerKilled(uid, found.name))

    @action
    def leave_out(self, device: str, resource: str = "", node: str = "", listed: bool = False) -> None:
        """Have a plugin leave a device out of its list, used or not; with `listed` it lists it again."""
        key = plugin_key(self.state, resource, node)
        plugin = self.state.plugins[key]
        there = [d.id for d in (plugin.left_out if listed else plugin.devices)]
        if device not in there:
            what = "left out" if listed else "listed"
            raise ValueError(
                f"expected a device of {key[1]} that is {what} ({', '.join(there)}), got {device!r}"
            )
        self.do(e.DeviceListed(*key, device, listed))

    @action
    def remove_gate(self, pod: str, gate: str) -> None:
        """Take a scheduling gate off a pod: without any it is scheduled."""
        found = find_pod(self.state, pod)
        if gate not in found.scheduling_gates:
            there = ", ".join(found.scheduling_gates) or "none"
            raise ValueError(f"expected one of the pod's gates ({there}), got {gate!r}")
        self.do(e.PodUngated(found.uid, gate))

    @action
    def cordon(self, node: str = "") -> None:
        """Let no new pods come to a node."""
        self.do(e.NodePatched(known_node(self.state, node), unschedulable=True))

    @action
    def uncordon(self, node: str = "") -> None:
        """Let new pods come to a node again."""
        self.do(e.NodePatched(known_node(self.state, node), unschedulable=False))

    @action
    def taint(self, taint: str, node: str = "") -> None:
        """Give a node a taint, written as for kubectl: `maintenance=true:NoExecute`, or `maintenance:NoSchedule`."""
        self.do(e.NodePatched(known_node(self.state, node), add=(read_taint(taint),)))

    @action
    def untaint(self, taint: str, node: str = "") -> None:
        """Take taints off a node: `maintenance` (all of this key), or `maintenance:NoExecute`."""
        name = known_node(self.state, node)
        self.do(e.NodePatched(name, remove=matching_taints(self.state.store.nodes[name], taint)))

    @action
    def delete_node(self, node: str = "") -> None:
        """Delete a node's object. Its machine goes on; its pods are collected after a while (`advance`), and a kubelet
        that restarts registers its node anew.
        """
        self.do(e.NodeDeleted(known_node(self.state, node)))

    @action
    def silence_kubelet(self, node: str = "", silent: bool = True) -> None:
        """Cut a kubelet off from the API server: neither hears of the other, its containers go on. With `silent` false,
        or after a restart of the kubelet, they hear each other again.
        """
        self.do(e.KubeletSilenced(node_name(self.state, node), silent))
