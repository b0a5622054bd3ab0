"""The agent: runs on the node with the standard library (and bundled pynvml) alone, Python 3.8 or newer."""
