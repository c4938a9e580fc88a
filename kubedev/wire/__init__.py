"""The wire: v1beta1 over gRPC on unix sockets, and the same in memory."""
