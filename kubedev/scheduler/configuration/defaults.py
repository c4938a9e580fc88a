"""What a configuration has that says nothing about it.

Go: `pkg/scheduler/apis/config/v1/defaults.go, default_plugins.go`.
"""

from collections.abc import Collection, Iterator
from typing import Any

from kubedev.api.names import CPU, MEMORY
from kubedev.api.objects import DEFAULT_SCHEDULER
from kubedev.api.switches import CLAIMS_GATE
from kubedev.scheduler.configuration.schema import ARGS_KINDS, FIELDS, VERSION, zero_of

__all__ = ["DEFAULT_MULTI_POINT", "POINTS", "with_defaults"]

Values = dict[str, Any]

DEFAULT_MULTI_POINT = (
    ("SchedulingGates", 0),
    ("PrioritySort", 0),
    ("NodeUnschedulable", 0),
    ("NodeName", 0),
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodePorts", 0),
    ("NodeResourcesFit", 1),
    ("VolumeRestrictions", 0),
    ("NodeVolumeLimits", 0),
    ("VolumeBinding", 0),
    ("VolumeZone", 0),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DefaultPreemption", 0),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
    ("DefaultBinder", 0),
)
"""The default plugins with their weights, in their order; those without a weight do not score, or count 1."""

POINTS = tuple(point for point in FIELDS["Plugins"] if point != "multiPoint")
"""The extension points that a configuration can name."""

TOP = {
    "parallelism": 16,
    "percentageOfNodesToScore": 0,
    "podInitialBackoffSeconds": 1,
    "podMaxBackoffSeconds": 10,
    "enableProfiling": True,
}
CLIENT_CONNECTION: Values = {"contentType": "application/vnd.kubernetes.protobuf", "qps": 50.0, "burst": 100}
LEADER_ELECTION: Values = {
    "leaseDuration": "15s",
    "renewDeadline": "10s",
    "retryPeriod": "2s",
    "resourceLock": "leases",
    "resourceName": "kube-scheduler",
    "resourceNamespace": "kube-system",
}


def with_defaults(decoded: Values, gates: Collection[str] = ()) -> Values:
    """The configuration as kube-scheduler takes it, every default filled in; null and empty are not the same.

    `gates` are feature gates that are on beyond v1.32's own. Go: `SetDefaults_KubeSchedulerConfiguration`.
    """
    values = {**TOP, **decoded}
    values.setdefault("enableContentionProfiling", values["enableProfiling"])
    profiles = values.get("profiles") or [{}]
    # Several profiles need names of their own.
    name = DEFAULT_SCHEDULER if len(profiles) == 1 else ""
    profiles = [{"schedulerName": name, **profile} for profile in profiles]
    values["profiles"] = [profile_with_defaults(profile, gates) for profile in profiles]
    values["clientConnection"] = filled(CLIENT_CONNECTION, decoded["clientConnection"])
    values["leaderElection"] = {"leaderElect": True, **filled(LEADER_ELECTION, decoded["leaderElection"])}
    return values


def filled(defaults: Values, given: Values) -> Values:
    """What is given, with defaults in the place of what is empty."""
    return {
        **given,
        **{key: value for key, value in defaults.items() if given.get(key) in (None, "", 0, "0s")},
    }


def profile_with_defaults(profile: Values, gates: Collection[str] = ()) -> Values:
    """A profile with its plugins merged into the default ones, and the arguments of those that take any.

    Go: `setDefaults_KubeSchedulerProfile`.
    """
    custom = profile.get("plugins", {})
    plugins = {point: merge_plugin_set([], custom.get(point, {})) for point in POINTS}
    default = [{"name": name, "weight": weight} for name, weight in default_multi_point(gates)]
    plugins["multiPoint"] = merge_plugin_set(default, custom.get("multiPoint", {}))
    configs = [
        {**config, "args": default_args(config["name"], config["args"])}
        for config in profile.get("pluginConfig") or ()
    ]
    there = {config["name"] for config in configs}
    for name in sorted(names_of(plugins) - there):
        if f"{name}Args" in ARGS_KINDS:
            configs.append({"name": name, "args": default_args(name, empty_args(name))})
    return {**profile, "plugins": plugins, "pluginConfig": configs}


def default_multi_point(gates: Collection[str]) -> Iterator[tuple[str, int]]:
    """The default plugins, with those of feature gates. Go: `applyFeatureGates`.

    A claim that nobody uses is rather given back than a pod evicted, so that DynamicResources comes first.
    """
    for name, weight in DEFAULT_MULTI_POINT:
        if name == "DefaultPreemption" and CLAIMS_GATE in gates:
            yield "DynamicResources", 0
        yield name, weight


def empty_args(name: str) -> Values:
    """The arguments of a plugin that is given none."""
    fields = FIELDS[f"{name}Args"].items()
    empty = {key: zero_of(field.type) for key, field in fields if field.always}
    return {**empty, "apiVersion": VERSION, "kind": f"{name}Args"}


def merge_plugin_set(default: list[Values], custom: Values) -> Values:
    """A point's plugins: the default ones without those disabled, each in its place, then the other ones.

    Go: `mergePluginSet`.
    """
    disabled = [{"name": one["name"], "weight": 0} for one in custom.get("disabled") or ()]
    gone = {one["name"] for one in disabled}
    mine = [{"weight": 0, **one} for one in custom.get("enabled") or ()]
    # Of several of the same name, the last one replaces the default.
    index = {one["name"]: i for i, one in enumerate(mine)}
    enabled: list[Values] = []
    replaced = set()
    for one in [] if "*" in gone else default:
        if one["name"] in gone:
            continue
        at = index.get(one["name"])
        enabled.append(one if at is None else mine[at])
        replaced.add(at)
    enabled += [one for i, one in enumerate(mine) if i not in replaced]
    return {key: value for key, value in (("enabled", enabled), ("disabled", disabled)) if value}


def names_of(plugins: Values) -> set[str]:
    """The plugins that are enabled anywhere."""
    return {one["name"] for point in plugins.values() for one in point.get("enabled", ())}


def default_args(name: str, args: Any) -> Any:
    """A plugin's arguments with their defaults; those of plugins that are not known stay as they are.

    Go: `SetDefaults_...Args`.
    """
    match name:
        case "DefaultPreemption":
            return {"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 100, **args}
        case "InterPodAffinity":
            return {"hardPodAffinityWeight": 1, **args}
        case "VolumeBinding":
            return {"bindTimeoutSeconds": 600, **args}
        case "NodeResourcesBalancedAllocation":
            return {**args, "resources": default_resources(args.get("resources"))}
        case "NodeResourcesFit":
            strategy = args.get("scoringStrategy", {"type": "LeastAllocated"})
            resources = default_resources(strategy.get("resources"))
            return {**args, "scoringStrategy": {**strategy, "resources": resources}}
        case "PodTopologySpread":
            return {**args, "defaultingType": args.get("defaultingType") or "System"}
    return args


def default_resources(resources: list[Values] | None) -> list[Values]:
    """Resources with a weight each: cpu and memory where there are none; 0 is taken for none given."""
    given = resources or [{"name": CPU}, {"name": MEMORY}]
    return [{**one, "weight": one.get("weight") or 1} for one in given]
