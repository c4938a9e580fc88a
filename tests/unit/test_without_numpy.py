"""The scheduler of many nodes without numpy: the readable way answers, and nobody notices."""

import subprocess
import sys

SCRIPT = """
import sys
sys.modules["numpy"] = None  # as if it were not installed
from kubedev.scheduler.context import Context
from kubedev.scheduler.finding import OneByOne
from kubedev.scheduler.cycle import schedule_one, way_of
from kubedev.scheduler.node_info import NodeInfo
from kubedev.scheduler.plugins.default_plugins import default_framework
from kubedev.scheduler.snapshot import Snapshot
from tests.unit.scheduler_world import make_node, make_pod

snapshot = Snapshot.of(Context(tuple(NodeInfo.of(make_node(f"n{i:03}")) for i in range(200))))
assert isinstance(way_of(default_framework(), make_pod("p"), snapshot), OneByOne)
print(schedule_one(default_framework(), make_pod("p"), snapshot).node_name)
"""


def test_without_numpy_the_readable_way_answers() -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert run.stdout == "n000\n"


def test_numpy_is_loaded_when_there_are_many_nodes_and_not_before() -> None:
    script = SCRIPT.replace('sys.modules["numpy"] = None', "").replace("range(200)", "range(3)")
    script += "print('numpy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "n000\nFalse\n"
    many = script.replace("range(3)", "range(200)").replace("assert isinstance", "assert not isinstance")
    run = subprocess.run([sys.executable, "-c", many], capture_output=True, text=True, check=True)
    assert run.stdout == "n000\nTrue\n"
