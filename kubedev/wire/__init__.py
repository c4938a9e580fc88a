"""The wire: v1beta1 over gRPC on unix sockets, and the same in memory."""

import os

# gRPC's core would write to standard error; what matters comes back as an error anyway. Read at its import.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
