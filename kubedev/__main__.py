"""The command line: `kubedev COMMAND ...`. A command's room is imported when it is asked for, not before."""

import signal
import sys

if __name__ == "__main__" or sys.argv[0].endswith("kubedev"):
    # Ctrl-C while the rest is imported ends the process without a word.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import argparse
import importlib
from collections.abc import Sequence

from kubedev import KUBERNETES_VERSION, __version__
from kubedev.console import Parser, flushed, has_directory, prepared, reason, told

__all__ = ["main"]

LOST = "the current directory is not there any more: change to one that is"

# Command -> the module whose main(argv) runs it, and what it does.
COMMANDS = {
    "lab": ("kubedev.tools.lab", "open a lab in JupyterLab"),
    "run": ("kubedev.tools.run", "execute labs without a browser and say which of them work"),
    "kubelet": (
        "kubedev.tools.kubelet",
        "be a kubelet's device manager on a socket directory, for any plugin",
    ),
    "plugin": ("kubedev.tools.plugin", "be a device plugin, for any kubelet"),
    "check-plugin": ("kubedev.tools.check_plugin", "say whether a device plugin keeps its duties"),
    "devices": ("kubedev.tools.devices", "ask a kubelet who holds which devices, by NUMA node"),
    "why": (
        "kubedev.tools.why.command",
        "explain why a pod is Pending or was refused, from a dump of a cluster",
    ),
    "place": (
        "kubedev.tools.place",
        "put many pods on the nodes of a dump: which go where, and what is left over",
    ),
    "anonymize": ("kubedev.tools.anonymize", "make a dump that can be shown to others"),
    "reset": ("kubedev.tools.reset", "restore labs as they came, and forget what was answered"),
    "progress": ("kubedev.tools.progress", "show what was predicted and solved"),
    "course": ("kubedev.tools.course_page", "what each lab needs, how long it takes, and plans for a day"),
    "slides": ("kubedev.tools.slides", "make slides of labs"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command named first in `argv` (by default the process's arguments); return the exit code."""
    if argv is None:
        prepared()
    try:
        code = _run(argv)
    except SystemExit as end:  # of the parser: help, or what is wrong with the arguments
        sys.exit(flushed("kubedev", end.code if isinstance(end.code, int) else 0))
    except OSError as error:
        code = told("kubedev", reason(error) if has_directory() else LOST)
    return flushed("kubedev", code)


def _run(argv: Sequence[str] | None) -> int:
    options = _parser().parse_args(argv)
    module, _ = COMMANDS[options.command]
    try:
        command = importlib.import_module(module)
    except ModuleNotFoundError as error:
        print(_missing(options.command, error.name), file=sys.stderr)
        return 2
    return int(command.main(options.arguments))


def _missing(command: str, name: str | None) -> str:
    if name == "grpc":
        return (
            f"kubedev {command} speaks real gRPC, which this Python does not have: `pip install grpcio` brings it, "
            "but not in a browser. The labs' in-memory transport works without it."
        )
    return f"kubedev {command} needs the package {name}, which is not installed: `pip install kubedev-lab` brings it."


def _parser() -> Parser:
    parser = Parser(
        "kubedev",
        description="How Kubernetes manages devices: labs to step through, and tools for real plugins and kubelets.",
        epilog="commands:\n" + "\n".join(f"  {name:<12} {what}" for name, (_, what) in COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    version = f"kubedev {__version__}, behaves like Kubernetes {KUBERNETES_VERSION}"
    parser.add_argument("--version", action="version", version=version)
    parser.add_argument(
        "command", choices=COMMANDS, metavar="COMMAND", help="`kubedev COMMAND --help` tells more"
    )
    parser.add_argument(
        "arguments", nargs=argparse.REMAINDER, metavar="...", help="the command's own arguments"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
