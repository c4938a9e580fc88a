"""The registration service: what it refuses, and in which order it looks."""

from typing import Any

from kubedev.api.messages import Answer, Call, DevicePluginOptions, Empty, RegisterRequest, RpcError, converse
from kubedev.kubelet.devices.devices import DeviceManagerState
from kubedev.kubelet.devices.registration import register, server_socket_error, socket_path, validate_plugin

SOCKET_DIR = "/plugins"


def answer(case: dict[str, Any]) -> dict[str, Any]:
    match case["kind"]:
        case "validate":
            return {"error": validate_plugin(case["plugin_name"], case["versions"] or [])}
        case "new_server":
            error = server_socket_error(case["socket_path"])
            return {"error": error, "socket_path": None if error else socket_path(case["socket_path"], "")}
    served = socket_path(SOCKET_DIR, case.get("socket_file", "")) if case["listening"] else None

    def plugin(call: Call) -> Answer:
        if call.socket != served:
            return RpcError("DeadlineExceeded", "context deadline exceeded")
        if call.method == "Dial":
            return Empty()
        if case.get("options_error"):
            return RpcError("Unimplemented", "unknown service v1beta1.DevicePlugin")
        return DevicePluginOptions()

    request = RegisterRequest(case["version"], case["endpoint"], case["resource_name"])
    _, error = converse(register(DeviceManagerState(), request, SOCKET_DIR, 1), plugin)
    return {"error": error}
