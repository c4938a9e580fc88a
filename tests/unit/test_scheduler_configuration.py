"""KubeSchedulerConfiguration, where the recorded cases do not look."""

import os
from pathlib import Path

import pytest

from kubedev.api.gonumbers import format_duration, parse_duration
from kubedev.scheduler.configuration.errors import ConfigurationError
from kubedev.scheduler.configuration.loading import load_configuration
from kubedev.scheduler.framework import Framework
from kubedev.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kubedev.scheduler.plugins.resource_scores import Strategy

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
REAL = os.environ.get("KUBEDEV_REAL_MANIFESTS", "")
needs_real = pytest.mark.skipif(not REAL, reason="KUBEDEV_REAL_MANIFESTS names no folder of manifests")


def names_at(profile: Framework, method: str) -> list[str]:
    return [plugin.name for plugin in profile.at(method)]


def refusal(text: str) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(HEADER + text)
    return caught.value


@needs_real
def test_the_real_file_of_three_profiles_loads_and_packs_in_one_of_them() -> None:
    text = (Path(REAL) / "kubeschedulerconfig-profiles.yaml").read_text()
    default, no_image, packing = load_configuration(text).profiles
    assert [default.scheduler_name, no_image.scheduler_name, packing.scheduler_name] == [
        "default-scheduler",
        "no-image-locality",
        "bin-packing",
    ]
    assert set(names_at(default, "score")) - set(names_at(no_image, "score")) == {"ImageLocality"}
    assert names_at(packing, "score") == ["NodeResourcesFit"]
    fit = packing.at("score")[0]
    assert isinstance(fit, NodeResourcesFit)
    assert fit.strategy is Strategy.MOST_ALLOCATED


@needs_real
def test_the_real_file_with_a_plugin_that_nobody_registered_is_refused_as_kubernetes_does() -> None:
    text = (Path(REAL) / "sp-noderesources-scheduler-config.yaml").read_text()
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(text)
    assert caught.value.stage == "build"
    assert str(caught.value) == (
        "initializing profiles: creating profile for scheduler name default-scheduler: "
        'ScorePlugin "NodeResourcesAllocatable" does not exist'
    )


def test_an_empty_configuration_is_the_default_profile() -> None:
    (profile,) = load_configuration(HEADER).profiles
    assert profile.scheduler_name == "default-scheduler"
    assert names_at(profile, "filter")[-2:] == ["PodTopologySpread", "InterPodAffinity"]
    assert profile.weights["TaintToleration"] == 3


def test_a_second_document_is_ignored() -> None:
    (profile,) = load_configuration(f"{HEADER}percentageOfNodesToScore: 7\n---\nnonsense: true\n").profiles
    assert profile.percentage_of_nodes_to_score == 7


def test_a_profiles_own_percentage_goes_first() -> None:
    profiles = "profiles:\n- schedulerName: a\n  percentageOfNodesToScore: 0\n- schedulerName: b\n"
    text = f"percentageOfNodesToScore: 7\n{profiles}"
    a, b = load_configuration(HEADER + text).profiles
    assert (a.percentage_of_nodes_to_score, b.percentage_of_nodes_to_score) == (0, 7)


@pytest.mark.parametrize(
    "text", ["? [a]\n: b\n", "{{x}}\n", "a: !!binary x\n", "a: [\n", "\tx: 1\n", "[]", "3"]
)
def test_what_is_no_configuration_at_all_is_refused_by_the_decoder(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(text)
    assert caught.value.stage == "decode"


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        (
            "leaderElection: {leaseDuration: 60s, renewDeadline: 1m30s}\n",
            (
                "leaderElection.leaseDuration: Invalid value: 1m30s: LeaseDuration must be greater than "
                "RenewDeadline",
            ),
        ),
        (
            "leaderElection: {retryPeriod: -1500ms}\n",
            ("leaderElection.retryPeriod: Invalid value: -1.5s: must be greater than zero",),
        ),
        (
            "clientConnection: {burst: -1}\n",
            ("clientConnection.burst: Invalid value: -1: must be non-negative",),
        ),
        (
            "leaderElection: {leaderElect: false, retryPeriod: -1s}\nparallelism: 1\nextenders: [{weight: 1}]\n",
            (),
        ),
    ],
)
def test_leader_election_and_client_connection_are_checked_though_nothing_here_uses_them(
    text: str, texts: tuple[str, ...]
) -> None:
    if texts:
        assert refusal(text).texts == texts
    else:
        assert load_configuration(HEADER + text).profiles


def test_a_whole_number_may_be_written_as_a_fraction_or_with_an_exponent() -> None:
    (profile,) = load_configuration(f"{HEADER}percentageOfNodesToScore: 7.0\nparallelism: 1e1\n").profiles
    assert profile.percentage_of_nodes_to_score == 7
    assert str(refusal("parallelism: 7.5\n")).startswith(
        "json: cannot unmarshal number 7.5 into Go struct field"
    )
    assert str(refusal("parallelism: 3e9\n")).startswith("json: cannot unmarshal number")


def test_several_unknown_fields_are_told_at_once_in_the_order_of_their_names() -> None:
    text = "zebra: 1\nprofiles:\n- plugins:\n    score:\n      enable: []\nant: 1\n"
    assert str(refusal(text)) == (
        'strict decoding error: unknown field "ant", unknown field "profiles[0].plugins.score.enable", '
        'unknown field "zebra"'
    )


def test_a_duration_is_printed_as_go_does() -> None:
    for text in ("0s", "1ns", "1.5µs", "2.25ms", "1.5s", "1m30s", "1h0m0s", "-1.5s", "1h0m0.5s"):
        assert format_duration(parse_duration(text)) == text
