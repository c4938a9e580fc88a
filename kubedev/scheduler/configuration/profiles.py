"""From a valid configuration to profiles: which plugins are asked where, in which order, with which weight.

Go: `pkg/scheduler/framework/runtime/framework.go: NewFramework, expandMultiPointPlugins`,
`pkg/scheduler/profile/profile.go: NewMap`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kubedev.api.gotext import quote
from kubedev.api.int64 import wrap_int64
from kubedev.scheduler.configuration.errors import ConfigurationError
from kubedev.scheduler.configuration.registry import Entry, Registry
from kubedev.scheduler.extension_points import EXTENSION_POINTS
from kubedev.scheduler.framework import Framework, Plugin
from kubedev.scheduler.scores import MAX_NODE_SCORE

__all__ = ["BUILD_ORDER", "METHOD_OF", "make_profiles"]

Values = Mapping[str, Any]

BUILD_ORDER = [
    "preFilter",
    "filter",
    "postFilter",
    "reserve",
    "preScore",
    "score",
    "preBind",
    "bind",
    "postBind",
    "permit",
    "preEnqueue",
    "queueSort",
]
"""The points in the order in which Go looks at them."""

MAX_TOTAL_SCORE = 2**63 - 1
METHOD_OF: Mapping[str, str] = {
    **{
        point.name[0].lower() + point.name[1:]: point.method
        for point in EXTENSION_POINTS
        if point.name != "NormalizeScore"
    },
    "queueSort": "queue_sort",
}
"""The method of a plugin that is called at a point."""


class BuildError(ValueError):
    """Why no profile can be made."""


def make_profiles(values: Values, registry: Registry) -> tuple[Framework, ...]:
    """The profiles of a configuration that is valid. Raises ConfigurationError."""
    profiles: list[Framework] = []
    for profile in values["profiles"]:
        try:
            profiles.append(make_profile(profile, values["percentageOfNodesToScore"], registry))
        except BuildError as error:
            where = f"initializing profiles: creating profile for scheduler name {profile['schedulerName']}"
            raise ConfigurationError("build", (f"{where}: {error}",)) from None
    return tuple(profiles)


def make_profile(profile: Values, percentage: int, registry: Registry) -> Framework:
    """One profile as a framework. Raises BuildError with Kubernetes' text."""
    sets = profile["plugins"]
    args = {config["name"]: config["args"] for config in profile.get("pluginConfig", ())}
    needed = [one["name"] for plugin_set in sets.values() for one in plugin_set.get("enabled", ())]
    multi_point = [one["name"] for one in sets["multiPoint"].get("enabled", ())]
    made: dict[str, Plugin] = {}
    for name in dict.fromkeys((*multi_point, *needed)):
        if name in registry:
            made[name] = make_plugin(name, registry[name], args.get(name))
    names = {point: named_at(point, sets[point], made, registry) for point in BUILD_ORDER}
    for point in BUILD_ORDER if multi_point else ():
        names[point] = expanded(point, sets[point], multi_point, registry)
    scheduler = quote(profile["schedulerName"])
    if len(names["queueSort"]) != 1:
        wanted = "only one queue sort plugin required for profile with scheduler name"
        raise BuildError(f"{wanted} {scheduler}, but got {len(names['queueSort'])}")
    if not names["bind"]:
        raise BuildError(f"at least one bind plugin is needed for profile with scheduler name {scheduler}")
    own = profile.get("percentageOfNodesToScore")
    return Framework(
        tuple(made.values()),
        score_weights(sets, registry),
        percentage if own is None else own,
        profile["schedulerName"],
        {METHOD_OF[point]: tuple(names[point]) for point in BUILD_ORDER},
    )


def make_plugin(name: str, entry: Entry, args: Any) -> Plugin:
    """A plugin with its arguments."""
    try:
        return entry.make(args)
    except ValueError as error:
        raise BuildError(f"initializing plugin {quote(name)}: {error}") from None


def type_of(point: str) -> str:
    """The Go interface of a point: FilterPlugin."""
    return f"{point[0].upper()}{point[1:]}Plugin"


def named_at(point: str, plugins: Values, made: Mapping[str, Plugin], registry: Registry) -> list[str]:
    """The plugins that are named at a point itself. Go: `updatePluginList`."""
    found: list[str] = []
    for one in plugins.get("enabled", ()):
        name = one["name"]
        if name not in made:
            raise BuildError(f"{type_of(point)} {quote(name)} does not exist")
        if point not in registry[name].points:
            raise BuildError(f"plugin {quote(name)} does not extend {type_of(point)} plugin")
        if name in found:
            raise BuildError(f"plugin {quote(name)} already registered as {quote(type_of(point))}")
        found.append(name)
    return found


def expanded(point: str, plugins: Values, multi_point: Sequence[str], registry: Registry) -> list[str]:
    """With the plugins of multiPoint: first those named in both places, then its own, then the others.

    Go: `expandMultiPointPlugins`.
    """
    named = [one["name"] for one in plugins.get("enabled", ())]
    disabled = {one["name"] for one in plugins.get("disabled", ())}
    if "*" in disabled:
        return named
    own: list[str] = []
    for name in multi_point:
        if name not in registry:
            raise BuildError(f"{type_of(point)} {quote(name)} does not exist")
        if point not in registry[name].points or name in disabled or name in named:
            continue
        if name in own:
            raise BuildError(f"plugin {quote(name)} already registered as {quote(type_of(point))}")
        own.append(name)
    # A plugin that is disabled here does not override what multiPoint says of it.
    overriding = {name for name in multi_point if name not in disabled}
    return [
        *(name for name in named if name in overriding),
        *own,
        *(name for name in named if name not in overriding),
    ]


def score_weights(sets: Values, registry: Registry) -> dict[str, int]:
    """The weight of every plugin that can score: at its point, or else at multiPoint; 0 is 1.

    Go: `getScoreWeights`, whose sum is an int64: a negative weight makes it overflow.
    """
    weights: dict[str, int] = {}
    total = 0
    for one in (*sets["score"].get("enabled", ()), *sets["multiPoint"].get("enabled", ())):
        name = one["name"]
        if name not in registry or "score" not in registry[name].points or name in weights:
            continue
        weights[name] = one["weight"] or 1
        if wrap_int64(weights[name] * MAX_NODE_SCORE) > wrap_int64(MAX_TOTAL_SCORE - total):
            raise BuildError("total score of Score plugins could overflow")
        total = wrap_int64(total + weights[name] * MAX_NODE_SCORE)
    return weights
