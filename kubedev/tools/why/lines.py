"""The answer as lines for people; colours only where they are asked for."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kubedev.tools.why.amounts import amount
from kubedev.tools.why.words import CAUSES, PLUGINS, some, waits_for

__all__ = ["lines_of"]

Values = Mapping[str, Any]
COLOURS = {"bold": "1", "good": "32", "bad": "31", "weak": "2"}
MOST_HOLDERS, MOST_NAMES = 4, 4


class Lines:
    """Writes lines."""

    def __init__(self, coloured: bool) -> None:
        self._coloured = coloured

    def ink(self, text: str, colour: str) -> str:
        """A text in a colour."""
        return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if self._coloured and text else text

    def whole(self, found: Values) -> Iterator[str]:
        """All that is to be said."""
        pods = found["pods"]
        if not pods:
            yield "No pod waits for a node, and none was refused."
        for place, pod in enumerate(pods):
            if place:
                yield ""
            yield from self.pod(pod, found)
        yield from self.end(found)

    def end(self, found: Values) -> Iterator[str]:
        """Who holds which devices, and what else is to be known."""
        if found["devices"]:
            yield from ("", self.ink("Devices, as the node's own file says", "bold"))
        for one in found["devices"]:
            numa = f" on NUMA node {', '.join(map(str, one['numa_nodes']))}" if one["numa_nodes"] else ""
            gone = f", on {one['node']}" if one["known"] else " (a pod that is not in the dump)"
            yield f"  {one['resource']} {', '.join(one['devices'])}{numa}: {one['pod']}/{one['container']}{gone}"
        said = [*found["notes"], *found["missing"]]
        if said:
            yield ""
        yield from (self.ink(f"note: {note}", "weak") for note in said)

    def listed(self, found: Values) -> Iterator[str]:
        """Many pods, those that read the same message together."""
        groups: dict[tuple[str, str], list[Values]] = {}
        for pod in found["pods"]:
            said = (
                pod["refusal"]["message"] or pod["refusal"]["reason"]
                if pod["state"] == "refused"
                else pod["message"]
            )
            what = pod["refusal"]["reason"] if pod["state"] == "refused" else pod.get("reason", "")
            groups.setdefault((what, said), []).append(pod)
        for (what, said), pods in sorted(groups.items(), key=lambda one: -sum(map(size, one[1]))):
            count = sum(map(size, pods))
            head = "would be scheduled now" if pods[0]["scheduled"] else what
            names = [name for pod in pods for name in (pod["pod"], *pod["same"])]
            yield self.ink(f"{count} {'pod' if count == 1 else 'pods'}: {head}", "bold")
            if said:
                yield f"  {said}"
            yield f"  {some(names, MOST_NAMES)}"
            yield ""
        if groups:
            yield self.ink(
                "With a pod's name after the dump it tells more: kubedev why DUMP NAMESPACE/POD", "weak"
            )
        else:
            yield "No pod waits for a node, and none was refused."
        yield from self.end(found)

    def pod(self, pod: Values, whole: Values) -> Iterator[str]:
        """One pod."""
        more = f" and {len(pod['same'])} more like it" if pod["same"] else ""
        name, state = self.ink(pod["pod"], "bold") + more, pod["state"]
        if state in ("bound", "succeeded", "failed"):
            where = f" on {pod['node']}" if pod["node"] else ""
            told = "has its node" if state == "bound" else "has ended"
            yield f"{name} {told}{where}: the scheduler has nothing to do with it any more."
        elif state == "refused":
            refused = self.ink("was refused or ended by the kubelet of", "bad")
            yield f"{name} {refused} {pod['node'] or 'its node'}"
            yield from self.refused(pod["refusal"])
        elif pod["scheduled"]:
            yield f"{name} {self.ink('would be scheduled', 'good')} on {pod['node']}"
            best = f"; the best score is {pod['score']}" if "score" in pod else ""
            yield f"  {nodes(pod['feasible'])} of those that were looked at would do{best}"
            yield from self.condition(pod, whole)
        else:
            head = "would not be scheduled"
            if state == "gated":
                head = "is not tried: it has scheduling gates" if pod["gates"] else "is not tried yet"
            yield f"{name} {self.ink(head, 'bad')}"
            yield from self.waiting(pod, whole)

    def waiting(self, pod: Values, whole: Values) -> Iterator[str]:
        """Why one pod has no node."""
        yield f"  {pod['message']}"
        yield from self.condition(pod, whole)
        asks = ", ".join(f"{key} {amount(key, number)}" for key, number in pod["requests"].items())
        yield f"  it asks for {asks or 'nothing'}"
        if "remedies" in pod:
            yield from self.part("Why", [line for group in pod["groups"] for line in self.group(group)])
            yield from self.remedies(pod["remedies"])
        if pod.get("preemption"):
            yield from self.part("Preemption", self.preemption(pod["preemption"]))
        if "queue" in pod:
            yield from self.part("The queue", self.queue(pod["queue"]))
        yield from self.part("Every node", map(one_node, pod.get("nodes", ())))

    def part(self, head: str, lines: Iterable[str]) -> Iterator[str]:
        """A part with its head, if there is anything in it."""
        there = list(lines)
        if there:
            yield from ("", self.ink(head, "bold"), *there)

    def condition(self, pod: Values, whole: Values) -> Iterator[str]:
        """What the cluster says itself, where that is something else."""
        own = pod.get("condition")
        if own:
            version = whole["cluster"] or "of a version that its nodes do not say"
            yield f"  the cluster ({version}) said when it last tried, {own['reason']}: {own['message'] or '(nothing)'}"

    def group(self, group: Values) -> Iterator[str]:
        """Nodes with one reason."""
        count = group["count"]
        yield f"  {nodes(count)}: {', '.join(group['reasons'])}"
        yield f"    {some(group['nodes'], MOST_NAMES)}"
        for cause in group["causes"]:
            yield f"    {CAUSES[cause['kind']].format(resource=cause['resource'])}"
        if not group["causes"] and group["closest"] and group["plugin"] in PLUGINS:
            yield f"    {PLUGINS[group['plugin']]}"
        yield from (f"    {detail}" for detail in group["details"])
        near = f"{group['closest']}: " if group["sums"] and count > 1 else ""
        for one in group["sums"]:
            yield f"    {'closest ' if near else ''}{near}{one['text']}"
        for name in dict.fromkeys(one["resource"] for one in group["sums"]):
            there = [one for one in group["holders"] if one["resource"] == name]
            if there:
                yield f"    {name} is held there by {some(list(map(holder, there)), MOST_HOLDERS)}"

    def remedies(self, remedies: Sequence[Values]) -> Iterator[str]:
        """What would make it fit."""
        yield ""
        if not remedies:
            yield self.ink(
                "Nothing that was tried makes it fit: no single change, and no two or three together.",
                "bold",
            )
            return
        yield self.ink("What would make it fit (each tried by the scheduler), cheapest first", "bold")
        for number, one in enumerate(remedies, 1):
            what = " and ".join(move["what"] for move in one["moves"])
            yield f"  {number}. {what}{self.ink(' -> ' + one['node'], 'good')}"
            for move in one["moves"]:
                if move["kind"] not in ("pods gone", "node more"):
                    yield f"       {move['how']}"
            if not one["wakes"] and one["why"]:
                yield "       it is not woken by that, and tried again within five minutes"

    def preemption(self, found: Values) -> Iterator[str]:
        """What preemption would do."""
        if found["not_eligible"]:
            yield f"  The pod may not preempt others: {found['not_eligible']}"
        elif found["helps"]:
            victims = [f"{one['pod']} (priority {one['priority']})" for one in found["victims"]]
            yield f"  It helps: on {found['node']} would go {some(victims, 8)}."
            yield f"  The pod, of priority {found['priority']}, is nominated to {found['node']} and waits for that."
            if found["candidates"] > 1 and found["chosen_by"]:
                yield f"  It helps on {found['candidates']} nodes; this one was chosen by: {found['chosen_by']}."
            if found["budgets_broken"]:
                broken = found["budgets_broken"]
                yield f"  {broken} of them break a PodDisruptionBudget: preemption avoids that only where it can."
        else:
            for reason, count in sorted(found["in_vain"].items(), key=lambda one: -one[1]):
                words = (
                    "" if reason.startswith("No preemption") else " even without all pods of lower priority"
                )
                yield f"  It does not help on {nodes(count)}: {reason}{words}."
            if found["not_tried"]:
                yield f"  {nodes(found['not_tried'])} not tried: no pod that goes changes the answer there."
            yield f"  The pod's priority is {found['priority']}; only pods of a lower one may go for it."

    def queue(self, found: Values) -> Iterator[str]:
        """What would wake the pod."""
        for plugin, events in found["events"].items():
            yield f"  {plugin} waits for: {waits_for(events)}"
        if "SchedulingGates" in found["events"]:
            yield "  Nothing else has it tried, not even the passing of time."
        else:
            yield "  Then it is tried after its back-off (1 s, doubled up to 10 s); otherwise after five minutes."

    def refused(self, refusal: Values) -> Iterator[str]:
        """A kubelet's refusal."""
        yield f"  {refusal['reason']}: {refusal['message']}"
        yield f"  It means: {refusal['means']}."
        if refusal["detail"]:
            yield f"  Here: {refusal['detail']}."
        if refusal["figures"]:
            yield from ("", self.ink("The node now", "bold"))
        for one in refusal["figures"]:
            name = one["resource"]
            numbers = [
                f"the pod asks {amount(name, one['asked'])}",
                f"requested by the pods there {amount(name, one['requested'])}",
            ]
            for what in ("allocatable", "capacity"):
                numbers.append(f"{what} {'absent' if one[what] is None else amount(name, one[what])}")
            yield f"  {name}: {', '.join(numbers)}" + (
                f" ({one['unhealthy']} unhealthy)" if one["unhealthy"] else ""
            )
        held = Counter(one["resource"] for one in refusal["holders"])
        for name in held:
            there = [holder(one) for one in refusal["holders"] if one["resource"] == name]
            yield f"  {name} is held by {some(there, MOST_HOLDERS)}"
        if refusal["settings"]:
            yield f"  The kubelet is set up with {', '.join(refusal['settings'])}"
        if refusal["now"] is not None:
            would = f"say: {refusal['now']}" if refusal["now"] else "take the pod"
            yield f"  Counted again over what the dump has, the kubelet would {would}"
        yield f"  Look next at {refusal['next']}."
        if refusal["lab"]:
            yield f"  The lab that shows it: kubedev lab {refusal['lab'].partition('-')[0]}"
        yield "  A refused pod stays as it is: it has to be deleted, and made anew by whoever owns it."


def lines_of(found: Values, coloured: bool, listed: bool) -> list[str]:
    """The answer's lines."""
    lines = Lines(coloured)
    return list(lines.listed(found) if listed else lines.whole(found))


def one_node(node: Values) -> str:
    sums = "; ".join(one["text"] for one in node["sums"])
    return f"  {node['node']}: {sums or ', '.join(node['reasons'])}"


def holder(one: Values) -> str:
    return f"{one['pod']} ({amount(one['resource'], one['amount'])})"


def nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


def size(pod: Values) -> int:
    return 1 + len(pod["same"])
