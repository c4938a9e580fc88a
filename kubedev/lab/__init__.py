"""What a lab is made of: a cluster to drive, pictures with knobs, predictions, checks, slides."""

from kubedev.lab import texts as _texts
from kubedev.lab.check import check, holds, no_device_twice, only_healthy_devices, runs
from kubedev.lab.explore import explore
from kubedev.lab.predict import predict
from kubedev.lab.session import KubeletConfig, Lab, manifests

assert _texts.TEXTS  # what the rooms below say

__all__ = [
    "KubeletConfig",
    "Lab",
    "check",
    "explore",
    "holds",
    "manifests",
    "no_device_twice",
    "only_healthy_devices",
    "predict",
    "runs",
]
