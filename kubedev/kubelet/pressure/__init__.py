"""A node under pressure: what pods may have of it, when pods are evicted and which, and what reaches their cgroups.

`node_allocatable` is the sum from capacity to allocatable, `settings` reads what it and eviction are set to.
`eviction` is the eviction manager (one look: `synchronize`), over `thresholds` (when it acts), `usage` (what it sees),
`ranking` (who goes first, by which key), `local_limits` and `messages`. `critical` and `critical_preemption` are about
pods that others have to go for. `oom`, `cgroups`, `pod_cgroup`, `qos_cgroups` and `cgroup_tree` lead from a pod's spec
to the kernel.
"""
