"""What lab 01 says of its own: added to the catalogue."""

from kubedev.views.catalogue import register

__all__ = ["TEXTS"]

TEXTS = {
    "quantities.written": "written",
    "quantities.number": "the number",
    "quantities.milli": "in thousandths",
    "quantities.whole": "whole, rounded up",
    "quantities.printed": "printed back",
    "quantities.format": "kind of suffix",
    "apply.source": "your text",
    "apply.created": "{what} created",
    "limits.words.cpu": "{limit}: {quota} ms in each {period} ms",
    # Checks.
    "check.refused": "the API server refused it: {error}",
    "check.other-card": "pod {pod} holds {device}, which is no part of {card}: there is one card in the machine",
    "check.asks": "pod {pod} asks for {is_} of {resource}, not for {want}",
    "check.may-use": "container {container} of pod {pod} may use {is_} of {resource}, and needs {want} to be as fast",
    "check.may-use.none": "any amount",
    "check.container-gone": "pod {pod} has no container {container} any more",
}

register(TEXTS)
