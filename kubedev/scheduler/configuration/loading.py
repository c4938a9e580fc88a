"""A configuration file, loaded as kube-scheduler loads it.

    configuration = load_configuration(Path("scheduler.yaml").read_text())
    configuration.profiles[0].at("filter")

Go: `cmd/kube-scheduler/app/server.go: Setup`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kubedev.scheduler.configuration.decoding import decode
from kubedev.scheduler.configuration.defaults import with_defaults
from kubedev.scheduler.configuration.errors import ConfigurationError
from kubedev.scheduler.configuration.profiles import make_profiles
from kubedev.scheduler.configuration.registry import IN_TREE, Registry
from kubedev.scheduler.configuration.schema import KIND, written
from kubedev.scheduler.configuration.validation import validate
from kubedev.scheduler.framework import Framework

__all__ = ["Configuration", "load_configuration"]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A configuration that kube-scheduler would start with.

    `values` is the file with its defaults, in v1 form; the back-offs are in seconds.
    """

    values: Mapping[str, Any] = field(repr=False)
    profiles: tuple[Framework, ...] = ()

    @property
    def pod_initial_backoff_seconds(self) -> float:
        """How long a pod waits after its first attempt."""
        return float(self.values["podInitialBackoffSeconds"])

    @property
    def pod_max_backoff_seconds(self) -> float:
        """How long a pod waits at most."""
        return float(self.values["podMaxBackoffSeconds"])


def load_configuration(text: str, out_of_tree: Registry | None = None) -> Configuration:
    """Read, default, validate and build. `out_of_tree` are plugins besides Kubernetes' own.

    Raises ConfigurationError: what kube-scheduler would refuse at its start, in its words.
    """
    values = with_defaults(decode(text))
    if problems := validate(values):
        raise ConfigurationError("validate", problems)
    shown = written(values, KIND)
    return Configuration(shown, make_profiles(values, {**IN_TREE, **(out_of_tree or {})}))
