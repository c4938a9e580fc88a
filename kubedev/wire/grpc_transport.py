"""The transport of real kubelets: gRPC on unix sockets in one directory."""

import os

from kubedev.wire.client import PluginClient
from kubedev.wire.pod_resources import PodResourcesServer, pod_resources_path
from kubedev.wire.server import RegistrationServer
from kubedev.wire.sockets import prepare
from kubedev.wire.transport import OnPodResources, OnRegister

__all__ = ["GrpcTransport"]


class GrpcTransport:
    """A kubelet's transport in a socket directory; agents ask at `pod_resources`, a path, by default in it too."""

    threaded = True

    def __init__(self, directory: str, pod_resources: str | None = None) -> None:
        self.directory = directory
        self.pod_resources = pod_resources or pod_resources_path(directory)

    def listen(self, on_register: OnRegister) -> RegistrationServer:
        """Make the directory ready, removing the sockets in it, and serve. Raises SocketDirectoryError."""
        prepare(self.directory)
        server = RegistrationServer(self.directory, on_register)
        server.start()
        return server

    def serve_pod_resources(self, on_request: OnPodResources) -> PodResourcesServer:
        """Serve the PodResources API. Raises SocketDirectoryError."""
        server = PodResourcesServer(self.pod_resources, on_request)
        server.start()
        return server

    def connect(self, socket: str) -> PluginClient:
        """A client for the plugin at `socket`."""
        return PluginClient(socket)

    def files(self) -> list[str]:
        """The names of the files in the directory."""
        return sorted(os.listdir(self.directory))
