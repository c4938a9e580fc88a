"""Every sentence, label and word that kubedev shows, in one place, so that a second language can be added.

Names of Kubernetes (kubelet, Allocate, capacity, NUMA) and Kubernetes' own messages are data, not text, and
do not stand here.
"""

from collections.abc import Mapping

from kubedev.views.words import PICTURES

__all__ = ["ENGLISH", "register", "say"]

ENGLISH: dict[str, str] = {
    # The states of a device: the words beside the marks.
    "state.free": "free",
    "state.allocated": "allocated",
    "state.unhealthy": "unhealthy",
    "state.unhealthy-in-use": "unhealthy, in use",
    "state.reusable": "reusable",
    "state.preferred": "preferred",
    # Frame of every picture.
    "frame.step": "Step {step} of {total}",
    "frame.table": "The same as a table",
    "frame.back": "Step back",
    "frame.forward": "Step forward",
    "frame.history": "History",
    "frame.more": "+{count} more",
    # What a picture made of parts says of itself.
    "grammar.alt": "{sentence}. Shown: {shown}.",
    "grammar.card": "{title} ({held})",
    "grammar.board": "a board of {rows} rows and {columns} columns",
    "grammar.decisions": "{count} steps",
    "grammar.bars": "bars for {labels}, from 0 to {top}",
    "grammar.timeline": "a time line of {rows} rows",
    "grammar.sequence": "{count} calls between {parties}",
    "grammar.transition": "{event} → {state}",
    "grammar.states": "states {states}, now {now}",
    # The path of a request (lab 00).
    "path.title": "One pod, one device, the whole way",
    "path.start": "Nothing has happened yet.",
    "path.control-plane": "Control plane",
    "path.node": "Node {name}",
    "path.node.conditions": "condition: {names}",
    "path.node.taints": "taint: {names}",
    "path.no-node": "No node yet",
    "path.you": "You",
    "path.you.line": "kubectl apply",
    "path.store": "API store",
    "path.store.line": "pods {pods}, nodes {nodes}",
    "path.scheduler": "Scheduler",
    "path.scheduler.line": "queue {queued}, cache {cached}",
    "path.kubelet": "Kubelet",
    "path.plugin": "Device plugin",
    "path.plugin.pid": "pid {pid}",
    "path.plugin.memory": "in memory",
    "path.plugin.dead": "stopped",
    "path.plugin.none": "No plugin",
    "path.container": "Container",
    "path.container.none": "No container",
    "path.container.ended": "ended",
    "path.link.apply": "apply",
    "path.link.watch": "watch",
    "path.link.bind": "bind",
    "path.link.status": "node status",
    "path.link.bound": "bound pods",
    "path.link.stream": "ListAndWatch, open",
    "path.resource": "capacity {capacity}, allocatable {allocatable}",
    "path.resource.absent": "not in the node's status",
    "path.resource.known": "{known} known, ",
    "path.resource.counts": "{healthy} healthy, {used} in use",
    "path.no-devices": "No devices yet: no plugin has sent a list.",
    "path.gone": (
        "A device whose pod is deleted stays allocated until the kubelet admits the next pod: then it is free."
    ),
    "path.others": "also: {names}",
    "path.more": "and {count} more: {names}",
    "path.container.of": "pod {pod}",
    "path.pod.holds": "holds {devices}",
    "path.sentence.node": "{text} ({node})",
    "path.sample": "Which pod",
    "path.add": "+ pod",
    "path.paste": "YAML",
    "path.start-plugin": "+ plugin",
    "path.kill": "kill",
    "path.restart": "restart",
    "path.delete": "delete",
    "path.in-use": "In use: {owners}",
    "path.numa": "NUMA {nodes}",
    "path.numa.none": "no NUMA",
    "path.device": "{id}: {state}, {numa}",
    "path.device.owned": "{id}: {state} to {owner}, {numa}",
    "path.device.gone": "{id}: {state}, though its pod is deleted, {numa}",
    "path.pods": "Pods",
    "path.pods.none": "No pod yet.",
    "path.pods.others": "{count} more: {names}",
    "path.pod.pid": "{container}: pid {pid}",
    "path.messages": "Messages",
    "path.messages.none": "No message yet.",
    "path.message": "{source} → {target}",
    "path.message.stream": "{source} ⇒ {target}",
    "path.mode.live": "live: real processes, real gRPC",
    "path.mode.memory": "in memory: no socket, no process",
    "path.mode.closed": "closed: run its cell again",
    "path.mode.replay": "looking back: nothing is sent",
    "path.mode.fork": "fork in memory: no real process",
    "path.clock": "t = {now} s, simulated clock",
    "path.sentence": "{step}: {text}",
    "path.sentence.message": "{source} to {target}: {text}",
    "path.sentence.self": "{source}: {text}",
    "party.you": "you",
    "party.store": "store",
    "party.scheduler": "scheduler",
    "party.kubelet": "kubelet",
    "party.plugin": "plugin",
    "party.container": "container",
    "table.devices": "Devices",
    "table.pods": "Pods",
    "table.messages": "Messages",
    "table.nodes": "Nodes in trouble",
    "table.conditions": "condition",
    "table.taints": "taint",
    "table.node": "node",
    "table.resource": "resource",
    "table.device": "device",
    "table.numa": "NUMA",
    "table.health": "health",
    "table.healthy": "Healthy",
    "table.unhealthy": "Unhealthy",
    "table.owner": "owner",
    "table.pod": "pod",
    "table.phase": "phase",
    "table.reason": "reason",
    "table.number": "no.",
    "table.from": "from",
    "table.to": "to",
    "table.text": "message",
    **PICTURES,
}
"""Key -> English template, filled in by `say` as `str.format` does."""


def register(messages: Mapping[str, str]) -> None:
    """Add the messages of another room (the labs); a key that is there already is an error."""
    twice = sorted(set(messages) & set(ENGLISH))
    if twice:
        raise ValueError(f"catalogue keys must be new, but these exist already: {', '.join(twice)}")
    ENGLISH.update(messages)


def say(key: str, **values: object) -> str:
    """Return the message of `key` with `values` filled in."""
    template = ENGLISH.get(key)
    if template is None:
        raise KeyError(
            f"no message {key!r} in the catalogue; add it to kubedev/views/catalogue.py or words.py"
        )
    return template.format(**values)
