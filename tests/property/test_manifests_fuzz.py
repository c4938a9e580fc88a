"""Whatever stands in a file: it is loaded, or refused with ManifestError in words that are no Python's."""

import re
from typing import Any

import yaml
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kubedev.api.manifests import ManifestError, load
from kubedev.api.strict import TYPES

FIELDS = sorted({field.partition(":")[0] for fields in TYPES.values() for field in fields.split()})
SPEC_FIELDS = {field.partition(":")[0] for field in TYPES["PodSpec"].split()} - {"containers"}
KINDS = [
    "Pod",
    "Node",
    "Deployment",
    "DaemonSet",
    "Job",
    "CronJob",
    "List",
    "PriorityClass",
    "Namespace",
    "Service",
]
KINDS += ["PodDisruptionBudget", "ReplicationController", "StatefulSet", "KubeletConfiguration", "PodList"]
VERSIONS = ["v1", "apps/v1", "batch/v1", "policy/v1", "scheduling.k8s.io/v1", "kubelet.config.k8s.io/v1beta1"]
PYTHON = re.compile(r"\b(True|False|None|NoneType|nan|Traceback|object at 0x|datetime|Error:)\b|b'|<class")

words = st.sampled_from(
    ["a", "app", "1Gi", "0.5", "-1", "Always", "In", "2024-01-31T12:00:00Z", "x" * 70, "Ä é"]
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | words
    | st.text(max_size=6)
    | st.binary(max_size=4)
)
keys = st.sampled_from(
    [*FIELDS, "metadata", "name", "labels", "annotations", "replicas", "selector", "template"]
)


def objects(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(values, max_size=3) | st.dictionaries(keys | words, values, max_size=5)


anything = st.recursive(scalars, objects, max_leaves=25)
containers = st.fixed_dictionaries(
    {"name": words | scalars, "image": words},
    optional={"resources": anything, "ports": anything, "env": anything},
)
pod_spec = st.fixed_dictionaries(
    {"containers": st.lists(containers | anything, max_size=2) | anything},
    optional=dict.fromkeys(
        [field.partition(":")[0] for field in TYPES["PodSpec"].split() if "ontainers" not in field], anything
    ),
)
manifests = st.fixed_dictionaries(
    {
        "apiVersion": st.sampled_from(VERSIONS) | scalars,
        "kind": st.sampled_from(KINDS) | scalars,
        "metadata": st.fixed_dictionaries(
            {"name": words}, optional=dict.fromkeys(("labels", "uid"), anything)
        )
        | anything,
    },
    optional={"spec": pod_spec | st.fixed_dictionaries({"template": anything}) | anything, "status": anything}
    | {"items": anything, "value": scalars},
)


def loaded_or_refused(text: str) -> None:
    try:
        load(text, "my.yaml")
    except ManifestError as error:
        said = str(error)
        assert said.startswith("my.yaml")
        found = PYTHON.search(said)
        assert not found or found[0] in text, said


@settings(deadline=None, max_examples=400, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.lists(manifests, min_size=1, max_size=2))
def test_r7_any_values_in_any_field(documents: list[Any]) -> None:
    loaded_or_refused(yaml.safe_dump_all(documents, allow_unicode=True))


@settings(deadline=None, max_examples=400, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.text(alphabet=st.sampled_from("cd: \n-[]{}&*!|>'\"#%@`,?<\t0.~\x00é\ud800"), max_size=60))
def test_r7_any_text(text: str) -> None:
    loaded_or_refused(text)


@settings(deadline=None, max_examples=200, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.data())
def test_r7_a_manifest_that_is_cut_off_or_smudged(data: st.DataObject) -> None:
    text = yaml.safe_dump(data.draw(manifests), allow_unicode=True)
    at = data.draw(st.integers(0, len(text)))
    middle = data.draw(st.text(alphabet="&*!{}[]:- \n\"'", max_size=3))
    loaded_or_refused(text[:at] + middle + text[at + data.draw(st.integers(0, 3)) :])
