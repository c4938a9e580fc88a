"""`kubedev lab`: JupyterLab on a lab, in a clean layout, on this machine only, until Ctrl-C.

The layout stands in `overrides.json` (no news) and `workspace.json` (side bars folded); `exported.json` has pictures
step in exported HTML. They and all that the
server writes live in a private folder that goes with it. The user's own settings of JupyterLab count where there are
any; nothing is made in the home where there are none.
"""

import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import nbformat

from kubedev.console import END_SIGNALS, Parser, reason
from kubedev.tools.kernels import end_at_signals, private_folder, transport
from kubedev.tools.notebooks import (
    BadNotebookError,
    UnknownLabError,
    all_labs,
    copy_missing,
    find,
    is_installed,
    is_note,
    original,
    parsed,
    read_notebook,
    regular,
    section_cell,
    shipped,
)
from kubedev.views.catalogue import say

__all__ = ["FOLDER", "main", "own_labs", "student_labs"]

FOLDER = Path("kubedev-labs")
STUDENT = Path("kubedev-student")
_HERE = Path(__file__).parent


def main(argv: Sequence[str] | None = None) -> int:
    """Serve a lab until it is stopped; 2 where the lab is unknown, 130 where it was stopped before it was there."""
    end_at_signals()  # until the server can be asked to stop
    parser = Parser("kubedev lab", description="Open a lab in JupyterLab; Ctrl-C stops it.")
    parser.add_argument(
        "lab",
        nargs="?",
        default="00",
        metavar="LAB[#WHERE]",
        help="a number, a name or a path (default: 00); with a cell's id or a heading it opens there: 05#step",
    )
    parser.add_argument(
        "--student",
        nargs="?",
        const=STUDENT,
        type=Path,
        metavar="DIR",
        help=f"a copy without speaker's notes and answers, in DIR (default: {STUDENT})",
    )
    parser.add_argument("--no-browser", action="store_true", help="print the address, open no browser")
    parser.add_argument(
        "--port", type=int, default=8888, help="another one is taken if it is in use (default: 8888)"
    )
    options = parser.parse_args(argv)
    try:
        labs = own_labs() if options.student is None else student_labs(options.student)
        lab, _, where = options.lab.partition("#")
        notebook = regular(find(lab, labs), lab, labs)
        cell = section_cell(notebook, where) if where else ""
    except (UnknownLabError, BadNotebookError, OSError) as error:
        parser.error(reason(error))
    _serve(notebook, cell, options.port, browser=not options.no_browser and _has_browser())
    print(say("lab.stopped"))
    return 0


def own_labs() -> Path:
    """Return the folder in which the user works: `labs/` of the source, or a copy here that stays."""
    if not is_installed():
        return shipped()
    folder = FOLDER.resolve()
    copied = copy_missing(shipped(), folder)
    if copied:
        print(say("lab.copied", count=copied, folder=folder))
    return folder


def student_labs(folder: Path) -> Path:
    """Return a folder with the labs for students: without speaker's notes, and without the pages for instructors.

    A lab that is there already stays as it is, with what was done in it.
    """
    folder = folder.resolve()
    with tempfile.TemporaryDirectory(prefix="kubedev-") as place:
        plain = Path(place) / "labs"
        shutil.copytree(shipped(), plain, ignore=shutil.ignore_patterns(*FOR_INSTRUCTORS))
        for notebook in all_labs(plain):
            came = original(shipped() / notebook.name)
            document = read_notebook(notebook) if came is None else parsed(came)
            document.cells = [cell for cell in document.cells if not is_note(cell)]
            notebook.write_text(nbformat.writes(document) + "\n", "utf-8")
        copied = copy_missing(plain, folder)
    if copied:
        print(say("lab.copied", count=copied, folder=folder))
    return folder


FOR_INSTRUCTORS = ("answers", "teaching.md", ".*")


def _has_browser() -> bool:
    """Whether a browser would have a screen: without one, a browser for terminals would take this terminal."""
    return sys.platform != "linux" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _exported() -> dict[str, object]:
    """The settings with which pictures step in exported HTML, for the command line of a server."""
    settings = json.loads((_HERE / "exported.json").read_text("utf-8"))
    return {f"{name}.{trait}": value for name, traits in settings.items() for trait, value in traits.items()}


def _serve(notebook: Path, cell: str, port: int, *, browser: bool) -> None:
    print(say("lab.starting"), flush=True)
    from jupyterlab.commands import get_user_settings_dir  # takes seconds

    own = get_user_settings_dir()  # the theme and the keys that one is used to
    with private_folder() as private:
        from jupyterlab.labapp import LabApp
        from jupyterlab_server.workspaces_handler import WorkspacesManager

        workspaces, settings_dir = private / "workspaces", private / "settings"
        settings_dir.mkdir()
        shutil.copyfile(_HERE / "overrides.json", settings_dir / "overrides.json")
        WorkspacesManager(str(workspaces)).save("default", (_HERE / "workspace.json").read_text("utf-8"))
        token, page = secrets.token_hex(24), f"/lab/tree/{quote(notebook.name)}"
        where = f"#cell-id={quote(cell)}" if cell else ""
        settings = {
            "LabApp.app_settings_dir": settings_dir,
            "LabApp.workspaces_dir": workspaces,
            "LabApp.default_url": page + where,
            "ServerApp.root_dir": notebook.parent,
            "ServerApp.ip": "127.0.0.1",
            "ServerApp.port": port,
            "ServerApp.port_retries": 50,
            "ServerApp.allow_root": True,  # in a container everybody is root
            "ServerApp.open_browser": browser,
            "Application.log_level": "WARN",
            "KernelManager.transport": transport(),
            "LanguageServerManager.autodetect": False,  # it would ask npm, which writes into the user's home
            "IdentityProvider.token": token,
            **_exported(),
        }
        if os.path.isdir(own):  # it is not made where there is none
            settings["LabApp.user_settings_dir"] = own

        class Server(LabApp.serverapp_class):  # type: ignore[misc]
            def init_signal(self) -> None:
                """Signals are this command's: Jupyter's own handlers would log the one that comes before ours."""

            def _bind_http_server_tcp(self) -> bool:
                """Two that start at once find the same port free: the later one looks for another."""
                while not super()._bind_http_server_tcp():
                    self._find_http_port()  # ends the server where none is left
                return True

        LabApp.serverapp_class = Server
        server = LabApp.initialize_server([f"--{name}={value}" for name, value in settings.items()])

        def stop(*_: object) -> None:
            end_at_signals(say("lab.stopped"))  # a second one does not wait
            server.stop(from_signal=True)

        for number in END_SIGNALS:
            signal.signal(number, stop)

        def ready() -> None:
            url = f"{server.connection_url.rstrip('/')}{page}?token={token}{where}"
            print(say("lab.open", lab=notebook.stem, folder=notebook.parent, url=url), flush=True)

        server.io_loop.add_callback(ready)  # it listens by then, and has its port
        server.start()
