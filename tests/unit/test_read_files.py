"""Files that a command is given and that are none: said at once, and nothing is waited for."""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubedev import console
from kubedev.api.manifests import ManifestError
from kubedev.cluster.history import HistoryError
from kubedev.console import read_file
from kubedev.kubelet.cpu.cpuset import CPUSetError, parse_cpus
from kubedev.kubelet.kubelet_configuration import KubeletConfigurationError
from kubedev.lab.session import Lab
from kubedev.tools import deck, devices, kubelet, run
from kubedev.tools.kubelet_flags import add_flags, configured
from kubedev.wire.go_errors import in_gos_words


@pytest.fixture(params=["pipe", "folder", "loop", "device"])
def no_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "no.ipynb"
    if request.param == "pipe":
        os.mkfifo(path)
    elif request.param == "folder":
        path.mkdir()
    else:
        path.symlink_to(path if request.param == "loop" else "/dev/zero")
    return path


def test_r6_what_is_no_file_is_refused_as_a_configuration(
    no_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kubelet.main(["--dir", str(tmp_path / "d"), "--config", str(no_file)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"kubedev kubelet: --config: cannot be read: {no_file}: ")
    assert error.count("\n") == 1
    assert not (tmp_path / "d").exists()


def test_r6_a_pipe_of_the_shell_is_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"text")
    os.close(writing)
    assert read_file(f"/dev/fd/{reading}") == "text"
    os.close(reading)


@pytest.mark.parametrize("flag", ["--dir", "--pod-resources"])
def test_r6_an_empty_path_is_not_the_current_directory(
    flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        kubelet.main(["--dir", str(tmp_path / "d"), flag, ""])
    assert end.value.code == 2
    assert f"{flag}: expected a path, got an empty text" in capsys.readouterr().err
    assert not (tmp_path / "d").exists()


def test_r8_a_notebook_that_is_no_file_does_not_stop_the_others(
    no_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "end_at_signals", lambda text: None)
    bad = tmp_path / "bad.ipynb"
    bad.write_bytes(b"\xff")
    assert run.main([str(no_file), str(bad)]) == 1
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        no_file.resolve().stem if no_file.exists() else "no",
        "bad",
    ]


def test_r15_the_id_of_a_cell_is_shown_and_not_sent(tmp_path: Path) -> None:
    line = run._line(run.Outcome("lab", 1.0, "\x1b[31m[red]", "ValueError: x"))
    assert "\x1b" not in line
    assert "\\x1b[31m\\[red]" in line


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("0-999999999999", 'invalid range "0-999999999999": expected at most 1048576 CPUs'),
        ("9223372036854775808", 'strconv.Atoi: parsing "9223372036854775808": value out of range'),
        ("0-" + "9" * 5000, f'strconv.Atoi: parsing "{"9" * 5000}": value out of range'),
    ],
)
def test_r7_cpus_without_end_are_refused(text: str, error: str) -> None:
    with pytest.raises(CPUSetError) as refusal:
        parse_cpus(text)
    assert str(refusal.value) == error


def test_p4_a_server_that_stops_ends_a_call_as_in_go() -> None:
    error = in_gos_words("Unavailable", "Stream removed (Cancelling all calls)", "/tmp/k.sock")
    assert str(error) == "rpc error: code = Unavailable desc = error reading from server: EOF"
    assert in_gos_words("Unavailable", "Cancelling all calls", "/tmp/k.sock") == error


def test_r11_a_socket_without_permission_is_not_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    with monkeypatch.context() as patch:
        patch.setattr(devices.os, "stat", refuse)
        code = devices.main(["--socket", "/closed/kubelet.sock"])
    assert code == 1
    assert "/closed/kubelet.sock: permission is missing" in capsys.readouterr().err


# What a lab is given


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab("files", nodes=1, transport="memory") as lab:
        yield lab


def test_r6_what_is_no_file_is_refused_by_a_lab_and_changes_nothing(lab: Lab, no_file: Path) -> None:
    before = lab.state
    for given in (no_file, str(no_file)):
        with pytest.raises(
            ManifestError, match="expected the path of a file, YAML text, or one of the labs'"
        ):
            lab.apply(given)
        for name in ("config", "scheduler"):
            with pytest.raises(ManifestError, match="expected the path of a file"):
                Lab("others", nodes=1, transport="memory", **{name: given})
        with pytest.raises(HistoryError, match=f"expected the path of a history: .*{no_file.name}: "):
            lab.load(given)
    assert lab.state == before


@pytest.mark.parametrize("path", ["/dev/zero", "/proc/self/mem", "a\0b", "x" * 5000])
def test_r6_what_is_no_name_of_a_file_either(lab: Lab, path: str) -> None:
    with pytest.raises(ManifestError, match="expected the path of a file"):
        lab.apply(path)
    with pytest.raises(HistoryError, match="expected the path of a history"):
        lab.load(path)


def test_r6_a_file_without_end_is_not_read(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "huge.yaml"
    with open(path, "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ManifestError, match="File too large: more than 64 MiB"):
        lab.apply(path)
    monkeypatch.setattr(console, "MAX_FILE", 10)
    reading, writing = os.pipe()
    os.write(writing, b"12345678901")
    os.close(writing)
    with pytest.raises(OSError, match="File too large"):
        read_file(f"/dev/fd/{reading}")
    os.close(reading)


def test_r6_what_is_no_history_is_refused(lab: Lab, tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    path.write_bytes(b"\xff")
    with pytest.raises(HistoryError, match=r"expected the path of a history: is not UTF-8 \(byte 0\)"):
        lab.load(path)


def test_r6_an_image_of_a_slide_that_is_no_file(no_file: Path) -> None:
    with pytest.raises(OSError, match=no_file.name):
        deck._image(no_file)


# A kubelet's machine


@pytest.mark.parametrize(("numa", "option"), [("8", None), ("9", "9"), ("64", "64")])
def test_p7_a_kubelet_on_a_machine_of_many_numa_nodes(numa: str, option: str | None, tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    add_flags(parser)
    found = configured(parser.parse_args(["--numa", numa])).config
    assert len(found.numa.nodes) == int(numa)
    assert dict(found.topology_manager_policy_options).get("max-allowable-numa-nodes") == option
    file = tmp_path / "kubelet.yaml"
    kind = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    file.write_text(f"{kind}topologyManagerPolicyOptions: {{max-allowable-numa-nodes: '8'}}\n")
    given = parser.parse_args(["--numa", numa, "--config", str(file)])
    if option is None:
        assert (
            dict(configured(given).config.topology_manager_policy_options)["max-allowable-numa-nodes"] == "8"
        )
    else:
        with pytest.raises(
            KubeletConfigurationError, match="unsupported on machines with more than 8 NUMA Nodes"
        ):
            configured(given)
