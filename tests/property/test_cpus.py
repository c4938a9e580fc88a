"""What every assignment of CPUs keeps to, on any machine."""

from collections.abc import Iterator
from itertools import islice

from hypothesis import given, settings
from hypothesis import strategies as st

from kubedev.api.objects import Container, Pod
from kubedev.api.quantity import Quantity
from kubedev.kubelet.cpu.cpu_assignment import CPUAssignment, take_by_topology_numa_packed
from kubedev.kubelet.cpu.cpu_distribution import _combinations, take_by_topology_numa_distributed
from kubedev.kubelet.cpu.cpu_manager import allocate, remove_container, start
from kubedev.kubelet.cpu.cpu_policy import new_static_policy
from kubedev.kubelet.cpu.cpu_topology import CPUTopology
from kubedev.kubelet.cpu.cpuset import CPUSet, format_cpus, parse_cpus

topologies = st.builds(
    CPUTopology.regular,
    sockets=st.integers(1, 2),
    numa_nodes=st.integers(1, 3),
    cores=st.integers(1, 4),
    threads=st.integers(1, 2),
)


@st.composite
def requests(draw: st.DrawFn) -> tuple[CPUTopology, CPUSet, int]:
    topology = draw(topologies)
    available = draw(st.sets(st.sampled_from(sorted(topology.details.cpus))))
    return topology, frozenset(available), draw(st.integers(0, topology.num_cpus))


def keeps_to_the_rules(taken: CPUAssignment, available: CPUSet, count: int) -> None:
    if count > len(available):
        assert taken.error is not None
        assert taken.cpus == frozenset()
    else:
        assert taken.error is None
        assert len(taken.cpus) == count
        assert taken.cpus <= available
    assert sum(len(step.cpus) for step in taken.steps) == len(taken.cpus), "no CPU is taken twice"


@given(requests(), st.sampled_from(["packed", "spread"]), st.booleans())
def test_packed(request_: tuple[CPUTopology, CPUSet, int], strategy: str, caches: bool) -> None:
    topology, available, count = request_
    taken = take_by_topology_numa_packed(topology, available, count, strategy, caches)  # type: ignore[arg-type]
    keeps_to_the_rules(taken, available, count)


@settings(deadline=None)
@given(requests(), st.integers(1, 2))
def test_distributed(request_: tuple[CPUTopology, CPUSet, int], group_size: int) -> None:
    """With more than four nodes v1.32 may take from nodes that it did not choose, and fail."""
    topology, available, count = request_
    taken = take_by_topology_numa_distributed(topology, available, count, group_size)
    if taken.error is None or not taken.error.startswith("accounting error"):
        keeps_to_the_rules(taken, available, count)
    else:
        assert topology.num_numa_nodes > 4


@given(st.sets(st.integers(0, 200)))
def test_cpu_lists_are_read_as_they_were_written(cpus: set[int]) -> None:
    assert parse_cpus(format_cpus(frozenset(cpus))) == cpus


@settings(deadline=None)
@given(topologies, st.lists(st.integers(1, 4), max_size=5))
def test_every_cpu_is_shared_or_of_one_container_and_comes_back(
    topology: CPUTopology, requests: list[int]
) -> None:
    state = start(new_static_policy(topology, 1))
    for i, count in enumerate(requests):
        wants = {"cpu": Quantity.of(count), "memory": Quantity.parse("1Gi")}
        pod = Pod(f"p{i}", uid=f"p{i}", containers=(Container("c", requests=wants, limits=wants),))
        state, _ = allocate(state, pod, pod.containers[0])
        sets = [cpus for containers in state.assignments.values() for cpus in containers.values()]
        assert sum(map(len, sets)) + len(state.default) == topology.num_cpus
        assert state.default.union(*sets) == topology.details.cpus
        assert start(state.policy, state.checkpoint).assignments == state.assignments
    for i in range(len(requests)):
        state = remove_container(state, f"p{i}", "c")
    assert (state.default, state.assignments) == (topology.details.cpus, {})


class Slice:
    """A Go slice: some members of an array that other slices may share and write on in."""

    def __init__(self, array: list[int], length: int) -> None:
        self.array, self.length = array, length

    def append(self, member: int) -> "Slice":
        array = self.array
        if self.length == len(array):  # full: Go copies it into one twice as large
            array = array[: self.length] + [0] * max(1, self.length)
        array[self.length] = member
        return Slice(array, self.length + 1)

    @property
    def members(self) -> list[int]:
        return self.array[: self.length]


def walk(nodes: list[int], size: int, start: int, so_far: Slice) -> Iterator[Slice]:
    """`cpu_assignment.go: iterateCombinations`, slice by slice."""
    if size == 0:
        yield so_far
        return
    for i in range(start, len(nodes) - size + 1):
        yield from walk(nodes, size - 1, i + 1, so_far.append(nodes[i]))


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n))), st.integers(0, 200))
def test_kept_combinations_change_as_slices_do_in_go(sizes: tuple[int, int], visited: int) -> None:
    count, size = sizes
    nodes = list(range(count))
    kept = list(islice(walk(nodes, size, 0, Slice([], 0)), visited))
    ours = list(islice(_combinations(nodes, size), visited))
    assert ours == [each.members for each in kept]
