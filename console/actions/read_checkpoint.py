"""Read a checkpoint's facts, of a node or of this machine: config, shapes, vocabulary maps, never weights."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING

from console.remote.agent import NodeError, NodeRefused, NodeUsage
from console.units import plain
from console.wiring.reading import Answer, Ask, Part
from remote_agent.protocol import from_base64

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.remote.agent import Agent
    from console.wiring.checkpoint import Checkpoint
    from console.wiring.reading import Reading

_HUB_ID = re.compile(r"([\w.-]{1,96})/([\w.-]{1,96})", re.ASCII)


def folder_of(path: str, home: str, environ: Mapping[str, str]) -> str:
    """The folder of a path, or of a hub id in the cache of Hugging Face (HF_HUB_CACHE, HF_HOME, ~/.cache)."""
    match = _HUB_ID.fullmatch(path)
    if match is None or match[1].startswith("."):
        return path
    base = environ.get("HF_HOME") or f"{home}/.cache/huggingface"
    cache = environ.get("HF_HUB_CACHE") or f"{base}/hub"
    return f"{cache}/models--{match[1]}--{match[2]}"


async def from_node(agent: Agent, reading: Reading) -> Checkpoint:
    """Answer a reading from the files of a node."""
    answer: Answer | None = None
    while True:
        try:
            ask = next(reading) if answer is None else reading.send(answer)
        except StopIteration as done:
            return _result(done)
        answer = await _ask_node(agent, ask)


def from_files(reading: Reading) -> Checkpoint:
    """Answer a reading from the files of this machine."""
    answer: Answer | None = None
    while True:
        try:
            ask = next(reading) if answer is None else reading.send(answer)
        except StopIteration as done:
            return _result(done)
        answer = _ask_here(ask)


def _result(done: StopIteration) -> Checkpoint:
    found: Checkpoint = done.value
    return found


async def _ask_node(agent: Agent, ask: Ask) -> Answer:
    data, size = b"", 0
    try:
        while True:
            part = await agent.read_part(ask.path, ask.offset + len(data), ask.length - len(data))
            new, size = from_base64(part.data), part.size
            data += new
            if not new or len(data) >= ask.length:
                return Part(data, size)
    except (NodeError, NodeRefused, NodeUsage) as error:
        return plain(error.message)


def _ask_here(ask: Ask) -> Answer:
    try:
        # A pipe would wait for its writer, and a device never ends.
        handle = os.open(ask.path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            info = os.fstat(handle)
            if not stat.S_ISREG(info.st_mode):
                return "not a file"
            return Part(_pread(handle, ask), info.st_size)
        finally:
            os.close(handle)
    except (OSError, ValueError) as error:
        return plain(getattr(error, "strerror", None) or str(error))


def _pread(handle: int, ask: Ask) -> bytes:
    data = b""
    while len(data) < ask.length:
        new = os.pread(handle, ask.length - len(data), ask.offset + len(data))
        if not new:
            break
        data += new
    return data
