"""Local storage limits: pods that keep more on the node's disk than they were allowed are evicted, unranked.

Go source: `pkg/kubelet/eviction/eviction_manager.go: localStorageEviction`.
"""

from collections.abc import Iterator

from kubedev.api.gotext import quote
from kubedev.api.names import EPHEMERAL_STORAGE
from kubedev.api.objects import Pod
from kubedev.api.quantity import Format, Quantity
from kubedev.kubelet.pressure.pod_cgroup import pod_limits
from kubedev.kubelet.pressure.usage import PodStats, fs_bytes, pod_volumes

__all__ = ["broken_limit"]


def broken_limit(pod: Pod, stats: PodStats, image_fs: bool) -> str | None:
    """The message of the first limit that a pod breaks: of an emptyDir, of the whole pod, of a container.

    None where it breaks none. With a dedicated image file system (`image_fs`) a container's writable layer does not
    count against its limit.
    """
    for found in (
        _empty_dirs(pod, stats),
        _whole_pod(pod, stats),
        _containers(pod, stats, image_fs),
    ):
        message = next(found, None)
        if message is not None:
            return message
    return None


def _empty_dirs(pod: Pod, stats: PodStats) -> Iterator[str]:
    used = dict(stats.volumes)
    for volume in pod_volumes(pod):
        name = volume.text("name")
        limit = Quantity.from_json(volume.child("emptyDir").values.get("sizeLimit"))
        if limit.sign() > 0 and name in used and _bytes(used[name].used_bytes or 0) > limit:
            yield f"Usage of EmptyDir volume {quote(name)} exceeds the limit {quote(str(limit))}. "


def _whole_pod(pod: Pod, stats: PodStats) -> Iterator[str]:
    if not any(EPHEMERAL_STORAGE in c.limits for c in (*pod.containers, *pod.init_containers)):
        return
    limit = pod_limits(pod).get(EPHEMERAL_STORAGE)
    if limit is not None and _bytes(stats.ephemeral_storage or 0) > limit:
        yield f"Pod ephemeral local storage usage exceeds the total limit of containers {limit}. "


def _containers(pod: Pod, stats: PodStats, image_fs: bool) -> Iterator[str]:
    limits = {c.name: c.limits[EPHEMERAL_STORAGE] for c in pod.containers if EPHEMERAL_STORAGE in c.limits}
    for container in stats.containers if limits else ():
        used = fs_bytes(container.logs) + (0 if image_fs else fs_bytes(container.rootfs))
        limit = limits.get(container.name, Quantity())
        if limit.value() and _bytes(used) > limit:
            yield (
                f"Container {container.name} exceeded its local ephemeral storage limit {quote(str(limit))}. "
            )


def _bytes(number: int) -> Quantity:
    return Quantity(number, format=Format.BINARY_SI)
