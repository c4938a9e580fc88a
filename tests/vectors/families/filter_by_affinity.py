"""Available devices, split by a NUMA mask."""

from typing import Any

from kubedev.kubelet.devices.allocation import filter_by_affinity
from tests.vectors.fake_plugin import devices, mask


def answer(case: dict[str, Any]) -> dict[str, Any]:
    known = {device.id: device for device in devices(case["devices"])}
    split = filter_by_affinity(known, frozenset(case["available"]), mask(case["hint"]))
    return {
        "aligned": sorted(split.aligned),
        "unaligned": sorted(split.unaligned),
        "no_affinity": sorted(split.no_affinity),
    }
