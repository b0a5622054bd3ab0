"""Calibration pairs: tiny checkpoints that the serving Python writes from a program that the console sent."""

from __future__ import annotations

import os
import re
import subprocess
import time
from typing import Dict, List, Optional

from remote_agent.node import Node
from remote_agent.protocol import AgentError, PairFolder
from remote_agent.request import Request, method

PATIENCE_S = 900.0
_NAME = re.compile(r"[a-z0-9_]+-[0-9a-f]{16}")


@method(mutates=True)
def write(node: Node, request: Request) -> PairFolder:
    """Run `program` (content that was `files.put` before) with the serving Python: FOLDER ORDER are its arguments.

    It writes into the folder `pairs/<name>` of the state directory, without a GPU.
    """
    name, program = request.get("name", str), request.get("program", str)
    if not _NAME.fullmatch(name):
        raise AgentError("invalid", f"not a pair's name: {name[:80]!r}")
    node.state.get_blob(program)
    folder = os.path.join(node.state.make("pairs"), name)
    argv = [request.get("python", str), node.state.blob_path(program), folder, request.get("order", str)]
    given = {str(key): str(value) for key, value in request.get("env", dict, {}).items()}
    why = _run(argv, {**os.environ, **given, "CUDA_VISIBLE_DEVICES": ""}, request)
    if why:
        raise AgentError("failed", f"{argv[0]} did not write the pair: {why}", "Does it import torch and safetensors?")
    return PairFolder(folder)


def _run(argv: List[str], env: Dict[str, str], request: Request) -> Optional[str]:
    """Why it failed; None when it did not. It is ended when the console takes the call back."""
    try:
        child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env, cwd="/"
        )
    except OSError as error:
        return f"it cannot be run: {error.strerror}"
    began = time.monotonic()
    while True:
        try:
            told = child.communicate(timeout=0.5)[1].decode("utf-8", "replace").strip().splitlines()
        except subprocess.TimeoutExpired:
            if time.monotonic() - began < PATIENCE_S and not request.is_stopped:
                continue
            child.kill()
            child.communicate()
            return "it was ended before it was done"
        return f"exit code {child.returncode}: {''.join(told[-1:])[:300]}" if child.returncode else None
