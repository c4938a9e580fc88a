"""The checkpoint file: real ones, broken ones, and what survives a restart."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from kubedev.api.gojson import JSONError
from kubedev.api.messages import ContainerAllocateResponse, Device, DeviceSpec, Mount
from kubedev.kubelet.devices.capacity import list_and_watch
from kubedev.kubelet.devices.checkpoint import (
    CORRUPTED,
    CheckpointData,
    PodDevicesEntry,
    checkpoint_text,
    checksum,
    marshal_checkpoint,
    read_checkpoint,
    unmarshal_checkpoint,
)
from kubedev.kubelet.devices.device_manager import restart
from kubedev.kubelet.devices.devices import DeviceAllocateInfo, DeviceManagerState, insert, write_checkpoint

EMPTY = CheckpointData(None, {})
ANSWER = ContainerAllocateResponse(
    envs=(("A", "1"), ("B", "")),
    mounts=(Mount("/m", "/host/m", True),),
    devices=(DeviceSpec("/dev/a", "/dev/b", "rw"),),
    annotations=(("k", "v"),),
    cdi_devices=("vendor.com/gpu=0",),
)


def state_with_records() -> DeviceManagerState:
    devices = (Device("d0", numa_nodes=(0, 1)), Device("d1"), Device("d2"))
    state = list_and_watch(DeviceManagerState(), "example.com/gpu", devices)
    info = DeviceAllocateInfo({0: ("d0",), 1: ("d0",), -1: ("d1",)}, ANSWER)
    records = insert(state.pod_devices, "pod-1", "c", "example.com/gpu", info)
    return write_checkpoint(replace(state, pod_devices=records))


def test_a_restart_brings_back_records_and_names_but_no_device() -> None:
    state = state_with_records()
    after = restart(checkpoint_text(state), now=5.0)
    assert after.pod_devices == state.pod_devices
    assert after.allocated_devices == {"example.com/gpu": {"d0", "d1"}}
    assert after.healthy_devices == after.unhealthy_devices == {"example.com/gpu": frozenset()}
    assert after.all_devices == {}
    endpoint = after.endpoint("example.com/gpu")
    assert endpoint is not None
    assert (endpoint.stopped, endpoint.stop_time, endpoint.options) == (True, 5.0, None)
    assert checkpoint_text(after) == checkpoint_text(state), "the file is left alone"


def test_no_file_is_no_error() -> None:
    assert restart(None, now=0.0).read_error is None


def test_a_file_that_was_just_written_reads_back_the_same() -> None:
    text = checkpoint_text(state_with_records())
    assert text is not None
    data = unmarshal_checkpoint(text)
    assert data is not None
    assert marshal_checkpoint(data) == text


def checked(data: str, sum_of: CheckpointData = EMPTY) -> str:
    return f'{{"Data":{data},"Checksum":{checksum(sum_of)}}}'


def test_null_and_empty_have_different_checksums() -> None:
    forms = [CheckpointData(e, r) for e in (None, ()) for r in (None, {})]
    assert len({checksum(data) for data in forms}) == 4


@pytest.mark.parametrize(
    "text",
    [
        checked('{"PodDeviceEntries":null,"RegisteredDevices":{}}'),
        checked('{"poddeviceentries":null}'),
        checked('{"PodDeviceEntries":[],"PodDeviceEntries":null,"Unknown":[{}, 1.5e3, null]}'),
        " \n" + checked('{"PodDeviceEntries":null}') + "\t",
        checked('{"PodDeviceEntries":null}').replace('"Data"', '"DATA":{"RegisteredDevices":{}},"Data"'),
        f'{{"Checksum":{checksum(CheckpointData((), {}))}}}',
        f'{{"Data":null,"Checksum":{checksum(CheckpointData((), {}))}}}',
    ],
    ids=["plain", "any case", "last of two keys", "white space", "two objects", "no data", "null data"],
)
def test_go_reads_this(text: str) -> None:
    assert read_checkpoint(text) == ({}, (), None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "unexpected end of JSON input"),
        ("[]", "cannot unmarshal array"),
        ('"text"', "cannot unmarshal string"),
        ('{"Checksum":-1}', "number -1"),
        ('{"Checksum":1e3}', "number 1e3"),
        ('{"Checksum":18446744073709551616}', "number 18446744073709551616"),
        ('{"Checksum":NaN}', "invalid JSON"),
        (f'{{"Checksum":{"9" * 5000}}}', "number 999"),
        ("[" * 100_000, "invalid JSON"),
        (
            '{"Data":{"PodDeviceEntries":[{"DeviceIDs":["d0"]}]}}',
            "PodDeviceEntries.0.DeviceIDs, expected object",
        ),
        ('{"Data":{"PodDeviceEntries":[{"DeviceIDs":{"0x1":[]}}]}}', 'key "0x1"'),
        ('{"Data":{"PodDeviceEntries":[{"DeviceIDs":{"9223372036854775808":[]}}]}}', "key"),
        ('{"Data":{"PodDeviceEntries":[{"DeviceIDs":{"\uff11":[]}}]}}', "key"),
        ('{"Data":{"PodDeviceEntries":[{"DeviceIDs":{"--1":[]}}]}}', "key"),
        ('{"Data":{"PodDeviceEntries":[{"AllocResp":"QUI"}]}}', "illegal base64"),
        ('{"Data":{"PodDeviceEntries":[{"AllocResp":"QUI*"}]}}', "illegal base64"),
        ('{"Data":{"PodDeviceEntries":[{"PodUID":7}]}}', "cannot unmarshal number"),
        ('{"Data":{"PodDeviceEntries":[{"PodUID":true}]}}', "cannot unmarshal bool"),
    ],
)
def test_go_refuses_this_for_its_form(text: str, expected: str) -> None:
    with pytest.raises(JSONError, match=r".") as caught:
        unmarshal_checkpoint(text)
    assert expected in str(caught.value)
    pods, registered, error = read_checkpoint(text)
    assert (pods, registered, error) == ({}, (), str(caught.value))


def test_what_is_no_unicode_becomes_the_replacement_character() -> None:
    written = CheckpointData((PodDevicesEntry("\ufffd", "c", "r", {}, b""),), {})
    good = marshal_checkpoint(written)
    for bad in ("\\ud800", "\udcff"):
        pods, _, error = read_checkpoint(good.replace("\ufffd", bad))
        assert (list(pods), error) == (["\ufffd"], None)


def test_an_entry_whose_answer_cannot_be_read_is_left_out() -> None:
    entries = tuple(
        PodDevicesEntry(uid, "c", "r", {0: ("d",)}, resp) for uid, resp in (("a", b"\x08"), ("b", b""))
    )
    pods, _, error = read_checkpoint(marshal_checkpoint(CheckpointData(entries, {})))
    assert (list(pods), error) == (["b"], None)


REAL = os.environ.get("KUBEDEV_REAL_MANIFESTS", "")
REAL_FILES = sorted(Path(REAL).glob("kubelet_internal_checkpoint*")) if REAL else []


@pytest.mark.skipif(not REAL_FILES, reason="KUBEDEV_REAL_MANIFESTS names no folder with checkpoints")
@pytest.mark.parametrize("path", REAL_FILES, ids=lambda path: path.stem)
def test_real_checkpoints_load_or_are_refused_with_the_reason_told(path: Path) -> None:
    rows = (line.split("\t") for line in (path.parent / "MANIFEST.tsv").read_text().splitlines())
    told = {row[0]: row[2] for row in rows}[path.name]
    text = path.read_text()
    pods, registered, error = read_checkpoint(text)
    if "half-written" in told:
        assert error is not None
        assert error != CORRUPTED
    elif "v1 layout" in told:
        assert error is not None
        assert "cannot unmarshal array" in error
    elif "off by one" in told:
        assert error == CORRUPTED
    else:
        assert "checksum OK" in told or "recomputed OK" in told
        assert error is None
        assert registered == ("nvidia.com/gpu",)
        assert bool(pods) == ("PodDeviceEntries is null" not in told)
        data = unmarshal_checkpoint(text)
        assert data is not None
        assert marshal_checkpoint(data) == text.strip()


def test_p6_ids_that_are_not_utf8_are_written_as_go_writes_them() -> None:
    """JSON gets U+FFFD, the checksum is that of the bytes: so the file is corrupted at a restart, as in Go."""
    state = list_and_watch(DeviceManagerState(), "example.com/gpu", (Device("x\udcff\udcfe"), Device("d1")))
    text = checkpoint_text(state)
    assert text is not None
    assert r'"RegisteredDevices":{"example.com/gpu":["d1","x\ufffd\ufffd"]}' in text
    assert read_checkpoint(text) == ({}, (), CORRUPTED)
    assert text.isascii()
