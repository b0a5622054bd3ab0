"""The dispatch table is this folder: `gpus.processes` is the function `processes`, marked with `method`, in gpus.py.

from remote_agent.node import Node
from remote_agent.request import Request, method

@method()
def processes(node: Node, request: Request) -> GpuProcesses:
    ...
"""
