"""The plugins' answers of one container as one; between two that want different things, either may win."""

from typing import Any

from kubedev.kubelet.devices.devices import DeviceAllocateInfo, PodDevices, insert
from kubedev.kubelet.devices.run_options import device_run_container_options
from tests.vectors.families.checkpoint import alloc_resp


def differences(case: dict[str, Any]) -> list[str]:
    expected = case["out"]
    pods: PodDevices = {}
    for resource, response in case["in"]["responses"].items():
        pods = insert(pods, "pod", "c", resource, DeviceAllocateInfo({}, alloc_resp(response)))
    options = device_run_container_options(pods, "pod", "c")
    if options is None:
        return [] if expected["none"] else ["none: expected options, got None"]
    mounts = [
        (m.container_path, {"host_path": m.host_path, "read_only": m.read_only}) for m in options.mounts
    ]
    devices = [
        (d.container_path, {"host_path": d.host_path, "permissions": d.permissions}) for d in options.devices
    ]
    got: dict[str, list[tuple[str, Any]]] = {
        "envs": list(options.envs),
        "annotations": list(options.annotations),
        "mounts": mounts,
        "devices": devices,
    }
    found = ["none: expected None, got options"] if expected["none"] else []
    for kind, settings in got.items():
        keys = sorted(key for key, _ in settings)
        if keys != sorted(expected[kind]):
            found.append(f"{kind}: expected keys {sorted(expected[kind])}, got {keys}")
        found += [
            f"{kind}: {value!r} for {key} is not among {expected[kind].get(key)}"
            for key, value in settings
            if value not in expected[kind].get(key, ())
        ]
    if sorted(options.cdi_devices) != expected["cdi_devices"]:
        found.append(f"cdi_devices: expected {expected['cdi_devices']}, got {options.cdi_devices}")
    if expected["ordered"] is not None:
        ordered = {
            "mounts": [{"container_path": path, **rest} for path, rest in mounts],
            "devices": [{"container_path": path, **rest} for path, rest in devices],
            "cdi_devices": list(options.cdi_devices),
        }
        found += _unordered(expected["ordered"], ordered)
    return found


def _unordered(expected: dict[str, Any], got: dict[str, Any]) -> list[str]:
    found = []
    for kind, settings in expected.items():
        wanted = [_known(s, got[kind]) for s in settings]
        if wanted != got[kind]:
            found.append(f"ordered.{kind}: expected {settings}, got {got[kind]}")
    return found


def _known(setting: Any, got: list[Any]) -> Any:
    """A recorded setting without what is always so: a mount's name, and no relabelling."""
    if isinstance(setting, dict):
        assert setting.get("name", setting["container_path"]) == setting["container_path"]
        assert not setting.get("selinux_relabel")
        return {key: value for key, value in setting.items() if key not in ("name", "selinux_relabel")}
    return setting
