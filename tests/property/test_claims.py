"""The allocator's search leaves out orders that change nothing: its answers are those of the search that tries all."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kubedev.api.claims import ClaimSpec, DeviceClass, DeviceConstraint, DeviceRequest, ResourceClaim
from kubedev.api.objects import Node
from kubedev.api.resource_slices import (
    BasicDevice,
    Device,
    DeviceAttribute,
    DeviceID,
    ResourcePool,
    ResourceSlice,
)
from kubedev.scheduler.claims.allocator import Allocator, Search
from kubedev.scheduler.claims.pools import gather_pools
from kubedev.scheduler.claims.steps import AllocationError

GPU = 'device.attributes["g"]'
EXPRESSIONS = ("true", f"{GPU}.m == 0", f"{GPU}.s > 0", f"{GPU}.rare == 1")
values = st.integers(0, 1).map(lambda value: DeviceAttribute("int", value))
basics = st.builds(
    BasicDevice,
    st.one_of(
        st.fixed_dictionaries({"m": values, "s": values, "rare": values}),
        st.fixed_dictionaries({"m": values, "s": values}),
    ),
)
requests = st.builds(
    DeviceRequest,
    st.sampled_from(["a", "b"]),
    st.just("any"),
    st.lists(st.sampled_from(EXPRESSIONS), max_size=1).map(tuple),
    st.just("ExactCount"),
    st.integers(0, 3),
)
constraints = st.builds(
    DeviceConstraint,
    st.lists(st.sampled_from(["a", "b"]), max_size=1).map(tuple),
    st.sampled_from(["g/m", "g/s"]),
)
claims = st.builds(
    ResourceClaim,
    st.just("c"),
    spec=st.builds(
        ClaimSpec,
        st.lists(requests, min_size=1, max_size=2).map(tuple),
        st.lists(constraints, max_size=2).map(tuple),
    ),
)


@st.composite
def slices(draw: st.DrawFn) -> tuple[ResourceSlice, ...]:
    found = []
    for pool in ("p0", "p1"):
        devices = [Device(f"d{i}", basic) for i, basic in enumerate(draw(st.lists(basics, max_size=3)))]
        if devices and draw(st.booleans()):
            devices.append(devices[0])  # a name that stands twice makes the pool invalid
        found.append(ResourceSlice(pool, "g", ResourcePool(pool, 1, 1), "n", devices=tuple(devices)))
    return tuple(found)


class EveryOrder(Search):
    """Tries every device for every place, as Go does."""

    def allocate_from(self, index: int, device: int, start: int = 0) -> bool:
        return super().allocate_from(index, device, 0)

    def are_too_few(self, *of: object) -> bool:
        return False


def answer(search: Search, wanted: tuple[ResourceClaim, ...]) -> object:
    try:
        for claim in wanted:
            search.prepare(claim)
        return list(search.results()) if search.run() else None
    except AllocationError as error:
        return str(error)


@settings(max_examples=100, deadline=None)
@given(st.lists(claims, min_size=1, max_size=2).map(tuple), slices(), st.booleans())
def test_the_search_finds_what_every_order_finds(
    wanted: tuple[ResourceClaim, ...], offered: tuple[ResourceSlice, ...], used: bool
) -> None:
    in_use = frozenset({DeviceID("g", "p0", "d0")} if used else ())
    allocator = Allocator(wanted, in_use, {"any": DeviceClass("any")}, offered)
    pools = gather_pools(offered, Node("n"))
    assert answer(Search(allocator, pools), wanted) == answer(EveryOrder(allocator, pools), wanted)
