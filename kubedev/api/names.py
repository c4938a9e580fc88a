"""Resource names: which ones a device plugin may use, and which ones the scheduler counts.

Go source: `pkg/apis/core/v1/helper/helpers.go`, `k8s.io/apimachinery/pkg/util/validation`. The problems that
a name has are told in Kubernetes' words.
"""

import re
from functools import lru_cache

__all__ = [
    "CPU",
    "EPHEMERAL_STORAGE",
    "MEMORY",
    "PODS",
    "dns_label_problems",
    "dns_subdomain_problems",
    "is_attachable_volume_resource_name",
    "is_extended_resource_name",
    "is_huge_page_resource_name",
    "is_native_resource",
    "is_overcommit_allowed",
    "is_prefixed_native_resource",
    "is_scalar_resource_name",
    "label_value_problems",
    "qualified_name_problems",
]

CPU, MEMORY, EPHEMERAL_STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"

NATIVE_PREFIX = "kubernetes.io/"
QUOTA_PREFIX = "requests."
HUGE_PAGES_PREFIX = "hugepages-"
ATTACHABLE_VOLUMES_PREFIX = "attachable-volumes-"

MAX_NAME, MAX_LABEL, MAX_SUBDOMAIN = 63, 63, 253
NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
NAME_WRONG = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    f"'{NAME}')"
)
LABEL_VALUE_WRONG = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    f"for validation is '({NAME})?')"
)
LABEL_WRONG = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    f"'{LABEL}')"
)
SUBDOMAIN_WRONG = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    f"'{SUBDOMAIN}')"
)


def is_native_resource(name: str) -> bool:
    """Whether Kubernetes claims the name for itself: no slash, or `kubernetes.io/` anywhere in it.

    So `akubernetes.io/foo` is native too, and `foo/kubernetes.io` is not.
    """
    return "/" not in name or is_prefixed_native_resource(name)


def is_prefixed_native_resource(name: str) -> bool:
    """Whether `kubernetes.io/` stands in the name."""
    return NATIVE_PREFIX in name


@lru_cache(maxsize=4096)
def is_extended_resource_name(name: str) -> bool:
    """Whether a device plugin may register the name: `domain/name`, not native, and also good in a quota.

    The quota's name, with `requests.` before it, must be a qualified name: that leaves 244 characters to the
    domain and 63 to the part after the slash.
    """
    if is_native_resource(name) or name.startswith(QUOTA_PREFIX):
        return False
    return not qualified_name_problems(QUOTA_PREFIX + name)


def is_huge_page_resource_name(name: str) -> bool:
    """Whether it is memory in pages of a size: `hugepages-2Mi`."""
    return name.startswith(HUGE_PAGES_PREFIX)


def is_attachable_volume_resource_name(name: str) -> bool:
    """Whether it counts volumes that can be attached to a node."""
    return name.startswith(ATTACHABLE_VOLUMES_PREFIX)


@lru_cache(maxsize=4096)
def is_scalar_resource_name(name: str) -> bool:
    """Whether the scheduler counts it among its scalars; other names it does not see at all."""
    return (
        is_extended_resource_name(name)
        or is_huge_page_resource_name(name)
        or is_prefixed_native_resource(name)
        or is_attachable_volume_resource_name(name)
    )


def is_overcommit_allowed(name: str) -> bool:
    """Whether a limit may be above the request: not for devices, nor for huge pages."""
    return is_native_resource(name) and not is_huge_page_resource_name(name)


def qualified_name_problems(value: str) -> list[str]:
    """Why this is no qualified name (`name`, `domain/name`); empty if it is one. Go: `IsQualifiedName`."""
    *prefix, name = value.split("/")
    if len(prefix) > 1:
        return [
            f"a qualified name {NAME_WRONG} with an optional DNS subdomain prefix and '/' (e.g. "
            "'example.com/MyName')"
        ]
    problems = []
    if prefix:
        found = dns_subdomain_problems(prefix[0]) if prefix[0] else ["must be non-empty"]
        problems += [f"prefix part {problem}" for problem in found]
    if not name:
        problems.append("name part must be non-empty")
    elif len(name.encode()) > MAX_NAME:
        problems.append(f"name part must be no more than {MAX_NAME} characters")
    if not re.fullmatch(NAME, name):
        problems.append(f"name part {NAME_WRONG}")
    return problems


def dns_label_problems(value: str) -> list[str]:
    """Why this is no DNS label (a container's name); empty where it is one. Go: `IsDNS1123Label`."""
    return text_problems(value, LABEL, MAX_LABEL, LABEL_WRONG)


def dns_subdomain_problems(value: str) -> list[str]:
    """Why this is no DNS subdomain (a pod's name); empty where it is one. Go: `IsDNS1123Subdomain`."""
    return text_problems(value, SUBDOMAIN, MAX_SUBDOMAIN, SUBDOMAIN_WRONG)


def label_value_problems(value: str) -> list[str]:
    """Why this is no label's value; empty where it is one. Go: `IsValidLabelValue`."""
    return text_problems(value, f"({NAME})?", MAX_NAME, LABEL_VALUE_WRONG)


def text_problems(value: str, pattern: str, length: int, wrong: str) -> list[str]:
    """What is wrong with length and characters."""
    problems = []
    if len(value.encode()) > length:
        problems.append(f"must be no more than {length} characters")
    if not re.fullmatch(pattern, value):
        problems.append(wrong)
    return problems
