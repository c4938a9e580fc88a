"""The scheduler: NodeInfo, the framework, the cycle and the two loops around it.

Rooms: `plugins` (one file a plugin), `queue`, `preemption`, `cache`, `selectors`, and `configuration`, which makes
profiles of a file.
"""
