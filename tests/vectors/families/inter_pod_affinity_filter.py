"""The vectors of pod affinity and anti-affinity as a filter."""

from typing import Any

from kubedev.scheduler.plugins.topology.inter_pod_affinity import InterPodAffinity
from tests.vectors.families._plugins import run_filter


def answer(case_in: dict[str, Any]) -> dict[str, Any]:
    return run_filter(InterPodAffinity(), case_in)
