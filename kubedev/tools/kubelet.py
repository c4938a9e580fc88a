"""`kubedev kubelet`: a kubelet's device manager on a socket directory, for any real plugin."""

import argparse
import sys
import threading
from collections.abc import Sequence

from kubedev.console import Ending, Parser, is_terminal, json_line, told, write
from kubedev.kubelet.kubelet_configuration import KubeletConfiguration, KubeletConfigurationError
from kubedev.tools.kubelet_flags import MAX_NUMA_NODES, add_flags, configured
from kubedev.tools.kubelet_lines import Line
from kubedev.tools.kubelet_tool import USAGE, KubeletTool
from kubedev.wire.lines import read_lines
from kubedev.wire.sockets import (
    SocketDirectoryError,
    require_unix_sockets,
)

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Be a kubelet's device manager until `quit` or a signal; the exit code is 1 where it cannot be.

    On a terminal it shows a live view, elsewhere it prints one JSON object a line.
    """
    parser = Parser(
        "kubedev kubelet",
        description="A kubelet's device manager on a socket directory, for any real plugin.",
        epilog="\n".join(["commands on standard input:", *(f"  {c:<38}{what}" for c, what in USAGE.items())]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dir", required=True, help="the socket directory; it is made where it is missing")
    add_flags(parser)
    parser.add_argument(
        "--pod-resources",
        metavar="PATH",
        help="the socket of the PodResources API, by default DIR/pod-resources/kubelet.sock",
    )
    options = parser.parse_args(argv)
    if not 0 <= options.numa <= MAX_NUMA_NODES:
        parser.error(f"--numa: expected 0 to {MAX_NUMA_NODES} NUMA nodes, got {options.numa}")
    for flag, value in (("--dir", options.dir), ("--pod-resources", options.pod_resources)):
        if value == "":
            parser.error(f"{flag}: expected a path, got an empty text")
    try:
        require_unix_sockets()
        configuration = configured(options)
        if is_terminal(0) and is_terminal(1):
            from kubedev.tools.kubelet_view import run_on_terminal

            run_on_terminal(options.dir, configuration, options.pod_resources)
        else:
            _run_with_lines(options.dir, configuration, options.pod_resources)
    except (SocketDirectoryError, KubeletConfigurationError) as error:
        return told("kubedev kubelet", str(error))
    return 0


def _run_with_lines(directory: str, configuration: KubeletConfiguration, pod_resources: str | None) -> None:
    ending = Ending()

    def say(line: Line) -> None:
        write(json_line(line), lambda: ending.asked)

    for note in configuration.notes:
        say({"event": "note", "note": note})
    tool = KubeletTool(directory, 0, say, pod_resources, configuration.config)
    ending.of(tool.end, tool.abandon)

    def read() -> None:
        for line in read_lines(0):
            tool.post(line)

    threading.Thread(target=read, daemon=True).start()
    tool.run()


if __name__ == "__main__":
    sys.exit(main())
