"""A lab that nobody looks at costs nothing: its kernel is ended with all processes that it started.

Idle is a kernel that runs no cell; one whose notebook is open in a browser counts as looked at. What was predicted and
solved is kept beside the notebooks.
"""

c = get_config()  # noqa: F821

c.MappingKernelManager.cull_idle_timeout = 600
c.MappingKernelManager.cull_interval = 60
c.MappingKernelManager.cull_connected = False
