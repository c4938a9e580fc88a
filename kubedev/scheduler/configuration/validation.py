"""What kube-scheduler refuses in a configuration, in its words and its order.

Go: `pkg/scheduler/apis/config/validation/validation.go`, `k8s.io/component-base/config/validation`.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from kubedev.api.gonumbers import parse_duration
from kubedev.api.gotext import quote
from kubedev.api.names import is_extended_resource_name, qualified_name_problems
from kubedev.api.problems import duplicate, invalid, required
from kubedev.scheduler.configuration.defaults import POINTS
from kubedev.scheduler.configuration.plugin_args import validate_args
from kubedev.scheduler.configuration.schema import VERSION

__all__ = ["ADDRESS", "validate"]

Values = dict[str, Any]

REMOVED = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
ADDRESS = "0xADDRESS"
"""Stands for the address that Go prints where it prints a pointer."""

QUEUE_SORT_DIFFERS = "queueSort must be the same for all profiles"


def validate(values: Values) -> tuple[str, ...]:
    """Everything that is wrong, empty if nothing is. `values` have their defaults.

    Go: `ValidateKubeSchedulerConfiguration`.
    """
    return tuple(str(problem) for problem in problems_of(values))


def problems_of(values: Values) -> Iterator[Any]:
    """The problems in Go's order, each a Problem or a text."""
    if values["clientConnection"].get("burst", 0) < 0:
        yield invalid("clientConnection.burst", values["clientConnection"]["burst"], "must be non-negative")
    yield from leader_election(values["leaderElection"])
    if values["parallelism"] <= 0:
        yield invalid("parallelism", values["parallelism"], "should be an integer value greater than zero")
    profiles = values["profiles"]
    first_of: dict[str, int] = {}
    for i, profile in enumerate(profiles):
        path, name = f"profiles[{i}]", profile.get("schedulerName", "")
        yield from validate_profile(path, profile)
        if name in first_of:
            # Go prints the path of the first one as the struct that it is.
            where = f'field.Path{{name:"schedulerName", index:"", parent:(*field.Path)({ADDRESS})}}'
            yield f"{path}.schedulerName: Duplicate value: {where}"
        first_of[name] = i
    yield from common_queue_sort(profiles)
    yield from percentage("percentageOfNodesToScore", values["percentageOfNodesToScore"])
    initial, most = values["podInitialBackoffSeconds"], values["podMaxBackoffSeconds"]
    if initial <= 0:
        yield invalid("podInitialBackoffSeconds", initial, "must be greater than 0")
    if most < initial:
        detail = "must be greater than or equal to PodInitialBackoffSeconds"
        yield invalid("podMaxBackoffSeconds", most, detail)
    yield from extenders(values.get("extenders", ()))


def leader_election(election: Values) -> Iterator[Any]:
    """Go: `ValidateLeaderElectionConfiguration`."""
    if not election["leaderElect"]:
        return
    for name in ("leaseDuration", "renewDeadline", "retryPeriod"):
        if parse_duration(election[name]) <= 0:
            yield f"leaderElection.{name}: Invalid value: {election[name]}: must be greater than zero"
    if parse_duration(election["leaseDuration"]) <= parse_duration(election["renewDeadline"]):
        detail = "LeaseDuration must be greater than RenewDeadline"
        yield f"leaderElection.leaseDuration: Invalid value: {election['renewDeadline']}: {detail}"
    if election["resourceLock"] != "leases":
        yield invalid(
            "leaderElection.resourceLock", election["resourceLock"], 'resourceLock value must be "leases"'
        )


def percentage(path: str, value: int | None) -> Iterator[Any]:
    """Go: `validatePercentageOfNodesToScore`."""
    if value is not None and not 0 <= value <= 100:
        yield invalid(path, value, "not in valid range [0-100]")


def validate_profile(path: str, profile: Values) -> Iterator[Any]:
    """Go: `validateKubeSchedulerProfile, validatePluginConfig`; the points in the order of their fields."""
    if not profile.get("schedulerName"):
        yield required(f"{path}.schedulerName")
    yield from percentage(f"{path}.percentageOfNodesToScore", profile.get("percentageOfNodesToScore"))
    for point in POINTS:
        for i, one in enumerate(profile["plugins"][point].get("enabled", ())):
            if one["name"] in REMOVED:
                yield removed(f"{path}.plugins.{point}.enabled[{i}]", one["name"])
    seen = set()
    for i, config in enumerate(profile.get("pluginConfig", ())):
        at, name = f"{path}.pluginConfig[{i}]", config["name"]
        if name in seen:
            yield duplicate(at, name)
        seen.add(name)
        if name in REMOVED:
            yield removed(at, name)
        elif name != "NodeResourcesFit":
            # Go looks these up under another name, so that they are checked only when the plugin is made.
            yield from validate_args(name, config["args"], f"{at}.args")


def removed(path: str, name: str) -> Any:
    """A plugin that is no more. The version is Go's: that of the core API, by mistake."""
    return invalid(
        path, name, f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{VERSION}")'
    )


def common_queue_sort(profiles: Sequence[Values]) -> Iterator[Any]:
    """One queue, one order: the profiles have to agree. Go: `validateCommonQueueSort`."""
    canon = profiles[0]["plugins"]["queueSort"]
    enabled = canon.get("enabled", [])
    if len(enabled) > 1:
        path = "profiles[0].plugins.queueSort.Enabled"
        yield invalid(path, len(enabled), "only one queue sort plugin can be enabled")
    name = enabled[0]["name"] if enabled else ""
    args = args_of(profiles[0], name) if name else None
    for i, profile in enumerate(profiles[1:], 1):
        current = profile["plugins"]["queueSort"]
        if current != canon:
            shown = f"Invalid value: {go_plugin_set(current)}: {QUEUE_SORT_DIFFERS}"
            yield f"profiles[{i}].plugins.queueSort: {shown}"
        for config in profile.get("pluginConfig", ()):
            if config["name"] == name and config["args"] != args:
                shown = f"Invalid value: {go_unknown(config['args'])}: {QUEUE_SORT_DIFFERS}"
                yield f"profiles[{i}].pluginConfig.args: {shown}"


def args_of(profile: Values, name: str) -> Any:
    """The last arguments of a plugin, None where there are none."""
    found = [config["args"] for config in profile.get("pluginConfig", ()) if config["name"] == name]
    return found[-1] if found else None


def go_plugin_set(plugins: Values) -> str:
    """A PluginSet as Go's %#v prints it."""

    def listed(key: str) -> str:
        if key not in plugins:
            return "[]config.Plugin(nil)"
        items = (
            f"config.Plugin{{Name:{quote(one['name'])}, Weight:{one['weight']}}}" for one in plugins[key]
        )
        return f"[]config.Plugin{{{', '.join(items)}}}"

    return f"config.PluginSet{{Enabled:{listed('enabled')}, Disabled:{listed('disabled')}}}"


def go_unknown(args: Any) -> str:
    """Arguments of a plugin that nobody knows, as Go's %#v prints them: bytes of JSON."""
    if args is None:
        return "null"
    raw = json.dumps(args, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    data = ", ".join(f"{byte:#x}" for byte in raw)
    return (
        'runtime.Unknown{TypeMeta:runtime.TypeMeta{APIVersion:"", Kind:""}, '
        f'Raw:[]uint8{{{data}}}, ContentEncoding:"", ContentType:"application/json"}}'
    )


def extenders(given: Sequence[Values]) -> Iterator[Any]:
    """Go: `validateExtenders`. kubedev asks no extender; a file that has some is checked all the same."""
    binders, managed = 0, set()
    for i, extender in enumerate(given):
        path = f"extenders[{i}]"
        if extender.get("prioritizeVerb") and extender.get("weight", 0) <= 0:
            weight = extender.get("weight", 0)
            yield invalid(f"{path}.weight", weight, "must have a positive weight applied to it")
        binders += bool(extender.get("bindVerb"))
        for j, resource in enumerate(extender.get("managedResources", ())):
            at, name = f"{path}.managedResources[{j}].name", resource.get("name", "")
            faults = qualified_name_problems(name)
            yield from (f"{at}: Invalid value: {name}: {fault}" for fault in faults)
            if not faults and not is_extended_resource_name(name):
                yield invalid(at, name, "is an invalid extended resource name")
            if name in managed:
                yield invalid(at, name, "duplicate extender managed resource name")
            managed.add(name)
    if binders > 1:
        found = f"found {binders} extenders implementing bind"
        yield invalid("extenders", found, "only one extender can implement bind")
