"""A lab's scheduler: its configuration file, plugins of one's own, and what is said of pods that no profile is for."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from kubedev.api.manifests import Reader
from kubedev.api.objects import Pod
from kubedev.api.switches import CLAIMS_GATE
from kubedev.cluster import events as e
from kubedev.lab.applying import read_text
from kubedev.scheduler.configuration.loading import (
    CONFIGURATION,
    Configuration,
    configuration_reader,
    load_configuration,
)
from kubedev.scheduler.configuration.own_plugins import own_plugins
from kubedev.views.catalogue import say

__all__ = ["SchedulerConfig"]


class SchedulerConfig:
    """How the schedulers of a lab are configured: with Kubernetes' plugins, and with classes of the reader's own.

    `gates` are the feature gates that are on. Raises ValueError for a class that cannot be a plugin.
    """

    def __init__(self, classes: Sequence[type] = (), gates: Collection[str] = ()) -> None:
        self._registry = own_plugins(*classes)
        self._gates = gates

    @property
    def readers(self) -> dict[tuple[str, str], Reader]:
        """What reads a configuration that stands among manifests."""
        return {CONFIGURATION: configuration_reader(self._registry, self._gates)}

    def beginning(self, file: str | Path | None) -> list[e.Event]:
        """The events that configure a lab's scheduler at its start, from a path or YAML text.

        Without a file, plugins of one's own and those of a feature gate stand at all their points in the default
        profile. Raises ConfigurationError, and ManifestError for a file that cannot be read.
        """
        if file is not None:
            text, _ = read_text(file)
            return [configured(load_configuration(text, self._registry, self._gates))]
        if not (self._registry or CLAIMS_GATE in self._gates):
            return []
        enabled = [{"name": name} for name in self._registry]
        version, kind = CONFIGURATION
        profiles = [{"plugins": {"multiPoint": {"enabled": enabled}}}]
        document = {"apiVersion": version, "kind": kind, "profiles": profiles}
        return [configured(configuration_reader(self._registry, self._gates)(document))]


def configured(configuration: Configuration) -> e.SchedulerConfigured:
    """The event that starts the scheduler with a configuration."""
    return e.SchedulerConfigured(configuration.profiles, configuration.durations)


def unhandled(pods: Iterable[Pod], profiles: Sequence[str]) -> Iterator[str]:
    """What is said of pods whose schedulerName no profile has: nobody will ever look at them."""
    for pod in pods:
        if not pod.node_name and pod.scheduler_name not in profiles:
            known = ", ".join(profiles)
            yield say("scheduler.no-profile", pod=pod.name, name=pod.scheduler_name, known=known)
