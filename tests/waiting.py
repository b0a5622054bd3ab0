"""Wait for a state, never for a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

STEP_S = 0.02


async def until(is_so: Callable[[], bool], timeout_s: float = 30.0) -> None:
    """Return when `is_so()`; fail when it is not within `timeout_s`."""
    async with asyncio.timeout(timeout_s):
        while not is_so():
            await asyncio.sleep(STEP_S)
