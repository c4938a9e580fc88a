"""Amounts of resources in the units in which people read them."""

from collections.abc import Mapping

from kubedev.api.names import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from kubedev.api.quantity import MILLI, Quantity
from kubedev.api.requests import Resource
from kubedev.scheduler.plugins.fits import InsufficientResource

__all__ = ["amount", "amounts", "quantity", "requested", "sum_that_does_not_work_out"]

UNITS = ((1 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki"))
EXACT = (*UNITS[:3], (10**9, "G"), (10**6, "M"), *UNITS[3:], (10**3, "k"))
"""The units in which a number is written where it is a whole one in them, the first that does."""


def quantity(name: str, number: int) -> Quantity:
    """A number of a Resource as a quantity: CPU is counted in thousandths."""
    return Quantity(number, MILLI) if name == CPU else Quantity(number)


def amount(name: str, number: int, unit: tuple[int, str] | None = None) -> str:
    """A number of a Resource, as short as it is exact; with a unit in this one, to two places."""
    if name in (MEMORY, EPHEMERAL_STORAGE) or name.startswith("hugepages-"):
        if unit is not None:
            return f"{number / unit[0]:.2f}".rstrip("0").rstrip(".") + unit[1]
        exact = (f"{number // size}{suffix}" for size, suffix in EXACT if number and number % size == 0)
        return next(exact, str(number))
    return str(quantity(name, number))


def amounts(resource: Resource) -> Mapping[str, int]:
    """What there is of everything, but for zeros of the three that everybody has."""
    known = {CPU: resource.milli_cpu, MEMORY: resource.memory, EPHEMERAL_STORAGE: resource.ephemeral_storage}
    return {**{name: number for name, number in known.items() if number}, **resource.scalar_resources}


def requested(resource: Resource) -> str:
    """What a pod asks for, in a line."""
    return (
        ", ".join(f"{name} {amount(name, number)}" for name, number in amounts(resource).items()) or "nothing"
    )


def sum_that_does_not_work_out(lack: InsufficientResource) -> str:
    """`nvidia.com/gpu: requested 2 > free 1 (allocatable 8 - requested 7)`."""
    numbers = (lack.requested, lack.free, lack.capacity, lack.used)
    unit = None
    if lack.resource_name in (MEMORY, EPHEMERAL_STORAGE):
        unit = next((one for one in UNITS if clear(numbers, one[0])), (1, ""))
    asked, free, capacity, used = (amount(lack.resource_name, number, unit) for number in numbers)
    name = "pods" if lack.resource_name == PODS else lack.resource_name
    return f"{name}: requested {asked} > free {free} (allocatable {capacity} - requested {used})"


def clear(numbers: tuple[int, ...], size: int) -> bool:
    """Whether the sum can be checked with numbers of this unit, to two places."""
    asked, free, capacity, used = (round(number / size, 2) for number in numbers)
    return asked > free and abs(capacity - used - free) < 0.001 and asked >= 0.01
