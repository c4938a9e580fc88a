"""What labs 05 and 06 say beside their pictures."""

from kubedev.views.catalogue import register

__all__ = ["TEXTS"]

TEXTS = {
    # Devices that are turned.
    "turn.free": "free",
    "turn.in use": "in use",
    "turn.sick": "sick",
    "turn.not listed": "not listed",
    "turn.NUMA 0": "NUMA 0",
    "turn.NUMA 1": "NUMA 1",
    "turn.NUMA 2": "NUMA 2",
    "turn.NUMA 0 and 1": "NUMA 0 and 1",
    "turn.no topology": "no topology",
    "turn.topology without nodes": "topology without nodes",
    "board.system": "the system",
    # Hints.
    "scene.hints": "Where could it go? What each resource answers",
    "scene.count.title": "One mask after the other",
    "scene.count": "Mask {step} of {total}: {why}.",
    "scene.why.too few": "{free} free, {request} asked: too few, so no hint",
    "scene.why.preferred": "{free} free, {request} asked: a hint; no smaller mask could ever serve it: preferred",
    "scene.why.not preferred": "{free} free, {request} asked: a hint, but on an empty machine a smaller mask could "
    "serve it: not preferred",
    "scene.why.reusable left out": "a device that the pod's init containers had lies outside: no hint",
    "scene.asks": "asks {request}",
    "scene.answers": "The same request, side by side",
    "scene.answers.sentence": "What each machine answers to {asked}.",
    # Policies.
    "scene.policies": "One machine, four policies",
    "scene.policies.sentence": "The hints merge to {mask}, {preferred}.",
    "scene.policies.head": "What becomes of the pod",
    "scene.admitted": "✓ admitted",
    "scene.refused": "✕ refused: {reason}",
    "scene.gets": "gets {devices}",
    "scene.gets.nothing": "asks for no device",
    "scene.merged": "{mask}, {preferred}",
    "scene.merged.none": "does not look at hints",
    "scene.machines": "Machines by policies",
    "scene.machines.sentence": "Each row is a machine and a pod, each card a policy.",
    # Scopes.
    "scene.scopes": "Scope {scope}, policy {policy}",
    "scene.scopes.head": "The admission, step by step",
    "scene.scopes.container": "container {name}",
    "scene.scopes.pod": "the whole pod",
    "scene.scopes.asked": "{resource} x {count}: {hints}",
    "scene.scopes.none": "no hint",
    "scene.scopes.merged": "→ {mask}, {preferred}",
    "scene.scopes.end": "the pod",
    "scene.turn": "Pods in their turn, policy restricted",
    "scene.turn.sentence": "First the pod that asks for {first}, then the one that asks for {second}.",
    "scene.turn.pod": "asks for {count}",
    # Affinity.
    "scene.affinity": "The mask cuts through the devices",
    "scene.affinity.sentence": "Mask {mask}: {aligned} aligned, {unaligned} unaligned, {no_affinity} without affinity.",
    "scene.affinity.aligned": "aligned",
    "scene.affinity.aligned.why": "any of its nodes is in the mask; taken first",
    "scene.affinity.unaligned": "unaligned",
    "scene.affinity.unaligned.why": "it has nodes, and none is in the mask; taken next",
    "scene.affinity.no_affinity": "no affinity",
    "scene.affinity.no_affinity.why": "it has no node, or there is no mask, or no device has a node; taken last",
    "scene.affinity.head": "Three lists",
    "scene.starts": "starts",
    # Checks of lab 05.
    "check.numa.no-hint": "mask {mask} is no hint for pod {pod}: {free} free of {all}, {request} asked",
    "check.numa.not-preferred": "mask {mask} is a hint for pod {pod}, but not preferred: {smaller} has {all} in all "
    "({devices}), free or not, and {request} are asked",
    "check.numa.preferred-too": "mask {mask} is preferred as well: {devices} are free there",
    "check.numa.refused": "policy {policy} refuses pod {pod} with {reason}: the hints merge to {mask}, {preferred}",
    "check.numa.cannot": "{resource} answers [] to pod {pod}, which asks for {request}: free, and with a NUMA node, "
    "there is only this: {devices}",
    "check.numa.changes": "{count} devices were changed ({devices}); one is allowed",
    "check.numa.same": "pods {first} and {second} hold the same device {device}",
    # Checks of lab 06.
    "check.merge.pods": "the pod that asks for {count} is missing: create both",
    "check.merge.no-dict": "pod {pod}: expected a dict of hints by resource, got {got}",
    "check.merge.error": "{what}: your function raised {error}",
    "check.merge.refused": "pod {pod} asks for {count} and is refused by {policy}: your provider said {said}",
    "check.merge.admitted": "pod {pod} asks for {count}, which no mask can serve, and {policy} admits it: your "
    "provider said {said}",
    "check.merge.many": "machine {machine}: {count} NUMA nodes are tried, which makes {masks} masks for each resource; "
    "{enough} would do",
    "check.merge.left-out": "machine {machine}: device {device} is on NUMA {node}, which is not tried: no hint could "
    "lead to it",
    "check.merge.stranger": "machine {machine}: NUMA {node} is tried, and the machine has no such node",
}

register(TEXTS)
