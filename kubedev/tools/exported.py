"""HTML that JupyterLab exports shows pictures without a network, each as it was saved last, and they step.

nbconvert prefers a widget's own format, which a page can show only with scripts from the internet. Here what stands
for it takes its place: `exported.json`, Jupyter's settings for `kubedev lab` and Binder, has the exporter ask.
"""

from typing import Any

from nbconvert.preprocessors import Preprocessor

from kubedev.views.stage import recording

__all__ = ["Recordings"]

_VIEW = "application/vnd.jupyter.widget-view+json"
_STATE = "application/vnd.jupyter.widget-state+json"


class Recordings(Preprocessor):
    """Where an output has HTML beside a widget, the widget goes; a stage's HTML gets the frames that were saved."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Return the notebook, changed in place."""
        models = nb.metadata.get("widgets", {}).get(_STATE, {}).get("state", {})
        for data in (o.get("data", {}) for cell in nb.cells for o in cell.get("outputs", ())):
            if _VIEW in data and "text/html" in data:
                view = data.pop(_VIEW)
                whole = models.get(view["model_id"], {}).get("state", {}).get("whole", {})
                if "steps" in whole:
                    data["text/html"] = recording(data["text/html"], whole)
        return nb, resources
