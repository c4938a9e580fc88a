"""The file that sets up a kubelet: KubeletConfiguration, kubelet.config.k8s.io/v1beta1, as a KubeletConfig and back.

What this kubelet has no use for is named, and otherwise passed over. What a real one would refuse at its start is an
error, in its words where it has some.

Source: `k8s.io/kubelet/config/v1beta1/types.go`, `pkg/kubelet/apis/config/v1beta1/defaults.go`,
`pkg/kubelet/apis/config/validation`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any

from kubedev.api.fields import FieldError, Fields, expected
from kubedev.api.gonumbers import NumberError, format_duration, parse_duration
from kubedev.api.gotext import quote
from kubedev.api.names import MEMORY, is_huge_page_resource_name
from kubedev.api.yaml_reader import YAMLError, documents
from kubedev.kubelet.config import KubeletConfig, Texts
from kubedev.kubelet.cpu.cpuset import CPUSet, CPUSetError, format_cpus, parse_cpus
from kubedev.kubelet.memory.memory_policy import MemoryReservation
from kubedev.kubelet.pressure.settings import SettingsError, parse_reservation, parse_threshold_config
from kubedev.kubelet.topology.policy_options import (
    PolicyOptionError,
    StaticPolicyOptions,
    TopologyPolicyOptions,
)
from kubedev.kubelet.topology.topology import BEST_EFFORT, NONE, RESTRICTED, SINGLE_NUMA_NODE

__all__ = [
    "CONFIGURATION",
    "KubeletConfiguration",
    "KubeletConfigurationError",
    "document_of",
    "kubelet_configuration_reader",
    "load_kubelet_configuration",
]

CONFIGURATION = ("kubelet.config.k8s.io/v1beta1", "KubeletConfiguration")
"""apiVersion and kind of such a file."""


class KubeletConfigurationError(ValueError):
    """A file with which no kubelet starts: which field, what came, and what to do."""


@dataclass(frozen=True, slots=True)
class KubeletConfiguration:
    """What a file says: the configuration, and what of it counts for nothing here."""

    config: KubeletConfig
    notes: tuple[str, ...] = ()


def load_kubelet_configuration(
    text: str, source: str = "kubelet.yaml", machine: KubeletConfig | None = None
) -> KubeletConfiguration:
    """Read a file's text; the machine and the switches are those of `machine`. KubeletConfigurationError says what is
    wrong; only the first document counts, as for a kubelet.
    """
    try:
        document = next(iter(documents(text)), None)
        if document is None:
            raise KubeletConfigurationError(
                f"{source}: expected {' '.join(CONFIGURATION)}, got an empty file: write apiVersion and kind at its top"
            )
        return read(document.value, machine or KubeletConfig())
    except YAMLError as error:
        raise KubeletConfigurationError(f"{source}: error converting YAML to JSON: yaml: {error}") from None
    except FieldError as error:
        raise KubeletConfigurationError(f"{source}: {error}") from None


def kubelet_configuration_reader(
    machine: KubeletConfig | None = None,
) -> Callable[[Mapping[str, Any]], KubeletConfiguration]:
    """What reads a configuration that stands among other documents, for `kubedev.api.manifests.load`."""
    return lambda values: read(values, machine or KubeletConfig())


def read(values: Any, machine: KubeletConfig) -> KubeletConfiguration:
    """The configuration of a document, or FieldError."""
    given = Fields.of(values)
    header = given.text("apiVersion"), given.text("kind")
    if header != CONFIGURATION:
        raise FieldError("apiVersion, kind", expected(" ".join(CONFIGURATION), " ".join(header)))
    config = replace(machine, **{field: reader(given, name) for name, (field, reader) in FIELDS.items()})
    _check(given, config)
    return KubeletConfiguration(config, tuple(_notes(given)))


# The fields, one by one


FIVE_MINUTES = 300 * 10**9  # in nanoseconds


def _text(default: str) -> Callable[[Fields, str], str]:
    return lambda given, name: given.text(name, default)


def _integer(given: Fields, name: str) -> int:
    return given.integer(name)


def _duration(given: Fields, name: str) -> str:
    """A duration as Go prints it; none and 0 are the kubelet's five minutes."""
    text = given.text(name)
    try:
        nanoseconds = parse_duration(text) if text else 0
    except NumberError as error:
        raise FieldError(name, f"{error}: write a duration such as 30s or 5m") from None
    return format_duration(nanoseconds or FIVE_MINUTES)


def _texts(given: Fields, name: str) -> Texts:
    return tuple(sorted(given.text_map(name).items()))


def _optional_texts(given: Fields, name: str) -> Texts | None:
    return _texts(given, name) if given.has(name) else None


def _cpus(given: Fields, name: str) -> CPUSet:
    text = given.text(name)
    try:
        return parse_cpus(text)
    except CPUSetError as error:
        problem = f"unable to parse reservedSystemCPUs (--reserved-cpus) {text}, error: {error}"
        raise FieldError(name, f"{problem}: write CPUs and ranges of them, such as 0-3,8") from None


def _gates(given: Fields, name: str) -> tuple[tuple[str, bool], ...]:
    child = given.child(name)
    return tuple((gate, child.boolean(gate)) for gate in sorted(child.values))


def _reservations(given: Fields, name: str) -> tuple[MemoryReservation, ...]:
    return tuple(
        MemoryReservation(each.integer("numaNode"), each.quantities("limits"))
        for each in given.children(name)
    )


# The field in the file: the field of KubeletConfig, and how it is read.
FIELDS: Mapping[str, tuple[str, Callable[[Fields, str], Any]]] = {
    "topologyManagerPolicy": ("topology_manager_policy", _text("none")),
    "topologyManagerScope": ("topology_manager_scope", _text("container")),
    "topologyManagerPolicyOptions": ("topology_manager_policy_options", _texts),
    "cpuManagerPolicy": ("cpu_manager_policy", _text("none")),
    "cpuManagerPolicyOptions": ("cpu_manager_policy_options", _texts),
    "kubeReserved": ("kube_reserved", _texts),
    "systemReserved": ("system_reserved", _texts),
    "reservedSystemCPUs": ("reserved_system_cpus", _cpus),
    "memoryManagerPolicy": ("memory_manager_policy", _text("None")),
    "reservedMemory": ("reserved_memory", _reservations),
    "evictionHard": ("eviction_hard", _optional_texts),
    "evictionSoft": ("eviction_soft", _texts),
    "evictionSoftGracePeriod": ("eviction_soft_grace_period", _texts),
    "evictionMinimumReclaim": ("eviction_minimum_reclaim", _texts),
    "evictionPressureTransitionPeriod": ("eviction_pressure_transition_period", _duration),
    "evictionMaxPodGracePeriod": ("eviction_max_pod_grace_period", _integer),
    "featureGates": ("feature_gates", _gates),
}

# The feature gates that this kubelet asks.
GATES = frozenset(
    {
        "CPUManagerPolicyAlphaOptions",
        "CPUManagerPolicyBetaOptions",
        "DynamicResourceAllocation",
        "KubeletPodResourcesGet",
        "ResourceHealthStatus",
        "SidecarContainers",
        "TopologyManagerPolicyBetaOptions",
    }
)

# A real kubelet honours these too.
_OTHERS = """
enableServer staticPodPath podLogsDir syncFrequency fileCheckFrequency httpCheckFrequency staticPodURL
staticPodURLHeader address port readOnlyPort tlsCertFile tlsPrivateKeyFile tlsCipherSuites tlsMinVersion
rotateCertificates serverTLSBootstrap authentication authorization registryPullQPS registryBurst
eventRecordQPS eventBurst enableDebuggingHandlers enableContentionProfiling healthzPort healthzBindAddress
oomScoreAdj clusterDomain clusterDNS streamingConnectionIdleTimeout nodeStatusUpdateFrequency
nodeStatusReportFrequency nodeLeaseDurationSeconds imageMinimumGCAge imageMaximumGCAge
imageGCHighThresholdPercent imageGCLowThresholdPercent volumeStatsAggPeriod kubeletCgroups systemCgroups
cgroupRoot cgroupsPerQOS cgroupDriver singleProcessOOMKill cpuManagerReconcilePeriod qosReserved
runtimeRequestTimeout hairpinMode maxPods podCIDR podPidsLimit resolvConf runOnce cpuCFSQuota
cpuCFSQuotaPeriod nodeStatusMaxImages maxOpenFiles contentType kubeAPIQPS kubeAPIBurst serializeImagePulls
maxParallelImagePulls podsPerCore enableControllerAttachDetach protectKernelDefaults makeIPTablesUtilChains
iptablesMasqueradeBit iptablesDropBit failSwapOn memorySwap containerLogMaxSize containerLogMaxFiles
containerLogMaxWorkers containerLogMonitorInterval configMapAndSecretChangeDetectionStrategy
showHiddenMetricsForVersion systemReservedCgroup kubeReservedCgroup enforceNodeAllocatable
allowedUnsafeSysctls volumePluginDir providerID kernelMemcgNotification logging enableSystemLogHandler
enableSystemLogQuery shutdownGracePeriod shutdownGracePeriodCriticalPods shutdownGracePeriodByPodPriority
crashLoopBackOff enableProfilingHandler enableDebugFlagsHandler seccompDefault memoryThrottlingFactor
registerWithTaints registerNode tracing localStorageCapacityIsolation containerRuntimeEndpoint
imageServiceEndpoint failCgroupV1
"""
OTHERS = frozenset(_OTHERS.split())


# Checks


POLICIES = {
    "topologyManagerPolicy": ("policy", (NONE, BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE)),
    "topologyManagerScope": ("scope", ("container", "pod")),
    "cpuManagerPolicy": ("policy", ("none", "static")),
    "memoryManagerPolicy": ("policy", ("None", "Static")),
}


def _check(given: Fields, config: KubeletConfig) -> None:
    """What a kubelet would say of the values at its start, on any machine."""
    for name, (what, known) in POLICIES.items():
        value = getattr(config, FIELDS[name][0])
        if value not in known:
            raise FieldError(name, f"unknown {what}: {quote(value)}: write one of {', '.join(known)}")
    gates = dict(config.feature_gates)
    if config.topology_manager_policy != NONE:
        options = dict(config.topology_manager_policy_options)
        _try("topologyManagerPolicyOptions", lambda: TopologyPolicyOptions.parse(options, gates))
    if config.cpu_manager_policy == "static":
        static_options = dict(config.cpu_manager_policy_options)
        _try("cpuManagerPolicyOptions", lambda: StaticPolicyOptions.parse(static_options, gates))
    _try("kubeReserved", lambda: parse_reservation("kube-reserved", dict(config.kube_reserved)))
    _try("systemReserved", lambda: parse_reservation("system-reserved", dict(config.system_reserved)))
    _try("evictionHard", lambda: parse_threshold_config((), dict(config.eviction_hard or ()), {}, {}, {}))
    _try("evictionSoft", lambda: replace(config, eviction_hard=()).eviction())
    for problem in _reserved_memory_problems(config.reserved_memory):
        raise FieldError("reservedMemory", problem)


def _try(name: str, parse: Callable[[], object]) -> None:
    try:
        parse()
    except (PolicyOptionError, SettingsError) as error:
        raise FieldError(name, str(error)) from None


def _reserved_memory_problems(reserved: tuple[MemoryReservation, ...]) -> Iterator[str]:
    """Source: `validation_reserved_memory.go: validateReservedMemoryConfiguration`."""
    seen = set()
    for each in reserved:
        for resource, quantity in sorted(each.limits.items()):
            if resource != MEMORY and not is_huge_page_resource_name(resource):
                yield (
                    f"the limit type {quote(resource)} for NUMA node {each.numa_node} is not supported, only "
                    "[memory hugepages-<HugePageSize>] is accepted"
                )
            if not quantity:
                yield (
                    f"reserved memory may not be zero for NUMA node {each.numa_node} and resource {quote(resource)}"
                )
            if (each.numa_node, resource) in seen:
                yield (
                    f"the reserved memory has a duplicate value for NUMA node {each.numa_node} and resource "
                    f"{quote(resource)}"
                )
            seen.add((each.numa_node, resource))


def _notes(given: Fields) -> Iterator[str]:
    known = {"apiVersion", "kind", *FIELDS, *OTHERS}
    idle = [name for name in given.values if name in OTHERS]
    idle += [f"featureGates.{gate}" for gate in given.child("featureGates").values if gate not in GATES]
    if idle:
        yield f"a kubelet honours these, kubedev's has no use for them: {', '.join(idle)}"
    for name in given.values:
        if name not in known:
            meant = get_close_matches(str(name), known, 1)
            advice = f": did you mean {meant[0]}?" if meant else ""
            yield f"unknown field {quote(str(name))}: a kubelet goes on without it{advice}"


# Back again


def document_of(config: KubeletConfig) -> dict[str, Any]:
    """The file that says the same, without the machine and the switches; what is as by default is left out."""
    version, kind = CONFIGURATION
    document: dict[str, Any] = {"apiVersion": version, "kind": kind}
    default = {field.name: getattr(KubeletConfig(), field.name) for field in fields(KubeletConfig)}
    for name, (field_name, _) in FIELDS.items():
        value = getattr(config, field_name)
        if value != default[field_name]:
            document[name] = _written(value)
    return document


def _written(value: Any) -> Any:
    if isinstance(value, frozenset):
        return format_cpus(value)
    if isinstance(value, str | int):
        return value
    if value and isinstance(value[0], MemoryReservation):
        return [
            {"numaNode": each.numa_node, "limits": {name: str(q) for name, q in each.limits.items()}}
            for each in value
        ]
    return dict(value)
