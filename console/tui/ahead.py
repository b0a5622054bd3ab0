"""Makes the screens: one that is looked at, and the others before they are."""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING, cast

from console.tui import garbage
from console.tui.keys import SCREENS

if TYPE_CHECKING:
    from textual.screen import Screen

    from console.tui.app import ConsoleApp
    from console.tui.screen import ConsoleScreen

AHEAD_S = 0.3
"""Pause before each screen that is made before it is looked at: keys, frames and the connection come first."""


def make(name: str) -> Screen[None]:
    """Import a screen when it is first wanted."""
    return cast("Screen[None]", importlib.import_module(f"console.tui.screens.{name}").SCREEN())


async def make_all(app: ConsoleApp) -> None:
    """Make every screen and draw it once, so that the first look at one takes no longer than the second.

    None while the app closes: it walks through the screens then, and one more would break that off.
    """
    for name in SCREENS:
        await asyncio.sleep(AHEAD_S)
        if app.is_running and name not in app._screen_stacks:
            await app._init_mode(name)
            await asyncio.sleep(AHEAD_S)
            if app.is_running:
                cast("ConsoleScreen", app._screen_stacks[name][0]).draw_ahead()
    if app.is_running:
        garbage.take_over()
