"""Which devices of a node go to which claims: the first that will do, all claims together or none.

Every request takes one device after the other, in the order of the pools; where a later one finds nothing, the
earlier ones give back and try the next. Nothing is ranked: the first full solution is the answer.

Go: `k8s.io/dynamic-resource-allocation/structured/allocator.go`.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from kubedev.api.claims import (
    ALL,
    EXACT_COUNT,
    AllocationResult,
    DeviceClass,
    DeviceRequest,
    DeviceResult,
    ResourceClaim,
)
from kubedev.api.objects import Node
from kubedev.api.resource_slices import DeviceID, ResourceSlice
from kubedev.scheduler.claims.constraints import MatchAttribute, lookup_attribute
from kubedev.scheduler.claims.pools import Pool, PoolDevice, gather_pools
from kubedev.scheduler.claims.results import result_of
from kubedev.scheduler.claims.selection import Wanted, refusal_of, wanted_of
from kubedev.scheduler.claims.steps import (
    Allocation,
    AllocationError,
    ConstraintSaysNo,
    Look,
    SelectorSaysNo,
    Step,
)

__all__ = ["Allocator"]

MOST_DEVICES = 32
"""The devices of one claim. Go: `AllocationResultsMaxSize`."""
MOST_STEPS = 300
"""The steps that are kept of one node."""


@dataclass(frozen=True, slots=True)
class Allocator:
    """What is to be allocated, and from what; `in_use` are devices of claims that are allocated already.

    Go: `NewAllocator`; the feature DRAAdminAccess is off.
    """

    claims: tuple[ResourceClaim, ...]
    in_use: Set[DeviceID] = frozenset()
    classes: Mapping[str, DeviceClass] = field(default_factory=dict)
    slices: Sequence[ResourceSlice] = ()

    def allocate(self, node: Node) -> Allocation:
        """Allocate all claims on a node. Raises AllocationError where that makes no sense on any. Go: `Allocate`."""
        try:
            pools = gather_pools(self.slices, node)
        except ValueError as error:
            raise AllocationError(f"gather pool information: {error}") from None
        search = Search(self, pools)
        for claim in self.claims:
            search.prepare(claim)
        found = search.run()
        results = tuple(search.results()) if found else None
        return Allocation(node.name, results, tuple(search.steps), search.left_out)


class StopSearchError(Exception):
    """There is no solution, whatever else is tried."""


class Search:
    """One run of the allocator, with what it has taken so far."""

    def __init__(self, allocator: Allocator, pools: Sequence[Pool]) -> None:
        self.claims, self.in_use = allocator.claims, allocator.in_use
        self.classes, self.pools = allocator.classes, pools
        self.devices = [(pool, device) for pool in pools for device in pool.devices]
        self.allocating: set[DeviceID] = set()
        self.wanted: list[tuple[int, Wanted]] = []
        self.constraints: list[list[MatchAttribute]] = []
        self.taken: list[list[tuple[DeviceResult, ResourceSlice]]] = []
        self.steps: list[Step] = []
        self.left_out = 0

    # Before the search

    def prepare(self, claim: ResourceClaim) -> None:
        """Check a claim, and count its devices."""
        number = len(self.constraints)
        total = 0
        for request in claim.spec.requests:
            wanted = self.wanted_of(claim, request)
            self.wanted.append((number, wanted))
            total += wanted.count
        if total > MOST_DEVICES:
            raise AllocationError(
                f"claim {claim.key}: number of requested devices {total} exceeds the claim limit of {MOST_DEVICES}"
            )
        for i, constraint in enumerate(claim.spec.constraints):
            if constraint.match_attribute is None:
                raise AllocationError(
                    f"claim {claim.key}, constraint #{i}: empty constraint (unsupported constraint type?)"
                )
        self.constraints.append(list(map(MatchAttribute, claim.spec.constraints)))
        self.taken.append([])

    def wanted_of(self, claim: ResourceClaim, request: DeviceRequest) -> Wanted:
        """A request with its number of devices, and these themselves where it wants all."""
        wanted = wanted_of(claim, request, self.classes)
        if request.allocation_mode == EXACT_COUNT:
            wanted.count = request.count
        elif request.allocation_mode == ALL:
            wanted.all = tuple(self.all_devices(wanted))
            wanted.count = len(wanted.all)
        else:
            raise AllocationError(f"{wanted.where}: unsupported count mode {request.allocation_mode}")
        return wanted

    def all_devices(self, wanted: Wanted) -> list[PoolDevice]:
        """Every device that a request for all of them means."""
        found = []
        for pool in self.pools:
            if pool.is_incomplete or pool.invalid_reason:
                problem = "being updated" if pool.is_incomplete else "invalid"
                raise AllocationError(
                    f"{wanted.where}: asks for all devices, but resource pool {pool} is currently {problem}"
                )
            found += [device for device in pool.devices if self.is_selected(wanted, device)]
        return found

    # Selectors

    def is_selected(self, wanted: Wanted, found: PoolDevice) -> bool:
        """Whether all selectors of the class and of the request are true of a device. Go: `isSelectable`."""
        if found.device.basic is None:
            self.note(wanted, found.id, Look.NOT_SELECTED, SelectorSaysNo("", 0, ""))
            return False
        if found.id not in wanted.selected:
            refusal = refusal_of(wanted, found)
            wanted.selected[found.id] = refusal is None
            if refusal is not None:
                self.note(wanted, found.id, Look.NOT_SELECTED, refusal)
        return wanted.selected[found.id]

    # The search

    def run(self) -> bool:
        """Whether there is a solution; it is in `taken` then."""
        try:
            return self.allocate_from(0, 0)
        except StopSearchError:
            return False

    def allocate_from(self, index: int, device: int, start: int = 0) -> bool:
        """Allocate from this device of this request on. Go: `allocateOne`.

        A request's devices are taken in their order only (`start`), and not at all where too few are left: Go tries
        every order, and finds the same.
        """
        while index < len(self.wanted) and device >= self.wanted[index][1].count:
            index, device, start = index + 1, 0, 0
        if index == len(self.wanted):
            return True
        number, wanted = self.wanted[index]
        if wanted.all is not None:
            if not self.take(number, wanted, wanted.all[device], must=True):
                raise StopSearchError
            return self.allocate_from(index, device + 1)
        for at in range(start, len(self.devices)):
            pool, found = self.devices[at]
            if found.id in self.in_use or found.id in self.allocating:
                self.note(wanted, found.id, Look.IN_USE)
                continue
            if not self.is_selected(wanted, found):
                continue
            if reason := pool.invalid_reason:
                raise AllocationError(f"pool {pool.name} is invalid: {reason}")
            if self.are_too_few(number, wanted, at, wanted.count - device):
                return False
            if not self.take(number, wanted, found):
                continue
            if self.allocate_from(index, device + 1, at + 1):
                return True
            self.give_back(number, wanted, found)
        return False

    def are_too_few(self, number: int, wanted: Wanted, start: int, needed: int) -> bool:
        """Whether it is known already that not so many devices are left that would do.

        A device that a constraint is against stays so, whatever else is taken.
        """
        looks: list[tuple[DeviceID, Look, ConstraintSaysNo | None]] = []
        for _, found in self.devices[start:]:
            if found.id in self.in_use or found.id in self.allocating:
                looks.append((found.id, Look.IN_USE, None))
            elif found.device.basic is None:
                continue
            elif found.id not in wanted.selected:
                return False
            elif wanted.selected[found.id]:
                refusal = self.against(number, wanted, found)
                looks.append((found.id, Look.CONSTRAINED if refusal else Look.TOO_FEW, refusal))
        too_few = sum(look is Look.TOO_FEW for _, look, _ in looks) < needed
        for look in looks if too_few else ():
            self.note(wanted, *look)
        return too_few

    def against(self, number: int, wanted: Wanted, found: PoolDevice) -> ConstraintSaysNo | None:
        """The first constraint that a device does not go with."""
        basic = found.device.basic
        assert basic is not None
        for i, constraint in enumerate(self.constraints[number]):
            if not constraint.allows(wanted.request.name, basic, found.id):
                value = lookup_attribute(basic, found.id, constraint.name)
                so_far = constraint.value if constraint.devices else None
                return ConstraintSaysNo(i, constraint.name, so_far, value)
        return None

    def take(self, number: int, wanted: Wanted, found: PoolDevice, must: bool = False) -> bool:
        """Take a device if it is free and no constraint is against it. Go: `allocateDevice`."""
        if found.id in self.in_use or found.id in self.allocating:
            self.note(wanted, found.id, Look.IN_USE)
            return False
        name = wanted.request.name
        if refusal := self.against(number, wanted, found):
            if must:
                raise AllocationError(
                    f"{wanted.where}: cannot add device {found.id} "
                    "because a claim constraint would not be satisfied"
                )
            self.note(wanted, found.id, Look.CONSTRAINED, refusal)
            return False
        basic = found.device.basic
        assert basic is not None
        for constraint in self.constraints[number]:
            constraint.add(name, basic, found.id)
        self.allocating.add(found.id)
        self.taken[number].append(
            (DeviceResult(name, found.id.driver, found.id.pool, found.id.device), found.slice)
        )
        self.note(wanted, found.id, Look.TAKEN)
        return True

    def give_back(self, number: int, wanted: Wanted, found: PoolDevice) -> None:
        """Take the last device of a claim back."""
        for constraint in self.constraints[number]:
            constraint.remove(wanted.request.name)
        self.allocating.remove(found.id)
        self.taken[number].pop()
        self.note(wanted, found.id, Look.GIVEN_BACK)

    def note(
        self,
        wanted: Wanted,
        id: DeviceID,
        look: Look,
        why: SelectorSaysNo | ConstraintSaysNo | None = None,
    ) -> None:
        """Keep a step, as long as there are not too many."""
        if len(self.steps) < MOST_STEPS:
            self.steps.append(Step(wanted.claim.key, wanted.request.name, id, look, why))
        else:
            self.left_out += 1

    def results(self) -> Iterator[AllocationResult]:
        """What each claim got."""
        for number, claim in enumerate(self.claims):
            mine = [(one.request.name, one.device_class) for owner, one in self.wanted if owner == number]
            yield result_of(claim, mine, self.taken[number])
