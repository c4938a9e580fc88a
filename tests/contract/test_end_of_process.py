"""A process whose servers have calls under way ends all the same, and closes its lab on the way."""

import subprocess
import sys
from pathlib import Path

from tests.contract.harness import PATIENCE

SOURCE = """
from kubedev.kubelet.devices import registration
from kubedev.lab.hand_made import RegistrationLab
registration.DIAL_TIMEOUT = 600.0
lab = RegistrationLab("end")
lab.by_hand("example.com/a").start()
print(lab.by_hand("example.com/b").run("register"), lab.directory, sep="\\n")
"""


def test_streams_and_a_dial_under_way_do_not_hold_up_the_end(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SOURCE],
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,  # the dial would take longer
        env={"TMPDIR": str(tmp_path), "PATH": ""},
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("register: no answer yet\n")
    assert list(tmp_path.iterdir()) == [], "the socket directory is removed"
