"""Options of the topology manager's policies and of the CPU manager's static policy.

Both come as texts by name. Which stage an option has reached (alpha, beta) decides in a real kubelet
whether a feature gate must be set for it; here all of them may be used.

Source: `pkg/kubelet/cm/topologymanager/policy_options.go`, `pkg/kubelet/cm/cpumanager/policy_options.go`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

__all__ = ["PolicyOptionError", "StaticPolicyOptions", "TopologyPolicyOptions"]

DEFAULT_MAX_ALLOWABLE_NUMA_NODES = 8

_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")


class PolicyOptionError(ValueError):
    """An option that the kubelet does not start with; the text is Kubernetes' own."""


def _boolean(name: str, value: str) -> bool:
    if value not in _TRUE + _FALSE:
        raise PolicyOptionError(
            f'bad value for option "{name}": strconv.ParseBool: parsing "{value}": invalid syntax'
        )
    return value in _TRUE


def _integer(name: str, value: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]+", value):
        raise PolicyOptionError(
            f'unable to convert policy option to integer "{name}": '
            f'strconv.Atoi: parsing "{value}": invalid syntax'
        )
    return int(value)


@dataclass(frozen=True, slots=True)
class TopologyPolicyOptions:
    """How the topology manager chooses among masks of one size, and how many NUMA nodes it puts up with."""

    prefer_closest_numa_nodes: bool = False
    max_allowable_numa_nodes: int = DEFAULT_MAX_ALLOWABLE_NUMA_NODES

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Self:
        """Read them, or PolicyOptionError for the first bad one by name."""
        closest, most = False, DEFAULT_MAX_ALLOWABLE_NUMA_NODES
        for name, value in sorted(options.items()):
            if name == "prefer-closest-numa-nodes":
                closest = _boolean(name, value)
            elif name == "max-allowable-numa-nodes":
                most = _integer(name, value)
                if most < DEFAULT_MAX_ALLOWABLE_NUMA_NODES:
                    raise PolicyOptionError(
                        f'the minimum value of "{name}" should not be less than '
                        f"{DEFAULT_MAX_ALLOWABLE_NUMA_NODES}"
                    )
            else:
                raise PolicyOptionError(f'unknown Topology Manager Policy option: "{name}"')
        return cls(closest, most)


@dataclass(frozen=True, slots=True)
class StaticPolicyOptions:
    """How the static policy chooses CPUs.

    `full_pcpus_only`: whole physical cores or nothing. `distribute_cpus_across_numa`: where one NUMA node
    does not suffice, the same number from each. `align_by_socket`: a socket's NUMA nodes count as one.
    `distribute_cpus_across_cores`: threads of different cores. `strict_cpu_reservation`: reserved CPUs are
    in no pool. `prefer_align_cpus_by_uncorecache`: whole last-level caches first.
    """

    full_pcpus_only: bool = False
    distribute_cpus_across_numa: bool = False
    align_by_socket: bool = False
    distribute_cpus_across_cores: bool = False
    strict_cpu_reservation: bool = False
    prefer_align_cpus_by_uncorecache: bool = False

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Self:
        """Read them, or PolicyOptionError for the first bad one by name or two that exclude each other."""
        given = {}
        for name, value in sorted(options.items()):
            if name.replace("-", "_") not in cls.__slots__ or "_" in name:
                raise PolicyOptionError(f'unknown CPU Manager Policy option: "{name}"')
            given[name] = _boolean(name, value)
        for one, other in _EXCLUSIVE:
            if given.get(one) and given.get(other):
                raise PolicyOptionError(
                    f"static policy options {one} and {other} can not be used at the same time"
                )
        return cls(**{name.replace("-", "_"): value for name, value in given.items()})


_EXCLUSIVE = (
    ("full-pcpus-only", "distribute-cpus-across-cores"),
    ("distribute-cpus-across-numa", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"),
)
