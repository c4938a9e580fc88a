"""What `kubedev kubelet` is set up with: a KubeletConfiguration, and the kubelet's own flags, which win over it."""

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kubedev.api.objects import Node
from kubedev.console import read_file, reason
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.cpu.cpuset import CPUSetError, parse_cpus
from kubedev.kubelet.kubelet import new_kubelet
from kubedev.kubelet.kubelet_configuration import (
    KubeletConfiguration,
    KubeletConfigurationError,
    load_kubelet_configuration,
)
from kubedev.kubelet.topology.merge import NUMAInfo
from kubedev.kubelet.topology.topology import BEST_EFFORT, NONE

__all__ = ["MAX_NUMA_NODES", "add_flags", "configured", "on_numa_nodes"]

MAX_NUMA_NODES = 64
"""How many NUMA nodes a machine has at most; Kubernetes has masks of so many bits."""

MAX_WITHOUT_OPTION = 8
OPTION = "max-allowable-numa-nodes"

# The kubelet's flags that stand for one text of its configuration.
FLAGS: Mapping[str, str] = {
    "--topology-manager-policy": "topology_manager_policy",
    "--topology-manager-scope": "topology_manager_scope",
    "--cpu-manager-policy": "cpu_manager_policy",
    "--memory-manager-policy": "memory_manager_policy",
}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The flags that `configured` looks at."""
    parser.add_argument(
        "--numa",
        type=int,
        default=0,
        metavar="N",
        help="align devices on N NUMA nodes (policy best-effort and, above 8, its option max-allowable-numa-nodes, "
        "if nothing else is said)",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="a KubeletConfiguration; what it says about other things than devices, CPUs, memory, topology and "
        "reservations is named and passed over",
    )
    group = parser.add_argument_group("the kubelet's own flags, which win over the file")
    for flag in FLAGS:
        group.add_argument(flag, metavar="NAME")
    group.add_argument("--reserved-cpus", metavar="CPUS", help="for example 0-1")


def configured(options: argparse.Namespace) -> KubeletConfiguration:
    """The configuration of a command line; KubeletConfigurationError where a kubelet would not take it."""
    found = KubeletConfiguration(KubeletConfig())
    if options.config is not None:
        try:
            text = read_file(options.config)
        except (OSError, UnicodeDecodeError) as error:
            raise KubeletConfigurationError(
                f"--config: cannot be read: {_problem(options.config, error)}"
            ) from None
        found = load_kubelet_configuration(text, options.config)
    given: dict[str, Any] = {}
    for field in FLAGS.values():
        value = getattr(options, field)
        if value is not None:
            given[field] = value
    if options.reserved_cpus is not None:
        try:
            given["reserved_system_cpus"] = parse_cpus(options.reserved_cpus)
        except CPUSetError as error:
            raise KubeletConfigurationError(
                f"--reserved-cpus: expected CPUs and ranges of them, such as 0-3,8: {error}"
            ) from None
    config = replace(found.config, **given)
    if "topology_manager_policy" in given and given["topology_manager_policy"] == NONE:
        config = replace(config, numa=on_numa_nodes(config, options.numa).numa)
    else:
        config = on_numa_nodes(config, options.numa)
    try:
        remark = new_kubelet(Node("node"), "", config).topology.remark
    except ValueError as error:  # of the manager that does not start
        raise KubeletConfigurationError(f"the kubelet does not start: {error}") from None
    return replace(found, config=config, notes=(*found.notes, *filter(None, [remark])))


def _problem(path: str, error: OSError | UnicodeDecodeError) -> str:
    return reason(error) if isinstance(error, OSError) else f"{path} {reason(error)}"


def on_numa_nodes(config: KubeletConfig, numa: int) -> KubeletConfig:
    """The configuration on a machine with so many NUMA nodes, where devices are aligned; 0: as it is."""
    if not numa:
        return config
    policy = BEST_EFFORT if config.topology_manager_policy == NONE else config.topology_manager_policy
    options = config.topology_manager_policy_options
    if numa > MAX_WITHOUT_OPTION and OPTION not in dict(options):
        options = (*options, (OPTION, str(numa)))
    return replace(
        config,
        numa=NUMAInfo(tuple(range(numa))),
        topology_manager_policy=policy,
        topology_manager_policy_options=options,
    )
