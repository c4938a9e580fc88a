"""The answer as lines for people; colours only where they are asked for."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kubedev.tools.why.amounts import amount
from kubedev.tools.why.words import CAUSES, PLUGINS, evicted, some, waits_for

__all__ = ["lines_of"]

Values = Mapping[str, Any]
COLOURS = {"bold": "1", "good": "32", "bad": "31", "weak": "2"}
MOST_HOLDERS, MOST_NAMES = 4, 4


class Lines:
    """Writes lines."""

    def __init__(self, coloured: bool, explain: bool) -> None:
        self._coloured, self._explain = coloured, explain

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
            best = f"; the best score is {pod['score']}" if "score" in pod and self._explain else ""
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
        asks = [f"{key} {amount(key, number)}" for key, number in pod["requests"].items()]
        asks += [f"host port {port}" for port in pod["host_ports"]]
        yield f"  it asks for {', '.join(asks) or 'no resources'}"
        if "remedies" in pod:
            yield from self.part("Why", [line for group in pod["groups"] for line in self.group(group)])
            yield from self.remedies(pod)
        if pod.get("preemption"):
            yield from self.part("Preemption", self.preemption(pod["preemption"], pod))
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

    def remedies(self, pod: Values) -> Iterator[str]:
        """What would make it fit."""
        remedies = pod["remedies"]
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
            then = f"; it would then evict {evicted(one, pod['priority'])}" if one["evicts"] else ""
            new = any(move["kind"] == "node more" for move in one["moves"]) and not self._explain
            where = "" if one["evicts"] or new else self.ink(f" -> {one['node']}", "good")
            yield f"  {number}. {what}{then}{where}"
            for move in one["moves"]:
                if move["kind"] not in ("pods gone", "node more"):
                    yield f"       {move['how']}"
            if not one["wakes"] and one["why"]:
                yield "       it is not woken by that, and tried again within five minutes"

    def preemption(self, found: Values, pod: Values) -> Iterator[str]:
        """What preemption would do."""
        if found["not_eligible"]:
            yield f"  The pod may not preempt others: {found['not_eligible']}"
            for one in pod["remedies"]:
                if one["evicts"] and [move["kind"] for move in one["moves"]] == ["preemption policy"]:
                    yield f"  With {one['moves'][0]['what']} it would evict {evicted(one, pod['priority'])}."
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
        for plugin, events in found["events"].items() if self._explain else ():
            yield f"  {plugin} waits for: {waits_for(events)}"
        if "SchedulingGates" in found["events"]:
            yield "  Nothing but the end of its gates has it tried, not even the passing of time."
        elif self._explain:
            yield "  Then it is tried after its back-off (1 s, doubled up to 10 s); otherwise after five minutes."
        else:
            yield "  It is tried again when something changes that may help, and otherwise after five minutes."

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
        yield from self.anew(refusal)
        yield f"  Look next at {refusal['next']}."
        if refusal["lab"]:
            yield f"  The lab that shows it: kubedev lab {refusal['lab'].partition('-')[0]}"
        yield "  A refused pod stays as it is: it has to be deleted, and made anew by whoever owns it."

    def anew(self, refusal: Values) -> Iterator[str]:
        """What would become of the same pod, made anew."""
        short = [
            one for one in refusal["figures"] if one["asked"] > (one["allocatable"] or 0) - one["requested"]
        ]
        for one in short if refusal["now"] else ():
            yield f"  {one['resource']}: {room(one)}"
        if refusal["now"] and not short:
            yield f"  Asked again now, this kubelet would say: {refusal['now']}"
        elif refusal["now"] == "":
            yield "  Asked again now, this kubelet would take the pod, as far as the dump tells"
        if refusal["replacement"] is not None:
            goes = f"go to {refusal['replacement']}" if refusal["replacement"] else "stay Pending"
            yield f"  A replacement would {goes}, as the scheduler counts now."


def room(figure: Values) -> str:
    """`3 healthy - 2 held = 1 free < 2 asked`."""
    name, given = figure["resource"], figure["allocatable"] or 0
    what = "healthy" if "/" in name else "allocatable"
    free = max(given - figure["requested"], 0)
    told = [amount(name, number) for number in (given, figure["requested"], free, figure["asked"])]
    return f"{told[0]} {what} - {told[1]} held = {told[2]} free < {told[3]} asked"


def lines_of(found: Values, coloured: bool, listed: bool, explain: bool = False) -> list[str]:
    """The answer's lines; with `explain` what the queue waits for, and scores, too."""
    lines = Lines(coloured, explain)
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
