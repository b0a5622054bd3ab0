"""What is said of a server's run record in one way everywhere: which one a word means, and how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from remote_agent.protocol import ServerRun


def is_meant(run: ServerRun, word: str) -> bool:
    """Does the user's word mean this run: its id, or the end of it?"""
    return run.run_id == word or run.run_id.endswith(word)


def how_it_ended(run: ServerRun) -> str:
    """As "exit code 3" or "signal 9"."""
    return f"exit code {run.exit_code}" if run.exit_code is not None else f"signal {run.exit_signal}"


def visible_gpus(env: Mapping[str, str]) -> tuple[int, ...]:
    """The GPUs that CUDA_VISIBLE_DEVICES lists by number; empty without it, and where it names them by UUID."""
    return tuple(int(each) for each in env.get("CUDA_VISIBLE_DEVICES", "").split(",") if each.isdigit())
