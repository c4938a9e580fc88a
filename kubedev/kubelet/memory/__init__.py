"""The memory manager: memory and huge pages of certain NUMA nodes for the containers of Guaranteed pods."""
