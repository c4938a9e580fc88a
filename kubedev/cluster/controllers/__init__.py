"""The controllers that look after nodes and their pods, each one small and named after the one that it follows.

`tainteviction` (NoExecute taints), `nodelifecycle` (taints for conditions, kubelets that fall silent), `podgc` (pods
whose node is gone), `daemon` (DaemonSets). They are values and decide; `cluster.controlling` carries out what they
want, when they are told of a change and when the clock goes on.
"""
