"""A lab's kubelets: the KubeletConfiguration that they start with, from a file or from what is pasted."""

from pathlib import Path

from kubedev.api.manifests import Reader
from kubedev.cluster import events as e
from kubedev.cluster.state import ClusterState
from kubedev.kubelet.config import KubeletConfig
from kubedev.kubelet.kubelet_configuration import (
    CONFIGURATION,
    KubeletConfiguration,
    kubelet_configuration_reader,
    load_kubelet_configuration,
)
from kubedev.kubelet.node_status import restart
from kubedev.lab.applying import read_text

__all__ = ["kubelet_config", "kubelet_readers", "restarted"]


def kubelet_config(config: KubeletConfig | str | Path | None) -> KubeletConfiguration:
    """A configuration as it is, or from a path or YAML text with notes on what counts for nothing.

    Raises KubeletConfigurationError, and ManifestError for a file that cannot be read.
    """
    if isinstance(config, str | Path):
        text, source = read_text(config)
        return load_kubelet_configuration(text, source)
    return KubeletConfiguration(config or KubeletConfig())


def kubelet_readers(machine: KubeletConfig) -> dict[tuple[str, str], Reader]:
    """What reads a configuration that stands among manifests, for kubelets of this machine."""
    return {CONFIGURATION: kubelet_configuration_reader(machine)}


def restarted(state: ClusterState, config: KubeletConfig) -> list[e.KubeletStopped]:
    """The events that restart all kubelets with a configuration; ValueError where one would not start, in its words."""
    for agent in state.kubelets.values():
        restart(agent, None, False, state.now, config)
    return [e.KubeletStopped(node, False, config) for node in state.kubelets]
