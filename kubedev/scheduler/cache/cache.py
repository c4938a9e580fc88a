"""The scheduler's cache: nodes with their pods, and pods assumed to be bound before the API server says so.

Scheduling goes on with the next pod while the last one is still being bound, so the cache takes a pod as
bound the moment its node is chosen (assume). When the bound pod is seen in the watch it is confirmed
(add_pod); when binding fails it is forgotten; when nothing is heard it expires, if there is a time to live at
all (`ttl` 0: never, as in Kubernetes today). A node that goes away while it has pods stays as a ghost until
its pods are gone too.

Go: `pkg/scheduler/backend/cache/cache.go`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kubedev.api.objects import Node, Pod
from kubedev.api.values import SharedMap, replace, with_item, without_item
from kubedev.scheduler.cache.node_tree import NodeTree, zone_key
from kubedev.scheduler.cache.ordered import NodesInOrder
from kubedev.scheduler.node_info import NO_NODE, NodeInfo, PodInfo
from kubedev.scheduler.queue.queued_pod import key_of

__all__ = ["AssumedPod", "Cache", "CacheError"]

CORRUPTED = "scheduler cache is corrupted and can badly affect scheduling decisions"


class CacheError(ValueError):
    """The cache was told something that does not go with what it knows; the text is Go's."""


@dataclass(frozen=True, slots=True)
class AssumedPod:
    """A pod that counts as bound though nobody confirmed it.

    Once binding has finished it expires strictly after `deadline` (seconds; None: never).
    """

    pod: Pod
    binding_finished: bool = False
    deadline: float | None = None


@dataclass(frozen=True, slots=True)
class Cache:
    """The cache at one moment; `pods` are all known pods by uid, `assumed` those of them that are only
    assumed.

    Go: `pkg/scheduler/backend/cache/cache.go: cacheImpl`.
    """

    ttl: float = 0
    nodes: SharedMap[str, NodeInfo] = field(default_factory=SharedMap)
    pods: Mapping[str, Pod] = field(default_factory=SharedMap)
    assumed: Mapping[str, AssumedPod] = field(default_factory=SharedMap)
    tree: NodeTree = field(default_factory=NodeTree)

    @classmethod
    def of(cls, nodes: Iterable[Node], pods: Iterable[Pod], ttl: float = 0) -> "Cache":
        """A cache that has seen these nodes, and these bound pods on them."""
        known = {pod.uid: pod for pod in pods}
        there: dict[str, list[PodInfo]] = {}
        for pod in known.values():
            there.setdefault(pod.node_name, []).append(PodInfo.of(pod))
        nodes = {node.name: node for node in nodes}.values()
        infos = {node.name: NodeInfo.of(node, there.pop(node.name, ())) for node in nodes}
        ghosts = {
            name: replace(NodeInfo.of(NO_NODE, left), generation=len(left)) for name, left in there.items()
        }
        return cls(ttl, SharedMap(infos | ghosts), SharedMap(known), tree=NodeTree.of(nodes))

    # Pods

    def assume(self, pod: Pod) -> "Cache":
        """Take the pod as bound to its `node_name`. Go: `AssumePod`."""
        if pod.uid in self.pods:
            raise CacheError(f"pod {described(pod)} is in the cache, so can't be assumed")
        cache = self._put(pod)
        return replace(cache, assumed=with_item(cache.assumed, pod.uid, AssumedPod(pod)))

    def finish_binding(self, pod: Pod, now: float) -> "Cache":
        """The API server answered, well or badly: from now on an assumed pod may expire. Go: `FinishBinding`."""
        if pod.uid not in self.assumed:
            return self
        deadline = None if self.ttl == 0 else now + self.ttl
        finished = replace(self.assumed[pod.uid], binding_finished=True, deadline=deadline)
        return replace(self, assumed=with_item(self.assumed, pod.uid, finished))

    def forget(self, pod: Pod) -> "Cache":
        """Take an assumption back. Go: `ForgetPod`."""
        known = self.pods.get(pod.uid)
        if known is not None and known.node_name != pod.node_name:
            raise CacheError(
                f"pod {described(pod)} was assumed on {pod.node_name} but assigned to {known.node_name}"
            )
        if pod.uid not in self.assumed:
            raise CacheError(f"pod {described(pod)} wasn't assumed so cannot be forgotten")
        return self._take(pod)

    def add_pod(self, pod: Pod) -> "Cache":
        """A bound pod is seen: one that was assumed is confirmed, on whichever node it really is. Go: `AddPod`."""
        if pod.uid in self.assumed:
            return self._confirm(self.pods[pod.uid], pod)
        if pod.uid in self.pods:
            raise CacheError(f"pod {described(pod)} was already in added state")
        return self._put(pod)

    def update_pod(self, old: Pod, new: Pod) -> "Cache":
        """A bound pod changed. Go: `UpdatePod`; where Go gives up (another node), an error says so."""
        known = self.pods.get(old.uid)
        if known is None:
            raise CacheError(f"pod {described(old)} is not added to scheduler cache, so cannot be updated")
        if old.uid in self.assumed:
            raise CacheError(f"assumed pod {described(old)} should not be updated")
        if known.node_name != new.node_name:
            raise CacheError(CORRUPTED)
        before = old if old.node_name == known.node_name else known
        nodes, pods = self._with(before, new)
        return replace(self, nodes=nodes, pods=pods)

    def remove_pod(self, pod: Pod) -> "Cache":
        """A bound pod is gone; one whose last known state has no node goes by what is known. Go: `RemovePod`."""
        known = self.pods.get(pod.uid)
        if known is None:
            raise CacheError(
                f"pod {described(pod)} is not found in scheduler cache, so cannot be removed from it"
            )
        if pod.node_name not in ("", known.node_name):
            raise CacheError(CORRUPTED)
        return self._take(known)

    def cleanup(self, now: float) -> "Cache":
        """Drop the assumed pods whose time is over; the real cache looks every second. Go: `cleanupAssumedPods`."""
        cache = self
        for uid in sorted(self.assumed):
            assumed = self.assumed[uid]
            if assumed.deadline is not None and now > assumed.deadline:
                cache = cache._take(assumed.pod)
        return cache

    def is_assumed(self, pod: Pod) -> bool:
        """Whether the pod counts as bound though nobody confirmed it."""
        return pod.uid in self.assumed

    # Nodes

    def add_node(self, node: Node) -> "Cache":
        """A node came; pods that are already known to be on it are there. Go: `AddNode`."""
        info = self.nodes.get(node.name, NodeInfo()).with_node(node)
        return replace(self, nodes=with_item(self.nodes, node.name, info), tree=self.tree.add(node))

    def update_node(self, old: Node, new: Node) -> "Cache":
        """A node changed. Go: `UpdateNode`."""
        tree = self.tree if new.name in self.nodes else self.tree.add(new)
        info = self.nodes.get(new.name, NodeInfo()).with_node(new)
        return replace(self, nodes=with_item(self.nodes, new.name, info), tree=tree.update(old, new))

    def remove_node(self, node: Node) -> "Cache":
        """A node went; with pods on it, it stays as a ghost that no snapshot shows. Go: `RemoveNode`."""
        info = self.nodes.get(node.name)
        if info is None:
            raise CacheError(f"node {node.name} is not found")
        if not info.name:
            raise CacheError(f'node "{node.name}" in group "{zone_key(node)}" was not found')
        ghost = replace(info, node=NO_NODE)
        nodes = self.nodes
        nodes = with_item(nodes, node.name, ghost) if info.pods else without_item(nodes, node.name)
        return replace(self, nodes=nodes, tree=self.tree.remove(info.node))

    def snapshot(self) -> NodesInOrder:
        """The nodes as a scheduling cycle sees them: without ghosts, the zones in turn. Go: `UpdateSnapshot`."""
        return NodesInOrder(self.nodes, self.tree.names())

    def _put(self, pod: Pod) -> "Cache":
        info = self.nodes.get(pod.node_name, NodeInfo()).add_pod(pod)
        return replace(
            self,
            nodes=with_item(self.nodes, pod.node_name, info),
            pods=with_item(self.pods, pod.uid, pod),
        )

    def _confirm(self, assumed: Pod, pod: Pod) -> "Cache":
        """An assumed pod as it was seen: mostly on the node that it was assumed on."""
        if assumed.node_name != pod.node_name:
            return self._take(assumed)._put(pod)
        nodes, pods = self._with(assumed, pod)
        return replace(self, nodes=nodes, pods=pods, assumed=without_item(self.assumed, pod.uid))

    def _with(self, old: Pod, new: Pod) -> tuple[SharedMap[str, NodeInfo], Mapping[str, Pod]]:
        """Nodes and pods with a pod as it is now, on the node on which it was; a ghost of one pod begins anew."""
        info = self.nodes[new.node_name].remove_pod(old)
        info = (info if info.pods or info.name else NodeInfo()).add_pod(new)
        return with_item(self.nodes, new.node_name, info), with_item(self.pods, new.uid, new)

    def _take(self, pod: Pod) -> "Cache":
        """Without the pod; a ghost goes with its last pod."""
        nodes, name = self.nodes, pod.node_name
        info = nodes[name].remove_pod(pod)
        nodes = with_item(nodes, name, info) if info.pods or info.name else without_item(nodes, name)
        assumed = self.assumed
        if pod.uid in assumed:
            assumed = without_item(assumed, pod.uid)
        return replace(self, nodes=nodes, pods=without_item(self.pods, pod.uid), assumed=assumed)


def described(pod: Pod) -> str:
    """A pod as the cache's errors name it: `uid(namespace/name)`."""
    return f"{pod.uid}({key_of(pod)})"
