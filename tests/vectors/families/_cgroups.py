"""Values of cgroups as the vectors write them."""

from dataclasses import asdict
from typing import Any

from kubedev.kubelet.pressure.cgroups import ResourceConfig


def shown(config: ResourceConfig | None) -> dict[str, Any] | None:
    if config is None:
        return None
    pages = {str(size): limit for size, limit in config.hugepages.items()}
    unified = None if config.unified is None else dict(config.unified)
    return {**asdict(config), "hugepages": pages, "unified": unified}
