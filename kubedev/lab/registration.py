"""What lab 02 looks at: the life of a registration in pictures, Register call by call, and plugins by hand."""

from collections.abc import Sequence

from kubedev.api.messages import DevicePluginOptions as DevicePluginOptions
from kubedev.lab.hand_made import RegistrationLab as RegistrationLab
from kubedev.lab.register_then import PLUGINS as PLUGINS
from kubedev.lab.register_then import draw_register as draw_register
from kubedev.lab.registration_scene import draw_registration as draw
from kubedev.views.live import LivePicture
from kubedev.views.registration import Attempt, attempts_picture
from kubedev.wire.codec import METHODS

__all__ = [
    "CALLS",
    "PLUGINS",
    "DevicePluginOptions",
    "RegistrationLab",
    "draw",
    "draw_register",
    "side_by_side",
]

CALLS = tuple(METHODS)
"""The calls that a plugin can implement, by their names."""


def side_by_side(attempts: Sequence[Attempt]) -> LivePicture:
    """Several attempts to register, each with its calls and the answer that came back."""
    return LivePicture(attempts_picture(attempts))
