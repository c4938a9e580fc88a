"""The socket directory is checked before anything is started, and only sockets are ever removed."""

import os
import shutil
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubedev.wire import sockets
from kubedev.wire.sockets import SocketDirectoryError, prepare


@pytest.fixture
def directory() -> Iterator[Path]:
    path = Path(sockets.private_directory())
    yield path
    shutil.rmtree(path)


def listening(path: Path) -> socket.socket:
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()
    return server


def test_a_private_directory_is_short_and_closed_to_others(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert len(str(directory)) < 40 or not str(directory).startswith("/tmp")
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/" + "x" * 80)
    short = sockets.private_directory()
    os.rmdir(short)
    assert short.startswith("/tmp/kubedev-")


def test_a_path_of_107_bytes_is_taken_and_one_of_108_refused(directory: Path) -> None:
    room = sockets.MAX_SOCKET_PATH - len(f"{directory}//kubelet.sock")
    prepare(str(directory / ("x" * room)))
    with pytest.raises(SocketDirectoryError, match=r"107 bytes, this one has 108.*shorter directory"):
        prepare(str(directory / ("x" * (room + 1))))
    assert [path.name for path in directory.iterdir()] == ["x" * room]


def test_bytes_count_and_not_letters(directory: Path) -> None:
    room = sockets.MAX_SOCKET_PATH - len(f"{directory}//kubelet.sock")
    with pytest.raises(SocketDirectoryError, match="107 bytes"):
        prepare(str(directory / ("é" * room)))


def test_what_cannot_be_made_or_written(directory: Path) -> None:
    (directory / "file").touch()
    for wrong in (directory / "file", directory / "file" / "below", Path("/proc/kubedev")):
        with pytest.raises(SocketDirectoryError, match=r"cannot be made a directory|not writable"):
            prepare(str(wrong))


def test_not_writable(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        directory.chmod(0o500)
    else:  # root may write anywhere
        monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(SocketDirectoryError, match="not writable"):
        prepare(str(directory))
    directory.chmod(0o700)


def test_a_live_kubelet_is_left_alone(directory: Path) -> None:
    with listening(directory / "kubelet.sock"), listening(directory / "gpu.sock"):
        with pytest.raises(SocketDirectoryError, match="a kubelet serves here already"):
            prepare(str(directory))
        assert {path.name for path in directory.iterdir()} == {"kubelet.sock", "gpu.sock"}
    prepare(str(directory))
    assert list(directory.iterdir()) == []


def test_b67_sockets_are_removed_and_nothing_else(directory: Path) -> None:
    (directory / sockets.CHECKPOINT).write_text("{}")
    (directory / "below").mkdir()
    listening(directory / "below" / "other.sock").close()
    with listening(directory / "gpu.sock"):
        prepare(str(directory))
    assert {path.name for path in directory.iterdir()} == {sockets.CHECKPOINT, "below"}
    assert (directory / "below" / "other.sock").exists()


@pytest.mark.parametrize("names", [["notes.txt"], ["a", "b", "c", "d"], [".hidden"]])
def test_other_files_are_refused(directory: Path, names: list[str]) -> None:
    listening(directory / "gpu.sock").close()
    for name in names:
        (directory / name).touch()
    with pytest.raises(
        SocketDirectoryError, match="neither sockets nor kubelet_internal_checkpoint: "
    ) as error:
        prepare(str(directory))
    assert names[0] in str(error.value)
    assert {path.name for path in directory.iterdir()} == {"gpu.sock", *names}


def test_a_link_to_a_socket_is_no_socket(directory: Path) -> None:
    (directory / "below").mkdir()
    target = directory / "below" / "gpu.sock"
    listening(target).close()
    (directory / "gpu.sock").symlink_to(target)
    with pytest.raises(SocketDirectoryError, match=r"neither sockets.*gpu\.sock"):
        prepare(str(directory))
    assert target.exists()


def test_a_missing_directory_is_made(directory: Path) -> None:
    prepare(str(directory / "a" / "b"))
    assert (directory / "a" / "b").is_dir()


def test_u17_without_unix_sockets_the_memory_steps_in(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sockets.have_unix_sockets()
    monkeypatch.setattr(sys, "platform", "win32")
    assert not sockets.have_unix_sockets()
    with pytest.raises(SocketDirectoryError, match="in-memory transport"):
        prepare(str(directory / "a"))
    assert not (directory / "a").exists()


def test_there_is_no_grpc_where_its_package_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sockets.have_grpc()
    monkeypatch.setitem(sys.modules, "grpc", None)  # as Python marks what cannot be imported
    assert not sockets.have_grpc()
