"""Every screen, modal and state as it was when somebody last looked at it, narrow and wide, in two themes.

The texts lie in tests/data/screens. After a change that is meant:
`SPEC_CONSOLE_SNAPSHOTS=write python -m pytest -m slow tests/tui/test_snapshots.py`; look at the difference before it is
committed.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from textual.color import Color

from console.tui.modals.plan import PlanModal
from console.tui.settings import Settings
from tests.tui.scenes import SCENES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.strip import Strip

    from tests.tui.driver import Driver
    from tests.tui.scenes import Scene

SCREENS = Path(__file__).parents[1] / "data" / "screens"
SIZES = ((80, 24), (160, 50))
CONTRAST = 0.2
"""Least difference in brightness, of 1, between text and its ground: what is dimmed on purpose is still read."""


async def _show(driver: Driver, scene: Scene) -> None:
    await driver.put(*scene.told)
    await driver.press(*scene.keys)
    if scene.modal:
        modal = scene.modal()
        driver.app.push_screen(modal)
        await driver.until(lambda: not isinstance(modal, PlanModal) or modal.is_armed)
    await driver.pilot.pause()


def _text(strips: list[Strip]) -> str:
    return "\n".join(strip.text.rstrip() for strip in strips) + "\n"


def _front(driver: Driver, strips: list[Strip]) -> list[Strip]:
    """What is not dimmed on purpose: of a modal, itself."""
    region = driver.app.screen.children[0].region if len(driver.app.screen_stack) > 1 else driver.app.screen.region
    return [strip.crop(region.x, region.right) for strip in strips[region.y : region.bottom]]


def _faint(strips: list[Strip]) -> Iterator[tuple[str, Color, Color]]:
    """Words that can hardly be told from their ground."""
    for text, style, _control in (segment for strip in strips for segment in strip):
        if style and style.color and style.bgcolor and any(map(str.isalnum, text)):
            colour, ground = Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
            if abs(colour.brightness - ground.brightness) < CONTRAST:
                yield text, colour, ground


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
async def test_a_scene_is_as_it_was_in_two_themes(forced, scene: Scene, size: tuple[int, int]) -> None:
    path, seen = SCREENS / f"{scene.name}-{size[0]}x{size[1]}.txt", []
    faint: list[tuple[str, Color, Color]] = []
    for theme in ("dark", "light"):
        async with forced(size, replace(scene.settings or Settings(), theme=theme)) as driver:
            await _show(driver, scene)
            seen.append(driver.app.screen._compositor.render_strips())
            faint += _faint(_front(driver, seen[-1]))
    dark, light = map(_text, seen)
    if os.environ.get("SPEC_CONSOLE_SNAPSHOTS") == "write":
        path.write_text(dark)
    assert dark == path.read_text()
    assert light == dark, "a theme changes no word"
    assert not faint
