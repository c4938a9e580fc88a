"""What the API server refuses of affinity, tolerations, taints, topology spread and gates.

Go source: `pkg/apis/core/validation/validation.go`.
"""

from collections.abc import Iterable

from kubedev.api import names
from kubedev.api.objects import Pod
from kubedev.api.problems import (
    Problems,
    duplicate,
    forbidden,
    invalid,
    invalids,
    required,
    unsupported,
)
from kubedev.api.selectors import (
    PREFERRED,
    REQUIRED,
    LabelSelector,
    NodeAffinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    Taint,
    Toleration,
    TopologySpreadConstraint,
)

__all__ = ["validate_scheduling", "validate_taints"]

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
SCHEDULE_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
NODE_POLICIES = ("Honor", "Ignore")
NO_OPERATOR = "not a valid selector operator"
NO_VALUES = "must be specified when `operator` is 'In' or 'NotIn'"
TOO_MANY_VALUES = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
WEIGHT_WRONG = "must be in the range 1-100"
NOT_POSITIVE = "must be greater than zero"


def validate_scheduling(pod: Pod) -> Problems:
    """The fields of a pod that steer where it goes."""
    for key, value in (pod.node_selector or {}).items():
        yield from invalids("spec.nodeSelector", key, names.qualified_name_problems(key))
        yield from invalids("spec.nodeSelector", value, names.label_value_problems(value))
    if pod.affinity and pod.affinity.node_affinity:
        yield from node_affinity_problems(pod.affinity.node_affinity, "spec.affinity.nodeAffinity")
    if pod.affinity and pod.affinity.pod_affinity:
        yield from pod_affinity_problems(pod.affinity.pod_affinity, "spec.affinity.podAffinity")
    if pod.affinity and pod.affinity.pod_anti_affinity:
        yield from pod_affinity_problems(pod.affinity.pod_anti_affinity, "spec.affinity.podAntiAffinity")
    for i, gate in enumerate(pod.scheduling_gates):
        path = f"spec.schedulingGates[{i}]"
        yield from invalids(path, gate, names.qualified_name_problems(gate))
        if gate in pod.scheduling_gates[:i]:
            yield duplicate(path, gate)
    for i, constraint in enumerate(pod.topology_spread_constraints):
        rest = pod.topology_spread_constraints[i + 1 :]
        yield from spread_problems(constraint, rest, f"spec.topologySpreadConstraints[{i}]")
    for i, toleration in enumerate(pod.tolerations):
        yield from toleration_problems(toleration, f"spec.tolerations[{i}]")
    if pod.preemption_policy not in (None, *PREEMPTION_POLICIES):
        yield unsupported("spec.preemptionPolicy", str(pod.preemption_policy), PREEMPTION_POLICIES)
    if pod.node_name and pod.scheduling_gates:
        yield forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")


def node_affinity_problems(affinity: NodeAffinity, path: str) -> Problems:
    """Required and preferred terms of node affinity."""
    terms = f"{path}.{REQUIRED}.nodeSelectorTerms"
    if affinity.required == ():
        yield required(terms, "must have at least one node selector term")
    for i, term in enumerate(affinity.required or ()):
        yield from node_term_problems(term, f"{terms}[{i}]")
    for i, preferred in enumerate(affinity.preferred or ()):
        at = f"{path}.{PREFERRED}[{i}]"
        if not 0 < preferred.weight <= 100:
            yield invalid(f"{at}.weight", preferred.weight, WEIGHT_WRONG)
        yield from node_term_problems(preferred.preference, f"{at}.preference")


def node_term_problems(term: NodeSelectorTerm, path: str) -> Problems:
    """Expressions over labels, and over the field `metadata.name`."""
    for i, requirement in enumerate(term.match_expressions):
        at = f"{path}.matchExpressions[{i}]"
        if requirement.operator in ("Gt", "Lt"):
            if len(requirement.values) != 1:
                detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
                yield required(f"{at}.values", detail)
        else:
            yield from operator_problems(requirement.operator, requirement.values, at)
        yield from invalids(f"{at}.key", requirement.key, names.qualified_name_problems(requirement.key))
    for i, requirement in enumerate(term.match_fields):
        yield from match_field_problems(requirement, f"{path}.matchFields[{i}]")


def match_field_problems(requirement: NodeSelectorRequirement, path: str) -> Problems:
    """An expression over a node's field."""
    if requirement.operator not in ("In", "NotIn"):
        yield invalid(f"{path}.operator", requirement.operator, NO_OPERATOR)
    elif len(requirement.values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(f"{path}.values", detail)
    if requirement.key != "metadata.name":
        yield invalid(f"{path}.key", requirement.key, "not a valid field selector key")


def operator_problems(operator: str, values: tuple[str, ...], path: str) -> Problems:
    """Operators over labels, and how many values each of them takes."""
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{path}.values", NO_VALUES)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield forbidden(f"{path}.values", TOO_MANY_VALUES)
    else:
        yield invalid(f"{path}.operator", operator, NO_OPERATOR)


def label_selector_problems(selector: LabelSelector | None, path: str) -> Problems:
    """Labels and expressions of a label selector."""
    if selector is None:
        return
    for key, value in selector.match_labels.items():
        yield from invalids(f"{path}.matchLabels", key, names.qualified_name_problems(key))
        yield from invalids(f"{path}.matchLabels", value, names.label_value_problems(value))
    for i, requirement in enumerate(selector.match_expressions):
        at = f"{path}.matchExpressions[{i}]"
        yield from operator_problems(requirement.operator, requirement.values, at)
        yield from invalids(f"{at}.key", requirement.key, names.qualified_name_problems(requirement.key))


def pod_affinity_problems(affinity: PodAffinity, path: str) -> Problems:
    """Required and preferred terms of pod affinity or anti-affinity."""
    for i, term in enumerate(affinity.required):
        yield from pod_term_problems(term, f"{path}.{REQUIRED}[{i}]")
    for i, weighted in enumerate(affinity.preferred):
        at = f"{path}.{PREFERRED}[{i}]"
        if not 0 < weighted.weight <= 100:
            yield invalid(f"{at}.weight", weighted.weight, WEIGHT_WRONG)
        yield from pod_term_problems(weighted.pod_affinity_term, f"{at}.podAffinityTerm")


def pod_term_problems(term: PodAffinityTerm, path: str) -> Problems:
    """One term of pod affinity."""
    yield from label_selector_problems(term.label_selector, f"{path}.labelSelector")
    yield from label_selector_problems(term.namespace_selector, f"{path}.namespaceSelector")
    for name in term.namespaces:
        yield from invalids(f"{path}.namespace", name, names.dns_label_problems(name))
    for i, key in enumerate(term.match_label_keys):
        if key in term.mismatch_label_keys:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid(f"{path}.matchLabelKeys[{i}]", key, detail)
    if not term.topology_key:
        yield required(f"{path}.topologyKey", "can not be empty")
    key_problems = names.qualified_name_problems(term.topology_key)
    yield from invalids(f"{path}.topologyKey", term.topology_key, key_problems)


def spread_problems(
    constraint: TopologySpreadConstraint, rest: Iterable[TopologySpreadConstraint], path: str
) -> Problems:
    """One constraint, and whether one of the rest is of the same kind."""
    action = constraint.when_unsatisfiable
    if constraint.max_skew <= 0:
        yield invalid(f"{path}.maxSkew", constraint.max_skew, NOT_POSITIVE)
    if not constraint.topology_key:
        yield required(f"{path}.topologyKey", "can not be empty")
    if action not in SCHEDULE_ACTIONS:
        yield unsupported(f"{path}.whenUnsatisfiable", action, SCHEDULE_ACTIONS)
    kind = (constraint.topology_key, action)
    if any(kind == (other.topology_key, other.when_unsatisfiable) for other in rest):
        text = f"{{{constraint.topology_key}, {action}}}"
        yield duplicate(f"{path}.{{topologyKey, whenUnsatisfiable}}", text)
    if constraint.min_domains is not None:
        if constraint.min_domains <= 0:
            yield invalid(f"{path}.minDomains", constraint.min_domains, NOT_POSITIVE)
        if action != "DoNotSchedule":
            detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            yield invalid(f"{path}.minDomains", constraint.min_domains, detail)
    if constraint.node_affinity_policy not in (None, *NODE_POLICIES):
        yield unsupported(f"{path}.nodeAffinityPolicy", str(constraint.node_affinity_policy), NODE_POLICIES)
    if constraint.node_taints_policy not in (None, *NODE_POLICIES):
        yield unsupported(f"{path}.nodeTaintsPolicy", str(constraint.node_taints_policy), NODE_POLICIES)
    yield from label_selector_problems(constraint.label_selector, f"{path}.labelSelector")


def toleration_problems(toleration: Toleration, path: str) -> Problems:
    """One toleration."""
    if toleration.key:
        yield from invalids(f"{path}.key", toleration.key, names.qualified_name_problems(toleration.key))
    elif toleration.operator != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(f"{path}.operator", toleration.operator, detail)
    if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid(f"{path}.effect", toleration.effect, detail)
    if toleration.operator in ("Equal", ""):
        if wrong := names.label_value_problems(toleration.value):
            yield invalid(f"{path}.operator", toleration.value, ";".join(wrong))
    elif toleration.operator == "Exists":
        if toleration.value:
            detail = "value must be empty when `operator` is 'Exists'"
            yield invalid(f"{path}.operator", toleration.value, detail)
    else:
        yield unsupported(f"{path}.operator", toleration.operator, ("Equal", "Exists"))
    if toleration.effect and toleration.effect not in TAINT_EFFECTS:
        yield unsupported(f"{path}.effect", toleration.effect, TAINT_EFFECTS)


def validate_taints(taints: tuple[Taint, ...], path: str) -> Problems:
    """Taints of a node, each key once for each effect."""
    for i, taint in enumerate(taints):
        at = f"{path}[{i}]"
        yield from invalids(f"{at}.key", taint.key, names.qualified_name_problems(taint.key))
        if wrong := names.label_value_problems(taint.value):
            yield invalid(f"{at}.value", taint.value, ";".join(wrong))
        if not taint.effect:
            yield required(f"{at}.effect")
        elif taint.effect not in TAINT_EFFECTS:
            yield unsupported(f"{at}.effect", taint.effect, TAINT_EFFECTS)
        if any((other.key, other.effect) == (taint.key, taint.effect) for other in taints[:i]):
            yield duplicate(at, f"{taint.key}:{taint.effect}", "write each key once for each effect")
