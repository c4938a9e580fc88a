"""Messages as bytes: names and numbers are those of Kubernetes, and nothing is lost on the way."""

import importlib.util
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedev.api import messages as m
from kubedev.api import podresources as pr
from kubedev.wire import podresources_v1_pb2 as podresources_pb2
from kubedev.wire import v1beta1_pb2 as pb
from kubedev.wire.codec import METHODS, REGISTER, DecodeError, Method
from kubedev.wire.podresources_codec import METHODS as POD_RESOURCES_METHODS
from kubedev.wire.podresources_codec import method_of

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
POD_RESOURCES_FIELDS = {
    "AllocatableResourcesRequest": {},
    "AllocatableResourcesResponse": {"devices": 1, "cpu_ids": 2, "memory": 3},
    "ListPodResourcesRequest": {},
    "ListPodResourcesResponse": {"pod_resources": 1},
    "GetPodResourcesRequest": {"pod_name": 1, "pod_namespace": 2},
    "GetPodResourcesResponse": {"pod_resources": 1},
    "PodResources": {"name": 1, "namespace": 2, "containers": 3},
    "ContainerResources": {"name": 1, "devices": 2, "cpu_ids": 3, "memory": 4, "dynamic_resources": 5},
    "ContainerMemory": {"memory_type": 1, "size": 2, "topology": 3},
    "ContainerDevices": {"resource_name": 1, "device_ids": 2, "topology": 3},
    "TopologyInfo": {"nodes": 1},
    "NUMANode": {"ID": 1},
    "DynamicResource": {"claim_name": 2, "claim_namespace": 3, "claim_resources": 4},
    "ClaimResource": {"cdi_devices": 1, "driver_name": 2, "pool_name": 3, "device_name": 4},
    "CDIDevice": {"name": 1},
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
    for name in (f"{stem}_pb2.{ending}" for stem in regenerate.NAMES for ending in ("py", "pyi")):
        made = (tmp_path / "kubedev" / "wire" / name).read_text()
        assert made == Path(regenerate.__file__).with_name(name).read_text()


def test_pod_resources_has_the_numbers_and_paths_of_kubernetes() -> None:
    file = podresources_pb2.DESCRIPTOR
    assert file.package == "v1"
    assert {
        name: {field.name: field.number for field in message.fields}
        for name, message in file.message_types_by_name.items()
    } == POD_RESOURCES_FIELDS
    assert sorted(method.path for method in POD_RESOURCES_METHODS.values()) == [
        f"/v1.PodResourcesLister/{name}" for name in ("Get", "GetAllocatableResources", "List")
    ]


held = st.lists(
    st.builds(pr.ContainerDevices, text, texts, st.none() | st.lists(numbers, max_size=3).map(tuple)),
    max_size=3,
).map(tuple)
memory = st.lists(
    st.builds(pr.ContainerMemory, text, st.integers(0, 2**64 - 1), st.lists(numbers, max_size=3).map(tuple)),
    max_size=2,
).map(tuple)
cpus = st.lists(numbers, max_size=4).map(tuple)
in_containers = st.lists(st.builds(pr.ContainerResources, text, held, cpus, memory), max_size=2).map(tuple)
in_pods = st.builds(pr.PodResources, text, text, in_containers)
POD_RESOURCES_RESPONSES = {
    pr.ListPodResourcesRequest: st.builds(
        pr.ListPodResourcesResponse, st.lists(in_pods, max_size=2).map(tuple)
    ),
    pr.GetPodResourcesRequest: st.builds(pr.GetPodResourcesResponse, in_pods),
    pr.AllocatableResourcesRequest: st.builds(pr.AllocatableResourcesResponse, held, cpus, memory),
}


@given(st.data())
def test_pod_resources_survive_the_wire(data: st.DataObject) -> None:
    request = data.draw(
        st.sampled_from([pr.ListPodResourcesRequest(), pr.AllocatableResourcesRequest()])
        | st.builds(pr.GetPodResourcesRequest, text, text)
    )
    method = method_of(request)
    assert method.decode_request(method.encode_request(request)) == request
    response = data.draw(POD_RESOURCES_RESPONSES[type(request)])
    assert method.decode_response(method.encode_response(response)) == response
