"""Plugins for the tests of `kubedev check-plugin`, as a program: one that keeps its duties, and ways to break one each.

`python -m tests.contract.duty_plugins DIR [FAULT]`. It is written on generated messages and gRPC alone.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from urllib.parse import quote

os.environ.setdefault("GRPC_VERBOSITY", "NONE")

import grpc

from kubedev.wire import v1beta1_pb2 as pb

RESOURCE = "example.com/gpu"
SERVICE = "v1beta1.DevicePlugin"


class Plugin:
    """A plugin that keeps its duties. It looks for a new kubelet.sock, and for its own socket, ten times a second."""

    version, resource, endpoint = "v1beta1", RESOURCE, "plugin.sock"
    prefers = starts = False
    registers_again = ends = watches_own = True
    period: float | None = None

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.socket = os.path.join(directory, self.endpoint)
        self.kubelet = os.path.join(directory, "kubelet.sock")
        self.server: Any = None
        self.lock = threading.Lock()

    # The messages

    def devices(self) -> list[Any]:
        return [self.device(f"g{number}") for number in range(3)]

    def device(self, id_: str, health: str = "Healthy", *nodes: int) -> Any:
        topology = pb.TopologyInfo(nodes=[pb.NUMANode(ID=node) for node in nodes]) if nodes else None
        return pb.Device(ID=id_, health=health, topology=topology)

    def options(self) -> Any:
        return pb.DevicePluginOptions(
            pre_start_required=self.starts, get_preferred_allocation_available=self.prefers
        )

    def container(self, ids: list[str]) -> Any:
        nodes = [
            pb.DeviceSpec(host_path=f"/dev/{i}", container_path=f"/dev/{i}", permissions="rw") for i in ids
        ]
        return pb.ContainerAllocateResponse(envs={"GPUS": ",".join(ids)}, devices=nodes)

    def allocate(self, request: Any, context: Any) -> Any:
        ids = [id_ for container in request.container_requests for id_ in container.devices_ids]
        if any(id_ not in {device.ID for device in self.devices()} for id_ in ids):
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "unknown device")
        answers = [self.container(list(each.devices_ids)) for each in request.container_requests]
        return pb.AllocateResponse(container_responses=answers)

    def prefer(self, request: Any, context: Any) -> Any:
        asked = request.container_requests[0]
        ids = list(dict.fromkeys([*asked.must_include_deviceIDs, *asked.available_deviceIDs]))
        chosen = pb.ContainerPreferredAllocationResponse(deviceIDs=ids[: asked.allocation_size])
        return pb.PreferredAllocationResponse(container_responses=[chosen])

    def pre_start(self, request: Any, context: Any) -> Any:
        return pb.PreStartContainerResponse()

    def list_and_watch(self, request: Any, context: Any) -> Iterator[Any]:
        yield pb.ListAndWatchResponse(devices=self.devices())
        while context.is_active():
            time.sleep(self.period or 0.2)
            if self.period:
                yield pb.ListAndWatchResponse(devices=self.devices())

    # Its life

    def methods(self) -> dict[str, Any]:
        def unary(call: Callable[[Any, Any], Any], kind: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(
                call, kind.FromString, lambda message: message.SerializeToString()
            )

        return {
            "GetDevicePluginOptions": unary(lambda *_: self.options(), pb.Empty),
            "Allocate": unary(self.allocate, pb.AllocateRequest),
            "GetPreferredAllocation": unary(self.prefer, pb.PreferredAllocationRequest),
            "PreStartContainer": unary(self.pre_start, pb.PreStartContainerRequest),
            "ListAndWatch": grpc.unary_stream_rpc_method_handler(
                self.list_and_watch, pb.Empty.FromString, lambda message: message.SerializeToString()
            ),
        }

    def serve(self) -> None:
        if self.server:
            self.server.stop(0).wait()
        self.server = grpc.server(ThreadPoolExecutor(16))
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, self.methods()),))
        self.server.add_insecure_port(f"unix:{quote(self.socket)}")
        self.server.start()

    def register(self) -> bool:
        request = pb.RegisterRequest(
            version=self.version,
            endpoint=self.endpoint,
            resource_name=self.resource,
            options=self.options(),
        )
        local = [("grpc.use_local_subchannel_pool", 1)]
        with grpc.insecure_channel(f"unix:{self.kubelet}", options=local) as channel:
            call = channel.unary_unary(
                "/v1beta1.Registration/Register", lambda message: message.SerializeToString(), None
            )
            try:
                call(request, timeout=15)
            except grpc.RpcError as error:
                print(error.details(), flush=True)  # type: ignore[attr-defined]
                return False
        return True

    def begin(self) -> bool:
        self.serve()
        return self.register()

    def run(self) -> None:
        signal.signal(signal.SIGTERM, lambda *_: self.end())
        known = self.identity() if self.begin() else None
        while True:
            time.sleep(0.1)
            new = self.identity()
            if self.registers_again and new and (new != known or self.lost()):
                known = new if self.begin() else None

    def lost(self) -> bool:
        return self.watches_own and not os.path.exists(self.socket)

    def identity(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self.kubelet)
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns

    def end(self) -> None:
        if self.ends:
            with suppress(FileNotFoundError):
                os.unlink(self.socket)
            os._exit(0)


class Sample(Plugin):
    """As Kubernetes' sample plugin: lists on a timer, does not see its own socket, leaves it, allocates anything."""

    period, watches_own = 0.5, False

    def allocate(self, request: Any, context: Any) -> Any:
        answers = [self.container(list(each.devices_ids)) for each in request.container_requests]
        return pb.AllocateResponse(container_responses=answers)

    def end(self) -> None:
        os._exit(0)


class RegistersFirst(Plugin):
    def begin(self) -> bool:
        return self.register()


class OldVersion(Plugin):
    version = "v1alpha"


class PercentEndpoint(Plugin):
    endpoint = "a%20b.sock"


class NoOptions(Plugin):
    def methods(self) -> dict[str, Any]:
        return {name: call for name, call in super().methods().items() if name != "GetDevicePluginOptions"}


class NoList(Plugin):
    def list_and_watch(self, request: Any, context: Any) -> Iterator[Any]:
        while context.is_active():
            time.sleep(0.1)
        yield from ()


class ReturnsFromList(Plugin):
    def list_and_watch(self, request: Any, context: Any) -> Iterator[Any]:
        yield pb.ListAndWatchResponse(devices=self.devices())


class OneAtATime(Plugin):
    def allocate(self, request: Any, context: Any) -> Any:
        if not self.lock.acquire(blocking=False):
            context.abort(grpc.StatusCode.INTERNAL, "busy")
        time.sleep(0.5)
        self.lock.release()
        return super().allocate(request, context)


class LargeList(Plugin):
    def devices(self) -> list[Any]:
        return [self.device(f"{number:06d}{'x' * 57}") for number in range(70_000)]


class ForgetsIds(Plugin):
    def __init__(self, directory: str) -> None:
        super().__init__(directory)
        self.mark = os.urandom(4).hex()

    def devices(self) -> list[Any]:
        return [self.device(f"{self.mark}-{number}") for number in range(3)]


class AnswersEachDevice(Plugin):
    def allocate(self, request: Any, context: Any) -> Any:
        ids = [id_ for container in request.container_requests for id_ in container.devices_ids]
        return pb.AllocateResponse(container_responses=[self.container([id_]) for id_ in ids])


class RemembersAllocations(Plugin):
    taken: tuple[str, ...] = ()

    def allocate(self, request: Any, context: Any) -> Any:
        ids = tuple(id_ for container in request.container_requests for id_ in container.devices_ids)
        if set(ids) & set(self.taken):
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "in use")
        self.taken += ids
        return super().allocate(request, context)


class Dies(Plugin):
    def allocate(self, request: Any, context: Any) -> Any:
        print("cannot go on", flush=True)
        os._exit(3)


class DiesOfNothing(Plugin):
    """Looks at the first device of each container, as some real plugins do."""

    def allocate(self, request: Any, context: Any) -> Any:
        if any(not container.devices_ids for container in request.container_requests):
            print("panic: runtime error: index out of range [0] with length 0", flush=True)
            os._exit(2)
        return super().allocate(request, context)


class Ends(Plugin):
    """Ends when its kubelet goes, and is started again."""

    watches_own = False

    def list_and_watch(self, request: Any, context: Any) -> Iterator[Any]:
        yield from super().list_and_watch(request, context)
        os._exit(1)


class EmptyFirstAndLast(Plugin):
    """Begins and ends its stream with an empty list."""

    def list_and_watch(self, request: Any, context: Any) -> Iterator[Any]:
        yield pb.ListAndWatchResponse()
        yield from super().list_and_watch(request, context)
        yield pb.ListAndWatchResponse()


class WithoutDevices(Plugin):
    """There is no hardware here."""

    def devices(self) -> list[Any]:
        return []


class Deaf(Plugin):
    """Does not notice a new kubelet."""

    registers_again = False


class GivesUp(Plugin):
    """Takes an error of Register for the end of its efforts."""

    def begin(self) -> bool:
        self.serve()
        self.registers_again = self.register()
        return True


class Stays(Plugin):
    ends = False


class Leaks(Plugin):
    def __init__(self, directory: str) -> None:
        super().__init__(directory)
        self.kept: list[bytes] = []

    def allocate(self, request: Any, context: Any) -> Any:
        self.kept.append(b"x" * 200_000)
        return super().allocate(request, context)


class PreStartFails(Plugin):
    starts = True

    def pre_start(self, request: Any, context: Any) -> Any:
        context.abort(grpc.StatusCode.INTERNAL, "the reset failed")


if __name__ == "__main__":
    kind = globals()[sys.argv[2]] if len(sys.argv) > 2 else Plugin
    kind(sys.argv[1]).run()
