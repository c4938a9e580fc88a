"""Resource names: which rules a name meets."""

from typing import Any

from kubedev.api import names


def answer(case: dict[str, Any]) -> dict[str, Any]:
    name = case["name"]
    return {
        "attachable_volume": names.is_attachable_volume_resource_name(name),
        "extended": names.is_extended_resource_name(name),
        "hugepage": names.is_huge_page_resource_name(name),
        "native": names.is_native_resource(name),
        "prefixed_native": names.is_prefixed_native_resource(name),
        "scalar": names.is_scalar_resource_name(name),
    }
