"""Messages as bytes: names and numbers are those of Kubernetes, and nothing is lost on the way."""

import importlib.util
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedev.api import messages as m
from kubedev.wire import v1beta1_pb2 as pb
from kubedev.wire.codec import METHODS, REGISTER, DecodeError, Method

# Message: field: number, as in k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1/api.proto of v1.32.
FIELDS = {
    "Empty": {},
    "DevicePluginOptions": {"pre_start_required": 1, "get_preferred_allocation_available": 2},
    "RegisterRequest": {"version": 1, "endpoint": 2, "resource_name": 3, "options": 4},
    "ListAndWatchResponse": {"devices": 1},
    "TopologyInfo": {"nodes": 1},
    "NUMANode": {"ID": 1},
    "Device": {"ID": 1, "health": 2, "topology": 3},
    "PreStartContainerRequest": {"devices_ids": 1},
    "PreStartContainerResponse": {},
    "PreferredAllocationRequest": {"container_requests": 1},
    "ContainerPreferredAllocationRequest": {
        "available_deviceIDs": 1,
        "must_include_deviceIDs": 2,
        "allocation_size": 3,
    },
    "PreferredAllocationResponse": {"container_responses": 1},
    "ContainerPreferredAllocationResponse": {"deviceIDs": 1},
    "AllocateRequest": {"container_requests": 1},
    "ContainerAllocateRequest": {"devices_ids": 1},
    "CDIDevice": {"name": 1},
    "AllocateResponse": {"container_responses": 1},
    "ContainerAllocateResponse": {"envs": 1, "mounts": 2, "devices": 3, "annotations": 4, "cdi_devices": 5},
    "Mount": {"container_path": 1, "host_path": 2, "read_only": 3},
    "DeviceSpec": {"container_path": 1, "host_path": 2, "permissions": 3},
}
PATHS = [
    "/v1beta1.Registration/Register",
    "/v1beta1.DevicePlugin/GetDevicePluginOptions",
    "/v1beta1.DevicePlugin/ListAndWatch",
    "/v1beta1.DevicePlugin/GetPreferredAllocation",
    "/v1beta1.DevicePlugin/Allocate",
    "/v1beta1.DevicePlugin/PreStartContainer",
]

text = st.text(st.characters(codec="utf-8"), max_size=8)
texts = st.lists(text, max_size=3).map(tuple)
pairs = st.dictionaries(text, text, max_size=3).map(lambda d: tuple(sorted(d.items())))
options = st.builds(m.DevicePluginOptions, st.booleans(), st.booleans())
numbers = st.integers(-(2**63), 2**63 - 1)
devices = st.builds(m.Device, text, text, st.none() | st.lists(numbers, max_size=3).map(tuple))
containers = st.builds(
    m.ContainerAllocateResponse,
    pairs,
    st.lists(st.builds(m.Mount, text, text, st.booleans()), max_size=2).map(tuple),
    st.lists(st.builds(m.DeviceSpec, text, text, text), max_size=2).map(tuple),
    pairs,
    texts,
)
wishes = st.builds(m.ContainerPreferredAllocationRequest, texts, texts, st.integers(-(2**31), 2**31 - 1))


def test_the_proto_has_kubernetes_names_and_numbers() -> None:
    found = {
        name: {field.name: field.number for field in message.fields}
        for name, message in pb.DESCRIPTOR.message_types_by_name.items()
    }
    assert found == FIELDS
    assert pb.DESCRIPTOR.package == "v1beta1"
    services = pb.DESCRIPTOR.services_by_name
    assert {f"/v1beta1.{s}/{m}" for s in services for m in services[s].methods_by_name} == set(PATHS)
    assert [method.path for method in (REGISTER, *METHODS.values())] == PATHS


def test_bytes_on_the_wire() -> None:
    request = m.RegisterRequest("v1beta1", "x.sock", "a.b/c", m.DevicePluginOptions(True, False))
    data = b"\x0a\x07v1beta1\x12\x06x.sock\x1a\x05a.b/c\x22\x02\x08\x01"
    assert REGISTER.encode_request(request) == data
    assert REGISTER.decode_request(data) == request
    devices = METHODS["ListAndWatch"].decode_response(b"\x0a\x04\x0a\x02d0\x0a\x06\x0a\x02d1\x1a\x00")
    assert devices.devices == (m.Device("d0", "", None), m.Device("d1", "", ()))


@pytest.mark.parametrize(
    ("method", "requests", "responses"),
    [
        (REGISTER, st.builds(m.RegisterRequest, text, text, text, st.none() | options), st.just(m.Empty())),
        (METHODS["GetDevicePluginOptions"], st.just(m.Empty()), options),
        (
            METHODS["ListAndWatch"],
            st.just(m.Empty()),
            st.builds(m.ListAndWatchResponse, st.lists(devices, max_size=3).map(tuple)),
        ),
        (
            METHODS["GetPreferredAllocation"],
            st.builds(m.PreferredAllocationRequest, st.lists(wishes, max_size=2).map(tuple)),
            st.builds(m.PreferredAllocationResponse, st.lists(texts, max_size=2).map(tuple)),
        ),
        (
            METHODS["Allocate"],
            st.builds(m.AllocateRequest, st.lists(texts, max_size=2).map(tuple)),
            st.builds(m.AllocateResponse, st.lists(containers, max_size=2).map(tuple)),
        ),
        (
            METHODS["PreStartContainer"],
            st.builds(m.PreStartContainerRequest, texts),
            st.just(m.Empty()),
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Method) else "",
)
@given(data=st.data())
def test_nothing_is_lost(
    method: Method,
    requests: st.SearchStrategy[object],
    responses: st.SearchStrategy[object],
    data: st.DataObject,
) -> None:
    request, response = data.draw(requests), data.draw(responses)
    assert method.decode_request(method.encode_request(request)) == request
    assert method.decode_response(method.encode_response(response)) == response


@pytest.mark.parametrize("method", [REGISTER, *METHODS.values()], ids=lambda method: method.name)
def test_bytes_that_are_no_message(method: Method) -> None:
    for decode in (method.decode_request, method.decode_response):
        with pytest.raises(DecodeError):
            decode(b"\x0a\xff\xff")


def test_generated_code_is_up_to_date(tmp_path: Path) -> None:
    if importlib.util.find_spec("grpc_tools") is None:
        pytest.skip("needs grpcio-tools: pip install 'kubedev-lab[proto]'")
    from kubedev.wire import regenerate

    regenerate.regenerate(tmp_path)
    for name in ("v1beta1_pb2.py", "v1beta1_pb2.pyi"):
        made = (tmp_path / "kubedev" / "wire" / name).read_text()
        assert made == Path(regenerate.__file__).with_name(name).read_text()
