"""/dev/shm is too small for NCCL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import hardware
from console.lint.rule import Rule
from console.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import LaunchContext
    from console.lint.finding import Finding

RULE = Rule(
    id="shm-small",
    title="/dev/shm is too small for NCCL",
    why="NCCL's ranks exchange over it; when it is full they die with SIGBUS or `unhandled system error`. "
    "Docker gives a container 64 MB.",
    source="NCCL user guide, troubleshooting, shared memory: `--shm-size=1g --ulimit memlock=-1`; leftovers of "
    "killed servers fill it",
)

WANTED_BYTES = 1 << 30


def check_node(context: LaunchContext) -> Iterator[Finding]:
    facts = hardware.on_gpus(context)
    if facts is None or facts.shm_bytes is None or facts.shm_free_bytes is None or len(context.gpus) < 2:
        return
    size, free = facts.shm_bytes, facts.shm_free_bytes
    # Its pages are charged to the cgroup.
    room = min(free, facts.memory_limit_bytes or free)
    if size < WANTED_BYTES:
        hint = "Start the container with --shm-size=1g or more, or --ipc=host."
        yield RULE.warn(f"/dev/shm has {format_bytes(size)}, and NCCL wants 1 GiB", hint)
    elif room < WANTED_BYTES:
        hint = "See what fills it (`free NODE` lists leftovers, --sweep-shm removes ours)."
        yield RULE.warn(f"/dev/shm has only {format_bytes(room)} of {format_bytes(size)} left", hint)
