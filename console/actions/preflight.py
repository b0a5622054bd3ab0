"""Ask a node what a server that is started now would find there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remote_agent.protocol import Preflight

if TYPE_CHECKING:
    from console.actions.node import Node
    from console.launch.asked import Asked
    from console.launch.command import Command

_FOR_CACHES = ("HF_HUB_CACHE", "HF_HOME", "HF_HUB_OFFLINE", "HOME", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_OFFLINE")
_FOR_TOOLS = ("CUDA_HOME", "CUDA_PATH", "PATH", "SGLANG_USE_MODELSCOPE", "XDG_CACHE_HOME")


async def look(node: Node, command: Command, asked: Asked) -> Preflight:
    """One question. Of the embedded node only its GPUs count: the rest is the machine that it is simulated on."""
    models = (asked.value("model-path"), asked.value("speculative-draft-model-path"))
    env = {name: command.env[name] for name in (*_FOR_CACHES, *_FOR_TOOLS) if name in command.env}
    ids = list(dict.fromkeys(each for each in models if each and not each.startswith(("/", "~"))))
    told = await node.agent.preflight(env, ids, command.cwd or "", asked.value("download-dir") or "")
    return Preflight(hardware=told.hardware) if node.simulated else told
