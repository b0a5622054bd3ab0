"""The probe: streams from a server on this node over loopback, and leaves what it measured in a spool file.

It is a process of its own (`run.py`), started under the agent's supervisor, and outlives the connection. It judges
nothing but whether the run is usable: rates and acceptance are worked out on the console from the spool.
"""

FINISH = "finish"
"""A file of this name in the run directory asks for a valid end after the block in progress."""
