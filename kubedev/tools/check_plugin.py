"""`kubedev check-plugin`: does a device plugin keep its duties? For plugins in any language, on a terminal or in CI.

The exit status is 0 where it does (there may be warnings), 1 where it breaks one, and 2 where it could not be tried.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from kubedev.console import Ending, Parser, is_terminal, reason, told
from kubedev.deviceplugin.duties import DUTIES, Seen, judged
from kubedev.tools.check_report import Table, as_json, as_junit, outcome
from kubedev.tools.check_run import PluginCheck
from kubedev.tools.check_watch import CannotRunError, StoppedError
from kubedev.wire.sockets import (
    SocketDirectoryError,
    check_directory,
    private_directory,
    require_unix_sockets,
)

__all__ = ["filled", "main"]

NAME = "kubedev check-plugin"
EPILOG = """{dir} in the command is the socket directory, {socket} the path of its kubelet.sock. The plugin is started
several times, without standard input. A plugin that knows only /var/lib/kubelet/device-plugins is tried on a machine
without a kubelet with --running, or in a container or mount namespace where {dir} is mounted there.

exit status: 0 where it keeps its duties (warnings or not), 1 where it breaks one, 2 where it could not be tried"""


def main(argv: Sequence[str] | None = None) -> int:
    """Try one plugin and say which duties it keeps."""
    given = list(sys.argv[1:] if argv is None else argv)
    parser = _parser()
    ours, command = (
        (given[: given.index("--")], given[given.index("--") + 1 :]) if "--" in given else (given, [])
    )
    options = parser.parse_args(ours)
    if bool(command) == bool(options.running):
        parser.error("expected either -- COMMAND ..., which starts the plugin, or --running DIR")
    if not options.resource:
        parser.error("--resource: expected the name that the plugin registers, such as example.com/gpu")
    ending = Ending(2)
    folder = ""
    try:
        require_unix_sockets()
        _writable(options.junit)
        if options.running:
            directory = _running(options.running)
        else:
            folder = private_directory()
            directory = os.path.join(folder, "d")
            os.mkdir(directory, 0o750)
        return _check(options, ending, directory, filled(command, directory), folder)
    except (SocketDirectoryError, CannotRunError) as error:
        return told(NAME, str(error), 2)
    except OSError as error:
        return told(NAME, reason(error), 2)
    except StoppedError:
        return told(NAME, "stopped before it was over", 2)
    finally:
        if folder:
            _remove(folder)


def filled(command: Sequence[str], directory: str) -> list[str]:
    """The command with the socket directory for `{dir}`, and the path of its kubelet.sock for `{socket}`."""
    socket = os.path.join(directory, "kubelet.sock")
    return [word.replace("{dir}", directory).replace("{socket}", socket) for word in command]


def _parser() -> Parser:
    parser = Parser(
        NAME,
        usage=f"{NAME} [-h] --resource NAME [--json] [--junit FILE] (-- COMMAND ... | --running DIR)",
        description="Whether a device plugin keeps its duties, within a minute.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--resource", metavar="NAME", help="the resource that the plugin registers")
    parser.add_argument(
        "--running",
        metavar="DIR",
        help="be the kubelet of a plugin that runs already, on its socket directory; it is not started nor ended",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object at the end, instead of a table"
    )
    parser.add_argument("--junit", metavar="FILE", help="write a JUnit report as well")
    return parser


def _running(directory: str) -> str:
    """The directory of a plugin that runs, as an absolute path. Raises SocketDirectoryError."""
    path = os.path.abspath(directory)
    if not os.path.isdir(path):
        raise SocketDirectoryError(
            f"{directory}: is not a directory. Expected the socket directory that the plugin watches."
        )
    check_directory(path)
    return path


def _writable(junit: str | None) -> None:
    """Raise OSError where the report could not be written at the end."""
    if junit is not None:
        path = Path(junit)
        existed = path.exists()
        with path.open("a"):
            pass
        if not existed:
            path.unlink()


def _check(
    options: argparse.Namespace, ending: Ending, directory: str, command: list[str], folder: str
) -> int:
    table = None if options.json else Table(options.resource, is_terminal(1), lambda: ending.asked)

    def done(stage: str, seen: Seen) -> None:
        if table:
            table.add(judged(DUTIES, seen, stage))

    says = table.says if table else lambda _: None
    check = PluginCheck(options.resource, directory, command, folder, done=done, says=says)
    ending.of(check.stop, check.abandon)
    try:
        seen = check.run()
    finally:
        if table:
            table.clear()
    verdicts = judged(DUTIES, seen)
    if options.junit:
        Path(options.junit).write_text(as_junit(options.resource, verdicts), encoding="utf-8")
    if table:
        table.end(verdicts, check.words())
    else:
        print(as_json(options.resource, verdicts, check.words()))
    return 1 if outcome(verdicts) == "broken" else 0


def _remove(folder: str) -> None:

    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
