"""More moments that `images/` shows: pods side by side, limits, plugins that are refused (labs 01 and 02)."""

from kubedev.api.messages import VERSION
from kubedev.api.objects import Pod
from kubedev.api.requests import pod_arithmetic
from kubedev.kubelet.devices.registration import validate
from kubedev.kubelet.pressure.two_limits import Wants, against_limits
from kubedev.views.arithmetic import lives_picture
from kubedev.views.limits import limits_picture
from kubedev.views.picture import Picture
from kubedev.views.registration import Attempt, SequenceCall, attempts_picture

__all__ = ["limits", "pods_side_by_side", "refusals"]


def pods_side_by_side() -> Picture:
    """Lab 01: the same containers, the sidecar last and first."""

    def container(name: str, cpu: int, **more: str) -> dict[str, object]:
        return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}

    load, migrate, app = container("load", 5), container("migrate", 2), container("app", 3)
    proxy = container("proxy", 2, restartPolicy="Always")
    orders = {"sidecar last": (load, migrate, proxy), "sidecar first": (proxy, load, migrate)}
    lives = {
        title: pod_arithmetic(Pod.parse({"spec": {"initContainers": inits, "containers": [app]}}))
        for title, inits in orders.items()
    }
    return lives_picture(lives, "cpu")


def limits() -> Picture:
    """Lab 01: four threads against a limit of one CPU, 512 MiB against 256."""
    return limits_picture(against_limits(Wants(), "1", "256Mi"))


def refusals() -> Picture:
    """Lab 02: a version and two names that are refused."""
    asked = (SequenceCall("plugin", "kubelet", "Register"),)
    wrong = {
        "an old version": ("v1alpha", "example.com/gpu"),
        "no domain": (VERSION, "gpu"),
        "a native name": (VERSION, "kubernetes.io/gpu"),
    }
    texts = {title: validate(*words) for title, words in wrong.items()}
    return attempts_picture(
        [Attempt(title, asked, f"rpc error: code = Unknown desc = {text}") for title, text in texts.items()]
    )
