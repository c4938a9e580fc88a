"""The CPU manager: the machine's CPUs, and containers that have some of them to themselves."""
