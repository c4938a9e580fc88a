"""kubedev: how Kubernetes manages devices, as a lab you can step through.

Behaviour is that of Kubernetes `KUBERNETES_VERSION` with its default feature gates, checked against inputs
and outputs recorded from the Go code. The rooms, each importing only from those before it:
`api`, `deviceplugin` and `scheduler`, `kubelet`, `cluster`, `views`, `lab`; `wire` speaks gRPC.
"""

__all__ = ["KUBERNETES_VERSION", "__version__"]

__version__ = "0.1.0"
KUBERNETES_VERSION = "v1.32.10"
