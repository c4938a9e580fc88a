"""Options of the topology manager's policies and of the CPU manager's static policy.

Both come as texts by name. An option that has reached alpha or beta only can be used while the feature gate of
its stage is on; by default the alpha gates are off and the beta ones on.

Source: `pkg/kubelet/cm/topologymanager/policy_options.go`, `pkg/kubelet/cm/cpumanager/policy_options.go`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self

from kubedev.api.gotext import quote

__all__ = ["Gates", "PolicyOptionError", "StaticPolicyOptions", "TopologyPolicyOptions"]

DEFAULT_MAX_ALLOWABLE_NUMA_NODES = 8

_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")


class PolicyOptionError(ValueError):
    """An option that the kubelet does not start with; the text is Kubernetes' own."""


# Feature gates by name, as far as they are set; the others are as v1.32 has them.
Gates = Mapping[str, bool]
_NO_GATES: Gates = {}
Stage = Literal["Alpha", "Beta", "stable"]


def _check_available(manager: str, stages: Mapping[str, Stage], name: str, gates: Gates) -> None:
    """Source: `policy_options.go: CheckPolicyOptionAvailable`, the same in both managers."""
    stage = stages.get(name)
    if stage is None:
        raise PolicyOptionError(f"unknown {manager} Manager Policy option: {quote(name)}")
    gate = f"{manager.replace(' ', '')}ManagerPolicy{stage}Options"
    if stage != "stable" and not gates.get(gate, stage == "Beta"):
        raise PolicyOptionError(
            f"{manager} Manager Policy {stage}-level Options not enabled, but option {quote(name)} provided"
        )


def _boolean(name: str, value: str) -> bool:
    if value not in _TRUE + _FALSE:
        raise PolicyOptionError(
            f'bad value for option "{name}": strconv.ParseBool: parsing {quote(value)}: invalid syntax'
        )
    return value in _TRUE


def _integer(name: str, value: str) -> int:
    fault = "" if re.fullmatch(r"[+-]?[0-9]+", value) else "invalid syntax"
    if not fault and not -(2**63) <= int(value) < 2**63:
        fault = "value out of range"
    if fault:
        raise PolicyOptionError(
            f'unable to convert policy option to integer "{name}": '
            f"strconv.Atoi: parsing {quote(value)}: {fault}"
        )
    return int(value)


_TOPOLOGY: Mapping[str, Stage] = {
    "prefer-closest-numa-nodes": "stable",
    "max-allowable-numa-nodes": "Beta",
}


@dataclass(frozen=True, slots=True)
class TopologyPolicyOptions:
    """How the topology manager chooses among masks of one size, and how many NUMA nodes it puts up with."""

    prefer_closest_numa_nodes: bool = False
    max_allowable_numa_nodes: int = DEFAULT_MAX_ALLOWABLE_NUMA_NODES

    @classmethod
    def parse(cls, options: Mapping[str, str], gates: Gates = _NO_GATES) -> Self:
        """Read them, or PolicyOptionError for the first bad one by name."""
        closest, most = False, DEFAULT_MAX_ALLOWABLE_NUMA_NODES
        for name, value in sorted(options.items()):
            _check_available("Topology", _TOPOLOGY, name, gates)
            if name == "prefer-closest-numa-nodes":
                closest = _boolean(name, value)
            else:
                most = _integer(name, value)
                if most < DEFAULT_MAX_ALLOWABLE_NUMA_NODES:
                    raise PolicyOptionError(
                        f'the minimum value of "{name}" should not be less than '
                        f"{DEFAULT_MAX_ALLOWABLE_NUMA_NODES}"
                    )
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
    def parse(cls, options: Mapping[str, str], gates: Gates = _NO_GATES) -> Self:
        """Read them, or PolicyOptionError for the first bad one by name or two that exclude each other."""
        given = {}
        for name, value in sorted(options.items()):
            _check_available("CPU", _STATIC, name, gates)
            given[name] = _boolean(name, value)
        for one, other in _EXCLUSIVE:
            if given.get(one) and given.get(other):
                raise PolicyOptionError(
                    f"static policy options {one} and {other} can not be used at the same time"
                )
        return cls(**{name.replace("-", "_"): value for name, value in given.items()})


_STATIC: Mapping[str, Stage] = {
    "full-pcpus-only": "Beta",
    "distribute-cpus-across-numa": "Alpha",
    "align-by-socket": "Alpha",
    "distribute-cpus-across-cores": "Alpha",
    "strict-cpu-reservation": "Alpha",
    "prefer-align-cpus-by-uncorecache": "Alpha",
}

_EXCLUSIVE = (
    ("full-pcpus-only", "distribute-cpus-across-cores"),
    ("distribute-cpus-across-numa", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"),
)
