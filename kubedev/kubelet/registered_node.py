"""A node object as its kubelet registers it: with the labels and conditions that every node has.

Source: `pkg/kubelet/kubelet_node_status.go: initialNode, updateDefaultLabels`, `pkg/kubelet/nodestatus/setters.go`.
"""

from dataclasses import replace

from kubedev.api.objects import Condition, Node

__all__ = ["HEALTHY", "registered_node"]

HOSTNAME = "kubernetes.io/hostname"
OLD_NAMES = {
    "kubernetes.io/os": "beta.kubernetes.io/os",
    "kubernetes.io/arch": "beta.kubernetes.io/arch",
    "node.kubernetes.io/instance-type": "beta.kubernetes.io/instance-type",
    "topology.kubernetes.io/zone": "failure-domain.beta.kubernetes.io/zone",
    "topology.kubernetes.io/region": "failure-domain.beta.kubernetes.io/region",
}
"""Labels that have a name of before as well; the last three only where somebody says what they are."""
MACHINE = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
HEALTHY = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)
"""The conditions of a node whose kubelet posts its status: type, status, reason and message."""


def registered_node(node: Node, now: float = 0.0) -> Node:
    """The node with what is missing of labels and conditions; what it says of itself stays.

    A machine that says nothing else runs linux on amd64.
    """
    labels = {HOSTNAME: node.name, **MACHINE, **node.labels}
    for name, old in OLD_NAMES.items():
        if value := node.labels.get(name) or node.labels.get(old) or labels.get(name):
            labels.setdefault(old, value)
            if name not in node.labels:
                labels[name] = value
    there = {condition.type for condition in node.conditions}
    added = (Condition(*each, last_transition_time=now) for each in HEALTHY if each[0] not in there)
    return replace(node, labels=labels, conditions=(*node.conditions, *added))
