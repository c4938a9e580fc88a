"""The files for a hub: the versions of Binder's image, limits above what was measured, and an end of what is idle."""

import re
from typing import Any

import yaml

from tests.conftest import ROOT

HUB = ROOT / "binder" / "hub"
NOTE = (ROOT / "labs" / "hub.md").read_text("utf-8")
VALUES: dict[str, Any] = yaml.safe_load((HUB / "values.yaml").read_text("utf-8"))
UNITS = {"M": 1, "G": 1024}


def megabytes(text: str) -> float:
    return float(text[:-1]) * UNITS[text[-1]]


def test_the_image_has_the_exact_versions_of_binders() -> None:
    image = (HUB / "Dockerfile").read_text("utf-8")
    python = (ROOT / "binder" / "runtime.txt").read_text().strip().removeprefix("python-")
    assert f"FROM python:{python}-slim" in image
    assert "pip install --no-cache-dir -r binder/requirements.txt" in image
    assert "pip install --no-cache-dir --no-deps ." in image
    for path in re.findall(r"\b(?:binder|kubedev)/[\w./]+\.(?:txt|json|py)", image):
        assert (ROOT / path).exists(), path


def test_a_student_may_have_more_than_was_measured() -> None:
    measured = float(re.search(r"counted in parts \| (\d+) MB", NOTE)[1])  # type: ignore[index]
    memory = VALUES["singleuser"]["memory"]
    assert measured < megabytes(memory["guarantee"]) < megabytes(memory["limit"])


def test_what_is_idle_for_ten_minutes_is_ended() -> None:
    class Settings:
        def __getattr__(self, name: str) -> "Settings":
            self.__dict__[name] = Settings()
            return self.__dict__[name]  # type: ignore[no-any-return]

    c = Settings()
    exec((HUB / "jupyter_server_config.py").read_text("utf-8"), {"get_config": lambda: c})
    assert c.MappingKernelManager.cull_idle_timeout == 600
    assert c.MappingKernelManager.cull_interval < 600
    assert VALUES["cull"]["enabled"]
    assert VALUES["cull"]["timeout"] == 600


def test_the_first_page_is_a_lab_that_is_there() -> None:
    page = VALUES["singleuser"]["defaultUrl"].removeprefix("/lab/tree/kubedev/")
    assert (ROOT / page).exists()


def test_images_have_the_settings_of_kubedev_lab() -> None:
    for image in (HUB / "Dockerfile", ROOT / "binder" / "postBuild"):
        text = image.read_text("utf-8")
        assert "kubedev/tools/overrides.json" in text
        assert "kubedev/tools/exported.json" in text
