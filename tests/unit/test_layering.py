"""Imports go one way through the rooms, and only two rooms know of gRPC, pictures and widgets."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import ROOT

PACKAGE = ROOT / "kubedev"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "labs" not in path.relative_to(PACKAGE).parts)
CORE = ("api", "deviceplugin", "scheduler", "kubelet", "cluster")
MAY_IMPORT = {
    "api": set(),
    "deviceplugin": {"api"},
    "scheduler": {"api"},
    "kubelet": {"api", "deviceplugin", "scheduler"},
    "cluster": {"api", "deviceplugin", "scheduler", "kubelet"},
    "wire": {"api", "deviceplugin", "kubelet", "cluster"},
    "views": {"api", "deviceplugin", "scheduler", "kubelet", "cluster"},
    "lab": {"api", "deviceplugin", "scheduler", "kubelet", "cluster", "views", "wire"},
    "tools": {"api", "deviceplugin", "scheduler", "kubelet", "cluster", "views", "wire", "lab"},
    "": set(),  # kubedev itself and its command line: rooms are imported by name when they are asked for
}
JUPYTER = {
    "IPython",
    "jupyter_client",
    "jupyterlab",
    "jupyterlab_server",
    "nbclient",
    "nbconvert",
    "nbformat",
}
PICTURES = {"anywidget", "ipywidgets", "networkx", "numpy", "plotly", "traitlets"}
PACKAGES = {
    **{room: {"yaml"} for room in CORE},
    "wire": {"google", "grpc", "watchfiles"},
    "views": PICTURES,
    "lab": PICTURES | {"IPython", "yaml"},
    "tools": JUPYTER | {"msgspec", "plotly", "rich", "traitlets", "yaml"},
    "": set(),
}
TYPES_ALONE = ("TYPE_CHECKING", "typing.TYPE_CHECKING")
HEAVY = ("grpc", "plotly", "networkx", "numpy", "ipywidgets", "anywidget", "IPython", "jupyterlab")


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in MAY_IMPORT else ""


def imports(path: Path, *, types: bool = False) -> Iterator[str]:
    """Every module that a file imports, in a function too; with `types` also those that only its types need."""
    waiting: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    while waiting:
        node = waiting.pop()
        if not types and isinstance(node, ast.If) and ast.unparse(node.test) in TYPES_ALONE:
            waiting.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = name_of(path).split(".")[: -node.level or None] if node.level else []
            base = ".".join([*package, *([node.module] if node.module else [])])
            yield from (
                f"{base}.{alias.name}" if is_module(f"{base}.{alias.name}") else base for alias in node.names
            )
        waiting.extend(ast.iter_child_nodes(node))


def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def loaded_by(*modules: str) -> set[str]:
    """The top-level packages that a fresh Python has loaded after importing modules."""
    script = f"import sys, {', '.join(modules)}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_imports_only_what_its_room_may(path: Path) -> None:
    room = room_of(name_of(path))
    for imported in imports(path):
        top = imported.partition(".")[0]
        if top == "kubedev":
            assert room_of(imported) in MAY_IMPORT[room] | {room, ""}, imported
        elif top not in sys.stdlib_module_names:
            allowed = {"grpc_tools"} if path.name == "regenerate.py" else over_columns(path)
            assert top in PACKAGES[room] | allowed, imported


def over_columns(path: Path) -> set[str]:
    """What only the scheduler's columns may import, and nobody imports them before there are many nodes."""
    return {"numpy"} if path.parent == PACKAGE / "scheduler" / "columns" else set()


def test_every_package_that_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = {canonicalize_name(Requirement(line).name) for line in project["dependencies"]}
    imported = {
        name.partition(".")[0] for path in MODULES if path.name != "regenerate.py" for name in imports(path)
    }
    distributions = packages_distributions()
    for package in imported - sys.stdlib_module_names - {"kubedev"}:
        assert declared & {canonicalize_name(name) for name in distributions[package]}, package


def test_no_module_imports_itself_by_way_of_others() -> None:
    names = {name_of(path): path for path in MODULES}
    graph = {name: names.keys() & set(imports(path, types=True)) - {name} for name, path in names.items()}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_a_circle_is_seen_that_only_types_or_a_function_make(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("if TYPE_CHECKING:\n    import kubedev.lab\ndef late():\n    from kubedev import wire\n")
    assert sorted(imports(path, types=True)) == ["kubedev.lab", "kubedev.wire"]
    assert list(imports(path)) == ["kubedev.wire"]


def test_the_core_rooms_load_nothing_heavy() -> None:
    core = [name_of(path) for path in MODULES if room_of(name_of(path)) in CORE and not over_columns(path)]
    assert loaded_by(*core).isdisjoint(HEAVY)


def test_u21_import_kubedev_loads_no_grpc_nor_pictures() -> None:
    assert loaded_by("kubedev").isdisjoint(HEAVY)


@pytest.mark.parametrize(
    "module", ["kubedev.__main__", "kubedev.tools.plugin", "kubedev.wire.plugin_process"]
)
def test_the_command_line_and_a_plugin_start_light(module: str) -> None:
    assert loaded_by(module).isdisjoint(HEAVY)
