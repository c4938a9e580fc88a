"""The fields of KubeSchedulerConfiguration v1 and of its plugins' arguments, with their Go types.

Go: `k8s.io/kube-scheduler/config/v1/types.go, types_pluginargs.go`, `k8s.io/component-base/config/v1alpha1/types.go`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["ARGS_KINDS", "FIELDS", "GROUP", "KIND", "VERSION", "Field", "written", "zero_of"]

GROUP = "kubescheduler.config.k8s.io"
VERSION = f"{GROUP}/v1"
KIND = "KubeSchedulerConfiguration"

TYPES = {
    KIND: "apiVersion:string kind:string parallelism:*int32 leaderElection:LeaderElectionConfiguration! "
    "clientConnection:ClientConnectionConfiguration! enableProfiling:*bool enableContentionProfiling:*bool "
    "percentageOfNodesToScore:*int32 podInitialBackoffSeconds:*int64 podMaxBackoffSeconds:*int64 "
    "profiles:[]KubeSchedulerProfile extenders:[]Extender delayCacheUntilActive:bool",
    "LeaderElectionConfiguration": "leaderElect:*bool leaseDuration:Duration! renewDeadline:Duration! "
    "retryPeriod:Duration! resourceLock:string! resourceName:string! resourceNamespace:string!",
    "ClientConnectionConfiguration": "kubeconfig:string! acceptContentTypes:string! contentType:string! "
    "qps:float32! burst:int32!",
    "KubeSchedulerProfile": "schedulerName:*string percentageOfNodesToScore:*int32 plugins:*Plugins "
    "pluginConfig:[]PluginConfig",
    "Plugins": " ".join(
        f"{point}:PluginSet!"
        for point in (
            *("preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score"),
            *("reserve", "permit", "preBind", "bind", "postBind", "multiPoint"),
        )
    ),
    "PluginSet": "enabled:[]Plugin disabled:[]Plugin",
    "Plugin": "name:string! weight:*int32",
    "PluginConfig": "name:string! args:any!",
    "Extender": "urlPrefix:string! filterVerb:string preemptVerb:string prioritizeVerb:string weight:int64 "
    "bindVerb:string enableHTTPS:bool tlsConfig:*ExtenderTLSConfig httpTimeout:Duration! nodeCacheCapable:bool "
    "managedResources:[]ExtenderManagedResource ignorable:bool",
    "ExtenderManagedResource": "name:string! ignoredByScheduler:bool",
    "ExtenderTLSConfig": "insecure:bool serverName:string certFile:string keyFile:string caFile:string "
    "certData:string keyData:string caData:string",
    "DefaultPreemptionArgs": "apiVersion:string kind:string minCandidateNodesPercentage:*int32 "
    "minCandidateNodesAbsolute:*int32",
    "InterPodAffinityArgs": "apiVersion:string kind:string hardPodAffinityWeight:*int32 "
    "ignorePreferredTermsOfExistingPods:bool!",
    "NodeAffinityArgs": "apiVersion:string kind:string addedAffinity:*NodeAffinity",
    "NodeResourcesBalancedAllocationArgs": "apiVersion:string kind:string resources:[]ResourceSpec",
    "NodeResourcesFitArgs": "apiVersion:string kind:string ignoredResources:[]string "
    "ignoredResourceGroups:[]string scoringStrategy:*ScoringStrategy",
    "PodTopologySpreadArgs": "apiVersion:string kind:string defaultConstraints:[]TopologySpreadConstraint "
    "defaultingType:string",
    "VolumeBindingArgs": "apiVersion:string kind:string bindTimeoutSeconds:*int64 shape:[]UtilizationShapePoint",
    "ScoringStrategy": "type:string resources:[]ResourceSpec "
    "requestedToCapacityRatio:*RequestedToCapacityRatioParam",
    "RequestedToCapacityRatioParam": "shape:[]UtilizationShapePoint",
    "ResourceSpec": "name:string! weight:int64",
    "UtilizationShapePoint": "utilization:int32! score:int32!",
    "NodeAffinity": "requiredDuringSchedulingIgnoredDuringExecution:*NodeSelector "
    "preferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm",
    "NodeSelector": "nodeSelectorTerms:[]NodeSelectorTerm!",
    "NodeSelectorTerm": "matchExpressions:[]Requirement matchFields:[]Requirement",
    "PreferredSchedulingTerm": "weight:int32! preference:NodeSelectorTerm!",
    "Requirement": "key:string! operator:string! values:[]string",
    "TopologySpreadConstraint": "maxSkew:int32! topologyKey:string! whenUnsatisfiable:string! "
    "labelSelector:*LabelSelector minDomains:*int32 nodeAffinityPolicy:*string nodeTaintsPolicy:*string "
    "matchLabelKeys:[]string",
    "LabelSelector": "matchLabels:any matchExpressions:[]Requirement",
}
"""A type's fields, each with its type: `[]` is a list, `any` whatever stands there.

An empty field is written only where its type ends with `!` (always) or begins with `*` (if it is there at all).
"""


class Field(NamedTuple):
    """A field's Go type, and when it is written although it is empty."""

    type: str
    always: bool
    pointer: bool


def _field(text: str) -> Field:
    return Field(text.strip("*!"), text.endswith("!"), text.startswith("*"))


FIELDS: Mapping[str, Mapping[str, Field]] = {
    name: {key: _field(text) for key, text in (field.split(":") for field in fields.split())}
    for name, fields in TYPES.items()
}

ARGS_KINDS = frozenset(name for name in TYPES if name.endswith("Args"))
"""The arguments that are known; those of other plugins are kept as they stand."""

ZEROS: Mapping[str, Any] = {
    "string": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "float32": 0.0,
    "Duration": "0s",
}


def zero_of(type_name: str) -> Any:
    """What stands in a field of a Go type that nothing was written to; None for lists and anything."""
    return {} if type_name in FIELDS else ZEROS.get(type_name)


def written(value: Any, type_name: str) -> Any:
    """A value of a type as Go writes it, without the empty fields that it leaves out."""
    if type_name.startswith("[]"):
        return value if value is None else [written(item, type_name[2:]) for item in value]
    if type_name not in FIELDS:
        return value
    shown = {}
    for name, field in FIELDS[type_name].items():
        found = value.get(name, zero_of(field.type))
        if field.always or (name in value and (field.pointer or found not in ("", 0, False, [], None))):
            shown[name] = written(found, field.type)
        if type_name == "PluginConfig" and name == "args" and f"{value.get('name')}Args" in ARGS_KINDS:
            shown[name] = written(found, f"{value['name']}Args")
    return shown
