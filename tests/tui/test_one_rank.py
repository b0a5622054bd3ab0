"""The embedded node with one rank wired wrong, on both sizes of the screen: the table names the rank."""

from __future__ import annotations

import re

import pytest

from console.state.events import ProfileSelected


@pytest.mark.slow
async def test_the_shape_table_names_the_rank_that_is_wired_wrong(demo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPEC_CONSOLE_DEMO_FAULT", "rank5:widths")
    async with demo.open((80, 24)) as driver:
        await driver.put(ProfileSelected("kimi-k2.5-eagle3-debug"))
        for key in ("P", "L"):
            await driver.confirm(key)
            await driver.until(lambda: driver.state.action.phase == "done")
        await driver.press("2", "t")
        await driver.until(lambda: bool(driver.state.log.reading and driver.state.log.reading.rows))
        await driver.until_shown("WRONG")
        for size in ((80, 24), (160, 50)):
            await driver.pilot.resize_terminal(*size)
            await driver.until_shown("7/8 not 5")
            shown = driver.screen()
            assert re.search(r"target\.aux .*TARGET_VERIFY .*7/8 not 5 .*3 × \(6, 7168\) .*wrong", shown), shown
            assert "ranks differ: rank 5 has 1 × (" in shown
            assert "SIMULATED" in shown
        assert re.search(r"draft\.fc_in .*DRAFT_EXTEND_V2 .*7/8 not 5 .*\(6, 21504\) .*wrong", shown), shown
        assert re.search(r"draft\.fc_out .*DRAFT_EXTEND_V2 .*8/8 .*\(6, 7168\) .*ok", shown), shown
