"""Allocate's answer as protobuf bytes: protobuf reads ours, and we are as lenient as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedev.api.messages import ContainerAllocateResponse, Device, DeviceSpec, ListAndWatchResponse, Mount
from kubedev.api.protowire import (
    ProtobufError,
    decode_container_allocate_response,
    encode_container_allocate_response,
    list_size,
)
from kubedev.lab.session import Lab
from kubedev.wire import v1beta1_pb2 as pb
from kubedev.wire.codec import METHODS

text = st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
pairs = st.dictionaries(text, text, max_size=3).map(lambda d: tuple(sorted(d.items())))
responses = st.builds(
    ContainerAllocateResponse,
    envs=pairs,
    mounts=st.lists(st.builds(Mount, text, text, st.booleans()), max_size=3).map(tuple),
    devices=st.lists(st.builds(DeviceSpec, text, text, text), max_size=3).map(tuple),
    annotations=pairs,
    cdi_devices=st.lists(text, max_size=3).map(tuple),
)


def by_protobuf(response: ContainerAllocateResponse) -> pb.ContainerAllocateResponse:
    return pb.ContainerAllocateResponse(
        envs=dict(response.envs),
        mounts=[
            pb.Mount(container_path=m.container_path, host_path=m.host_path, read_only=m.read_only)
            for m in response.mounts
        ],
        devices=[
            pb.DeviceSpec(container_path=d.container_path, host_path=d.host_path, permissions=d.permissions)
            for d in response.devices
        ],
        annotations=dict(response.annotations),
        cdi_devices=[pb.CDIDevice(name=name) for name in response.cdi_devices],
    )


@given(responses)
def test_protobuf_reads_what_is_written_and_so_do_we(response: ContainerAllocateResponse) -> None:
    data = encode_container_allocate_response(response)
    assert pb.ContainerAllocateResponse.FromString(data) == by_protobuf(response)
    assert decode_container_allocate_response(data) == response


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused_as_protobuf_does(data: bytes) -> None:
    try:
        read = decode_container_allocate_response(data)
    except ProtobufError:
        return
    again = decode_container_allocate_response(encode_container_allocate_response(read))
    assert again == read


@pytest.mark.parametrize(
    "unknown",
    [b"\x30\x07", b"\x31" + b"8" * 8, b"\x35" + b"4" * 4, b"\x32\x02hi", b"\x33\x08\x01\x0b\x0c\x34"],
    ids=["varint", "64 bits", "32 bits", "bytes", "group in group"],
)
def test_unknown_fields_are_skipped(unknown: bytes) -> None:
    response = ContainerAllocateResponse(envs=(("A", "1"),), mounts=(Mount("/m", "/h", True),))
    data = unknown + encode_container_allocate_response(response) + unknown
    assert pb.ContainerAllocateResponse.FromString(data).envs["A"] == "1"
    assert decode_container_allocate_response(data) == response


@pytest.mark.parametrize(
    "data",
    [
        b"\x0a",
        b"\x0a\x05ab",
        b"\x08\x01",
        b"\x00",
        b"\x0c",
        b"\x33\x08",
        b"\x0f",
        b"\xff" * 11,
        b"\x0a\x02\x08\x01",
    ],
    ids=[
        "cut",
        "short",
        "wrong type",
        "field 0",
        "end group",
        "open group",
        "type 7",
        "long number",
        "inner",
    ],
)
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ProtobufError, match="expected"):
        decode_container_allocate_response(data)


def test_the_last_of_two_entries_with_one_key_counts() -> None:
    entry = b"\x0a\x06\x0a\x01A\x12\x01"
    assert decode_container_allocate_response(entry + b"1" + entry + b"2").envs == (("A", "2"),)


numbers = st.integers(-(2**63), 2**63 - 1)
devices = st.builds(
    Device,
    st.text(st.characters(exclude_categories=("Cs",)), max_size=200),
    text,
    st.none() | st.lists(numbers, max_size=20).map(tuple),
)


@given(st.lists(devices, max_size=4).map(tuple))
def test_r13_the_size_of_a_list_is_that_of_its_bytes(listed: tuple[Device, ...]) -> None:
    assert list_size(listed) == len(METHODS["ListAndWatch"].encode_response(ListAndWatchResponse(listed)))


def test_r13_a_list_over_4_mib_ends_the_stream_in_memory_too() -> None:
    with Lab("large", nodes=1, transport="memory") as lab:
        lab.plugin("example.com/gpu", [Device(f"{i:0>500}") for i in range(9_000)])
        gpus = lab.node().allocatable.get("example.com/gpu")
        assert gpus is None or gpus.value() == 0
        said = [str(dict(message.values)) for message in lab.state.messages]
        assert any("grpc: received message larger than max (4635000 vs. 4194304)" in text for text in said)
        lab.plugin("example.com/gpu", 2)
        assert lab.node().allocatable["example.com/gpu"].value() == 2
