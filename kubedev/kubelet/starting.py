"""How a container is started: what its pod and its devices say, as one request to the runtime.

Source: `pkg/kubelet/kuberuntime/kuberuntime_container.go: generateContainerConfig`.
"""

from kubedev.api.objects import Container, Pod
from kubedev.kubelet.devices.run_options import DeviceRunContainerOptions
from kubedev.kubelet.events import StartContainer

__all__ = ["start_container"]


def start_container(
    pod: Pod, container: Container, options: DeviceRunContainerOptions | None
) -> StartContainer:
    """The CRI request: the plugins' environment first, then the pod's own.

    A runtime takes the last of two variables with one name, so the pod's wins.
    """
    options = options or DeviceRunContainerOptions()
    return StartContainer(
        pod.uid,
        container.name,
        envs=(*options.envs, *container.envs),
        mounts=tuple((m.host_path, m.container_path, m.read_only) for m in options.mounts),
        devices=tuple((d.host_path, d.container_path, d.permissions) for d in options.devices),
        annotations=options.annotations,
        cdi_devices=options.cdi_devices,
    )
