"""The transport of real kubelets: gRPC on unix sockets in one directory."""

from kubedev.wire.client import PluginClient
from kubedev.wire.server import RegistrationServer
from kubedev.wire.sockets import prepare
from kubedev.wire.transport import OnRegister

__all__ = ["GrpcTransport"]


class GrpcTransport:
    """A kubelet's transport in a socket directory."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def listen(self, on_register: OnRegister) -> RegistrationServer:
        """Make the directory ready, removing the sockets in it, and serve. Raises SocketDirectoryError."""
        prepare(self.directory)
        server = RegistrationServer(self.directory, on_register)
        server.start()
        return server

    def connect(self, socket: str) -> PluginClient:
        """A client for the plugin at `socket`."""
        return PluginClient(socket)
