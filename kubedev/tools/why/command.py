"""`kubedev why`: why a pod waits for a node, or was refused by one."""

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from typing import Any

from kubedev.api.fields import FieldError
from kubedev.console import Parser, is_terminal, json_line, told, visible
from kubedev.tools.why.answer import answer
from kubedev.tools.why.asking import Asked, all_waiting, asked_by_name, asked_in_manifest
from kubedev.tools.why.dump import Dump, read_dump
from kubedev.tools.why.lines import lines_of
from kubedev.tools.why.sources import STANDARD_INPUT, DumpError, Progress
from kubedev.tools.why.world import world_of

__all__ = ["main"]

NAME = "kubedev why"
KINDS = (
    "nodes,pods,namespaces,services,rc,rs,sts,pvc,pv,sc,"
    "csinodes,csidrivers,csistoragecapacities,pdb,priorityclasses"
)
EPILOG = f"""A DUMP is a file, or - for standard input, with what kubectl prints (JSON or YAML, gzip too):

  kubectl get {KINDS} -A -o json > dump.json

(and resourceslices,resourceclaims,deviceclasses where devices are claimed). A KubeSchedulerConfiguration and a
KubeletConfiguration may be among the files, and of a node its kubelet_internal_checkpoint or what its PodResources API
answers (`kubedev devices --json`). Without a POD all pods are listed that wait for a node or were refused by one.
Nothing leaves this machine, and nothing is written; `kubedev anonymize` makes a dump that can be shown to others.

exit status: 0 where the pod would be scheduled (of several: all), 1 where not, 2 where the input cannot be used"""


def main(argv: Sequence[str] | None = None) -> int:
    """Explain, and return the exit status."""
    options = _parser().parse_args(argv)
    gc.disable()  # it makes much, throws little away, and ends soon
    progress = Progress(is_terminal(2))
    try:
        files, name = _told_apart(options.arguments, bool(options.manifest))
        dump = read_dump(files, progress)
        progress.says("asking the scheduler")
        asked = _asked(dump, name, options.manifest)
        if not (dump.nodes or dump.node_files or any(one.pod.phase == "Failed" for one in asked)):
            raise DumpError("there are no nodes in the dump: expected `kubectl get nodes,pods -A -o json`")
        brief = not (name or options.manifest)
        world = world_of(dump, [one.pod for one in asked])
        found = answer(dump, world, asked, options.explain, brief, progress.says)
    except (DumpError, FieldError) as error:
        progress.clear()
        return told(NAME, str(error), 2)
    progress.clear()
    _print(found, options.json, brief, options.explain)
    gc.freeze()  # what is left is not looked through once more at the end of the process
    return 0 if all(pod["scheduled"] for pod in found["pods"]) else 1


def _parser() -> Parser:
    parser = Parser(
        NAME,
        usage=f"{NAME} [-h] [--json] [--explain] [-f FILE] DUMP [DUMP ...] [[NAMESPACE/]POD]",
        description="Why a pod is Pending or was refused: in Kubernetes' own words, and what helps.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("arguments", nargs="+", metavar="DUMP", help="files, or -, and at last a pod")
    parser.add_argument("-f", dest="manifest", metavar="FILE", help="ask about a pod that is not there yet")
    parser.add_argument(
        "--explain",
        action="store_true",
        help="say what every single node answers, and what would wake the pod",
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON (kubedev/tools/why/FORM.md describes it)"
    )
    return parser


def _told_apart(arguments: Sequence[str], has_manifest: bool) -> tuple[list[str], str]:
    """The dumps, and the pod's name: what is a file or - is a dump. Raises DumpError."""
    files = [one for one in arguments if one == STANDARD_INPUT or os.path.exists(one)]
    others = [one for one in arguments if one not in files]
    if not files:
        raise DumpError(
            f"there is no file {others[0]}: expected what `kubectl get nodes,pods -A -o json` prints, or -"
        )
    if len(others) > 1 or (others and has_manifest):
        raise DumpError(
            f"there is no file {others[0]}: expected files, and at most one pod (here or with -f)"
        )
    return files, others[0] if others else ""


def _asked(dump: Dump, name: str, manifest: str | None) -> list[Asked]:
    if manifest:
        return asked_in_manifest(dump, manifest)
    return [asked_by_name(dump, name)] if name else all_waiting(dump)


def _print(found: dict[str, Any], as_json: bool, listed: bool, explain: bool) -> None:
    if as_json:
        print(json_line(found, indent=2))
        return
    coloured = is_terminal(1) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    for line in lines_of(found, coloured, listed, explain):
        print(line if coloured else visible(line))


if __name__ == "__main__":
    sys.exit(main())
