"""Inputs and outputs recorded from Kubernetes' own Go code, and the runner that compares ours with them."""
