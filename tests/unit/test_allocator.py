"""The allocator of claims: which device goes where, and why not."""

from typing import Any

import pytest

from kubedev.api.claims import DeviceClass, ResourceClaim
from kubedev.api.objects import Node
from kubedev.api.resource_slices import DeviceAttribute, DeviceID, ResourceSlice
from kubedev.scheduler.claims.allocator import Allocator
from kubedev.scheduler.claims.steps import (
    Allocation,
    AllocationError,
    ConstraintSaysNo,
    Look,
    SelectorSaysNo,
)

DRIVER = "gpu.example.com"
NODE = Node("n1", labels={"zone": "a"})


def gpu(name: str, model: str = "a", switch: int = 0) -> dict[str, Any]:
    attributes = {"model": {"string": model}, "switch": {"int": switch}}
    return {"name": name, "basic": {"attributes": attributes}}


def slice_of(*devices: dict[str, Any], pool: str = "n1", **spec: Any) -> ResourceSlice:
    where = spec or {"nodeName": "n1"}
    of = {"name": pool, "generation": 1, "resourceSliceCount": 1}
    return ResourceSlice.parse(
        {
            "metadata": {"name": pool},
            "spec": {"driver": DRIVER, "pool": of, "devices": list(devices), **where},
        }
    )


def request(name: str = "r", count: int = 1, *expressions: str) -> dict[str, Any]:
    selectors = [{"cel": {"expression": one}} for one in expressions]
    mode = {"allocationMode": "ExactCount", "count": count} if count else {"allocationMode": "All"}
    return {"name": name, "deviceClassName": "gpu", "selectors": selectors, **mode}


def claim(*requests: dict[str, Any], match: str = "", name: str = "c") -> ResourceClaim:
    constraints = [{"matchAttribute": f"{DRIVER}/{match}"}] if match else []
    devices = {"requests": list(requests), "constraints": constraints}
    return ResourceClaim.parse({"metadata": {"name": name}, "spec": {"devices": devices}})


def allocate(*claims: ResourceClaim, slices: list[ResourceSlice], in_use: str = "") -> Allocation:
    used = frozenset(DeviceID(DRIVER, "n1", name) for name in in_use.split())
    return Allocator(claims, used, {"gpu": DeviceClass("gpu")}, slices).allocate(NODE)


def names(found: Allocation) -> list[list[str]] | None:
    if found.results is None:
        return None
    return [[device.device for device in result.devices] for result in found.results]


def test_the_first_device_that_will_do_is_taken_and_nothing_is_ranked() -> None:
    slices = [slice_of(gpu("d0", "a"), gpu("d1", "b"), gpu("d2", "b"))]
    model = f'device.attributes["{DRIVER}"].model == "b"'
    assert names(allocate(claim(request("r", 1, model)), slices=slices)) == [["d1"]]


def test_an_earlier_request_gives_back_what_a_later_one_needs() -> None:
    slices = [slice_of(gpu("d0", "a"), gpu("d1", "b"))]
    only_a = request("second", 1, f'device.attributes["{DRIVER}"].model == "a"')
    found = allocate(claim(request("first"), only_a), slices=slices)
    assert names(found) == [["d1", "d0"]]
    assert [step.look for step in found.steps if step.request == "first"] == [
        Look.TAKEN,
        Look.GIVEN_BACK,
        Look.TAKEN,
    ]


def test_every_device_has_its_reason_in_the_order_of_the_pool() -> None:
    slices = [slice_of(gpu("d0"), gpu("d1", "b", 1), gpu("d2", "b", 2), {"name": "d3"})]
    model = f'device.attributes["{DRIVER}"].model == "b"'
    found = allocate(claim(request("r", 2, model), match="switch"), slices=slices, in_use="d2")
    assert found.results is None
    looks = {step.device.device: (step.look, step.why) for step in found.looks()}
    assert looks["d0"] == (Look.NOT_SELECTED, SelectorSaysNo("", 0, model))
    assert looks["d1"] == (Look.TOO_FEW, None)
    assert looks["d2"] == (Look.IN_USE, None)
    assert "d3" not in looks  # nobody knows what kind of device it is


def test_a_constraint_says_which_value_it_wanted_and_which_it_found() -> None:
    slices = [slice_of(gpu("d0", switch=3), gpu("d1", switch=4))]
    found = allocate(claim(request("r", 2), match="switch"), slices=slices)
    whys = [step.why for step in found.steps if isinstance(step.why, ConstraintSaysNo)]
    assert whys
    assert (whys[0].number, whys[0].attribute) == (0, f"{DRIVER}/switch")
    assert (whys[0].so_far, whys[0].found) == (DeviceAttribute("int", 3), DeviceAttribute("int", 4))


def test_a_node_selector_is_carried_to_the_result_once() -> None:
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}]
    selector = {"nodeSelectorTerms": terms}
    slices = [slice_of(gpu("d0"), gpu("d1"), pool="net", nodeSelector=selector)]
    found = allocate(claim(request("r", 2)), slices=slices)
    assert found.results is not None
    (term,) = found.results[0].node_selector or ()
    assert [(one.key, one.values) for one in term.match_expressions] == [("zone", ("a", "b"))]
    other = Allocator((claim(request()),), frozenset(), {"gpu": DeviceClass("gpu")}, slices)
    assert other.allocate(Node("n2", labels={"zone": "c"})).results is None


def test_an_attribute_that_a_device_has_not_ends_it_on_any_node() -> None:
    slices = [slice_of(gpu("d0"))]
    wrong = f'device.attributes["{DRIVER}"].colour == "red"'
    with pytest.raises(AllocationError) as caught:
        allocate(claim(request("r", 1, wrong)), slices=slices)
    assert str(caught.value) == "claim default/c: selector #0: CEL runtime error: no such key: colour"


@pytest.mark.parametrize(("devices", "wanted", "switches"), [(31, 32, 31), (30, 24, 2), (32, 31, 2)])
def test_too_few_devices_are_noticed_at_once(devices: int, wanted: int, switches: int) -> None:
    slices = [slice_of(*(gpu(f"d{i:02}", switch=i % switches) for i in range(devices)))]
    found = allocate(claim(request("r", wanted), match="switch"), slices=slices)
    assert found.results is None
    assert len(found.steps) + found.left_out < 50 * devices
