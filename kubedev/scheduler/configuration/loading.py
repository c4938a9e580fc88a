"""A configuration file, loaded as kube-scheduler loads it.

    configuration = load_configuration(Path("scheduler.yaml").read_text())
    configuration.profiles[0].at("filter")

Go: `cmd/kube-scheduler/app/server.go: Setup`.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubedev.scheduler.configuration.decoding import decode, decode_document
from kubedev.scheduler.configuration.defaults import with_defaults
from kubedev.scheduler.configuration.errors import ConfigurationError
from kubedev.scheduler.configuration.profiles import make_profiles
from kubedev.scheduler.configuration.registry import Registry, in_tree
from kubedev.scheduler.configuration.schema import KIND, VERSION, written
from kubedev.scheduler.configuration.validation import validate
from kubedev.scheduler.framework import Framework
from kubedev.scheduler.queue.queue_state import Durations

__all__ = ["CONFIGURATION", "Configuration", "configuration_reader", "load_configuration"]

CONFIGURATION = (VERSION, KIND)
"""apiVersion and kind of such a file."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """A configuration that kube-scheduler would start with.

    `values` is the file with its defaults, in v1 form.
    """

    values: Mapping[str, Any] = field(repr=False)
    profiles: tuple[Framework, ...] = ()

    @property
    def durations(self) -> Durations:
        """How long pods wait in the queue."""
        initial, longest = self.values["podInitialBackoffSeconds"], self.values["podMaxBackoffSeconds"]
        return Durations(initial, longest)


def load_configuration(
    text: str, out_of_tree: Registry | None = None, gates: Collection[str] = ()
) -> Configuration:
    """Read, default, validate and build. `out_of_tree` are plugins besides Kubernetes' own, `gates` the feature gates
    that are on beyond v1.32's own.

    Raises ConfigurationError: what kube-scheduler would refuse at its start, in its words.
    """
    return _configuration(decode(text), out_of_tree, gates)


def configuration_reader(
    out_of_tree: Registry | None = None, gates: Collection[str] = ()
) -> Callable[[Mapping[str, Any]], Configuration]:
    """What reads a configuration that stands among other documents, for `kubedev.api.manifests.load`."""
    return lambda document: _configuration(decode_document(document), out_of_tree, gates)


def _configuration(
    decoded: dict[str, Any], out_of_tree: Registry | None, gates: Collection[str]
) -> Configuration:
    values = with_defaults(decoded, gates)
    if problems := validate(values):
        raise ConfigurationError("validate", problems)
    profiles = make_profiles(values, {**in_tree(gates), **(out_of_tree or {})})
    return Configuration(written(values, KIND), profiles)
