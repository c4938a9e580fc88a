"""The scheduler's cache: the nodes and pods that it knows, assumed ones among them, and the order of the nodes."""
