"""What lab 04 explores: the kubelet's choice of devices, what the plugin says to it, and what a container gets."""

from kubedev.lab.allocation_scene import FRAMES as FRAMES
from kubedev.lab.allocation_scene import KNOBS as KNOBS
from kubedev.lab.allocation_scene import MOMENTS as MOMENTS
from kubedev.lab.allocation_scene import allocation_scene as scene
from kubedev.lab.allocation_scene import decide as decide
from kubedev.lab.allocation_scene import draw_allocation as draw
from kubedev.lab.allocation_scene import edge_of_alignment as edge_of_alignment
from kubedev.lab.allocation_scene import first_question as first_question
from kubedev.lab.allocation_scene import plugins_side_by_side as plugins_side_by_side
from kubedev.lab.allocation_scene import steps as steps
from kubedev.lab.device_checks import PARTNERS as PARTNERS
from kubedev.lab.device_checks import check_last as check_last
from kubedev.lab.device_checks import check_preference as check_preference
from kubedev.lab.device_checks import no_conflict as no_conflict
from kubedev.lab.handover import allocate_requests as requests
from kubedev.lab.handover import allocate_with as answered
from kubedev.lab.handover import flat_and_per_container as flat_and_per_container
from kubedev.lab.handover import freeze as freeze
from kubedev.lab.handover import handover as handover
from kubedev.lab.handover import post_pods as post_pods
from kubedev.lab.handover import thaw as thaw
from kubedev.lab.handover import waits as waits
from kubedev.lab.node_scene import pod_yaml as pod_yaml
from kubedev.views.graphs import allocation_graph as graph

__all__ = [
    "FRAMES",
    "KNOBS",
    "MOMENTS",
    "PARTNERS",
    "answered",
    "check_last",
    "check_preference",
    "decide",
    "draw",
    "edge_of_alignment",
    "first_question",
    "flat_and_per_container",
    "freeze",
    "graph",
    "handover",
    "no_conflict",
    "plugins_side_by_side",
    "pod_yaml",
    "post_pods",
    "requests",
    "scene",
    "steps",
    "thaw",
    "waits",
]
