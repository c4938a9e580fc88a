"""Preemption: which pods have to go for one that fits nowhere, and the node that is nominated then."""
