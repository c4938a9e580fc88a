"""What labs 03 and 04 say of their own: added to the catalogue."""

from kubedev.views.catalogue import register

__all__ = ["TEXTS"]

TEXTS = {
    # Checks of labs 03 and 04.
    "check.not-back": (
        "{resource} on {node} is not back: capacity {capacity}, allocatable {allocatable}. A plugin has to register "
        "again"
    ),
    "check.capacity-fell": (
        "capacity of {resource} on {node} fell to {least} at {at} s: the plugin was away for more than 300 s"
    ),
    "check.key-stays": "the key {resource} is still in the status of {node}, with {count}",
    "check.list-too-long": (
        "the list has {size} bytes, and the kubelet takes 4194304: {error}. "
        "The node has {count} of the {wanted} devices of {resource}"
    ),
    "check.list-short": "the list has {count} devices, not {wanted}",
    "check.list-twice": "device {device} is in the list more than once",
    "check.torn": "with {free} free, the container gets {taken}: a torn pair, though {pair} are free",
    "check.no-answer": "with {free} free: {error}",
    "check.conflict": (
        "pod {pod}: two plugins want {kind} {name}. {kept} is kept, {dropped} of {resource} is dropped"
    ),
    "check.shared": (
        "pod {pod}: env {name}={value} is wanted by {resources}, and each means a device of its own. "
        "The process sees one"
    ),
    # Knobs of lab 04.
    "knob.no-mask": "no mask",
    "knob.nobody": "nobody",
    "plugin.honest": "packs on few NUMA nodes",
    "plugin.not on offer": "wants devices not on offer",
    "plugin.unknown": "wants ids nobody knows",
    "plugin.one only": "names one only",
    "plugin.too many": "names all of them",
    "plugin.empty": "answers nothing",
    "plugin.error": "answers an error",
    "plugin.not asked": "has no preference: not asked",
    "moment.first": "the container is new",
    "moment.held": "it holds as many already",
    "moment.held more": "it holds another number",
    "moment.held sick": "it holds a sick one",
    "moment.runs": "it runs, the kubelet restarted",
    "moment.not registered": "no plugin has registered",
    "moment.all sick": "all devices are sick",
    "multiples.plugins.title": "One request, and plugins that answer differently",
    # Reports of lab 04.
    "table.among": "among",
    "handover.setting": "setting",
    "handover.answer": "1 the plugin answers",
    "handover.cri": "2 the kubelet asks the runtime",
    "handover.process": "3 the process sees",
    "handover.pod": "– (the pod's own)",
    "handover.env": "env",
    "handover.mount": "mount",
    "handover.device": "device",
    "handover.annotation": "annotation",
    "handover.cdi": "CDI device",
    "handover.there": "there",
    "handover.not-there": "not there",
    "handover.not-inside": "not for the process",
    "flat.v1alpha": "v1alpha, all containers in one flat list",
    "flat.v1beta1": "v1beta1, a request for each container",
    "flat.bytes": "bytes",
    "flat.requests": "container requests",
    "allocate.answer": "the plugin answers",
    "allocate.recorded": "recorded for the pod",
    "allocate.marked": "marked as allocated",
    "allocate.error": "error",
    "frozen.node": "kubelet of {node}",
    "frozen.waits": "waits for",
}

register(TEXTS)
