"""Claims for devices, as the scheduler allocates them: a search for the first devices that will do.

Modules: `pools` (what a node can reach), `selection` (what a request asks for), `constraints` (what devices must
share), `allocator` (the search), `results` (what claims got), `steps` (why, as data), `tracker` (what the
scheduler has seen, and assumes).
"""
