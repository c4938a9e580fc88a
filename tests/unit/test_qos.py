"""QoS classes that surprise, and the rule that is told with them."""

from typing import Any

import pytest

from kubedev.api.defaults import default_pod
from kubedev.api.objects import Pod
from kubedev.api.qos import QOSRule, compute_pod_qos, get_pod_qos

FULL = {"limits": {"cpu": 1, "memory": "1Gi"}}
HALF = {"limits": {"cpu": 1}}


def pod(*containers: dict[str, Any], init: tuple[dict[str, Any], ...] = ()) -> Pod:
    def named(resources: dict[str, Any], number: int) -> dict[str, Any]:
        return {"name": f"c{number}", "image": "i", **resources}

    spec = {
        "containers": [named({"resources": each}, i) for i, each in enumerate(containers)],
        "initContainers": [named(each, i + 10) for i, each in enumerate(init)],
    }
    return default_pod(Pod.parse({"metadata": {"name": "p"}, "spec": spec}))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (pod(FULL), "Guaranteed"),
        (pod(HALF), "Burstable"),
        (pod({"requests": {"cpu": "0"}}), "BestEffort"),
        (pod(FULL, init=({},)), "Burstable"),
        (pod(FULL, init=({"restartPolicy": "Always", "resources": FULL},)), "Guaranteed"),
        (pod({"limits": {"example.com/gpu": 1}}), "BestEffort"),
        (
            pod({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1000m", "memory": "1024Mi"}}),
            "Guaranteed",
        ),
    ],
)
def test_b66_qos_surprises(given: Pod, expected: str) -> None:
    assert compute_pod_qos(given).qos_class == expected


def test_the_rule_names_the_container_or_the_resource() -> None:
    spoiled = compute_pod_qos(pod(FULL, init=({},)))
    assert (spoiled.rule, spoiled.because) == (
        QOSRule.LIMIT_MISSING,
        "container c10 has no limit for cpu and memory",
    )
    unequal = compute_pod_qos(pod({**FULL, "requests": {"cpu": "500m"}}))
    assert (unequal.rule, unequal.because) == (QOSRule.REQUEST_DIFFERS, "cpu: requests 500m, limits 1")
    assert compute_pod_qos(pod({})).rule is QOSRule.NOTHING_SET
    assert compute_pod_qos(pod(FULL)).rule is QOSRule.ALL_EQUAL


def test_the_class_of_the_status_wins() -> None:
    stored = Pod("p", qos_class="Burstable")
    assert (get_pod_qos(stored).qos_class, get_pod_qos(stored).rule) == ("Burstable", QOSRule.STATUS)
