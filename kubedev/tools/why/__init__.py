"""`kubedev why`: why a pod is Pending or was refused, from what `kubectl get ... -o json` prints.

`sources` and `documents` read, `typed` is the quick way through large dumps, `dump` is all that was read. `world` has
the scheduler decide; `groups`, `remedies`, `waking`, `preempting` and `refusals` ask it further. `answer` puts that
together as plain values, which are the JSON, and `lines` writes them for people. `command` is the command.
"""
