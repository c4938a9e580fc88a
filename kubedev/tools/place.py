"""`kubedev place`: many pods on the nodes of a dump, which go where, and which are left over."""

import argparse
import gc
import sys
from collections.abc import Sequence
from typing import Any

from kubedev import KUBERNETES_VERSION
from kubedev.api.fields import FieldError
from kubedev.console import Parser, is_terminal, json_line, told, visible
from kubedev.scheduler.preemption.preemption import Preemption
from kubedev.tools.why.amounts import amount
from kubedev.tools.why.answer import victims_of
from kubedev.tools.why.asking import pods_in_manifest
from kubedev.tools.why.dump import read_dump
from kubedev.tools.why.placing import Placement, place
from kubedev.tools.why.sources import DumpError, Progress
from kubedev.tools.why.words import evicted, some
from kubedev.tools.why.world import world_of

__all__ = ["as_json", "main", "table"]

NAME = "kubedev place"
VERSION = "kubedev.place/v1"
MOST_ROWS = 40
EPILOG = """Nobody is preempted for the pods. Of several nodes with the best score the first by name is taken, where
Kubernetes takes any. The JSON has `placed` (node by pod), `left` (Kubernetes' message by pod), `nodes`,
`preemption` (whom those left over would evict) and `running` (pods that run under the same name).

exit status: 0 where all pods have a node, 1 where some are left over, 2 where the input cannot be used"""


def main(argv: Sequence[str] | None = None) -> int:
    """Place the pods, and return the exit status."""
    parser = Parser(
        NAME,
        description="Puts many pods, such as a Job of 500, on the nodes of a dump, one after the other.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "dumps", nargs="+", metavar="DUMP", help="what kubectl printed, or - for standard input"
    )
    parser.add_argument(
        "-f", dest="manifest", metavar="FILE", required=True, help="the pods, or what makes them"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)
    gc.disable()  # it makes much, throws little away, and ends soon
    progress = Progress(is_terminal(2))
    try:
        dump = read_dump(options.dumps, progress)
        pods = pods_in_manifest(dump, options.manifest)
        if not dump.nodes:
            raise DumpError("there are no nodes in the dump: expected `kubectl get nodes,pods -A -o json`")
        progress.says(f"placing {len(pods)} pods")
        found = place(world_of(dump, pods), pods)
    except (DumpError, FieldError) as error:
        progress.clear()
        return told(NAME, str(error), 2)
    progress.clear()
    print(json_line(as_json(found), indent=2) if options.json else visible("\n".join(table(found))))
    gc.freeze()
    return 1 if found.left else 0


def as_json(found: Placement) -> dict[str, Any]:
    """All of it as plain values."""
    return {
        "version": VERSION,
        "kubernetes": KUBERNETES_VERSION,
        "placed": dict(found.placed),
        "left": dict(found.left),
        "preemption": {pod: of_eviction(one) for pod, (one, _) in found.evictions.items()},
        "running": dict(found.twins),
        "nodes": [
            {
                "node": after.name,
                "pods": count,
                "resources": {
                    name: {
                        "before": before.requested.get(name),
                        "after": after.requested.get(name),
                        "allocatable": after.allocatable.get(name),
                    }
                    for name in found.resources
                },
            }
            for before, after, count in found.nodes
        ],
    }


def of_eviction(found: Preemption) -> dict[str, Any]:
    return {"node": found.node_name, "evicts": victims_of(found.victims)}


def table(found: Placement) -> list[str]:
    """The same as lines for people."""
    lines = [
        f"{len(found.placed) + len(found.left)} pods: {len(found.placed)} placed, {len(found.left)} left over"
    ]
    rows = [("node", "pods", *found.resources)]
    nodes = found.nodes or tuple((info, info, 0) for info in found.others)
    for before, after, count in nodes[:MOST_ROWS]:
        numbers = (
            f"{amount(name, before.requested.get(name))} -> {amount(name, after.requested.get(name))} of "
            f"{amount(name, after.allocatable.get(name))}"
            for name in found.resources
        )
        rows.append((after.name, str(count), *numbers))
    if nodes:
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines += [
            "",
            *("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows),
        ]
    if len(nodes) > MOST_ROWS:
        lines.append(f"and {len(nodes) - MOST_ROWS} nodes more (--json has all)")
    for message, pods in found.reasons.items():
        lines += ["", f"left over: {len(pods)} ({some(pods, 4)})", f"  {message}"]
        helped = next((found.evictions[pod] for pod in pods if pod in found.evictions), None)
        if helped is not None:
            who = evicted(of_eviction(helped[0]), helped[1])
            lines.append(f"  preemption would help the first of them: it would evict {who}")
    if found.twins:
        same = [f"{pod} (on {node})" for pod, node in found.twins.items()]
        lines += ["", f"running already under the same name, and counted beside: {some(same, 4)}"]
    return lines


if __name__ == "__main__":
    sys.exit(main())
