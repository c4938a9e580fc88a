"""The scheduler over columns: all nodes at once, for thousands of them. Public is `way.OverColumns`.

The readable way, one node after another, says what is right; here is the same answer in a hundredth of the time, with
numpy, which no other room of the scheduler needs. `table` is the snapshot as columns, `filters` and `scores` know the
default plugins (`spread` and `affinity` those that look at whole domains); any other plugin is asked the readable way,
about the nodes that are left. `cycle.way_of` chooses.
"""
