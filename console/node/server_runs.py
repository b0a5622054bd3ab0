"""What is said of a server's run record in one way everywhere: which one a word means, and how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remote_agent.protocol import ServerRun


def is_meant(run: ServerRun, word: str) -> bool:
    """Does the user's word mean this run: its id, or the end of it?"""
    return run.run_id == word or run.run_id.endswith(word)


def how_it_ended(run: ServerRun) -> str:
    """As "exit code 3" or "signal 9"."""
    return f"exit code {run.exit_code}" if run.exit_code is not None else f"signal {run.exit_signal}"
