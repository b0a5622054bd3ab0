"""The whole loop by keys alone, on a real embedded node."""

from __future__ import annotations

import pytest

from console.tui.widgets.log_view import LogView


@pytest.mark.slow
async def test_the_runbook_is_walked_by_keys_to_its_end(demo):
    async with demo.open() as driver:
        await driver.confirm("R")
        await driver.until_shown("/7 kimi-k2.5-eagle3-debug")
        await driver.until(lambda: not driver.state.action.is_busy, timeout_s=60)
        assert [(step.id, step.state) for step in driver.state.runbook.steps] == [
            (name, "done") for name in ("free", "patch", "baseline", "launch", "probe", "shapes", "compare")
        ]
        proofs = {step.id: step.proof for step in driver.state.runbook.steps}
        assert proofs["free"] == "8/8 GPUs free"
        assert proofs["patch"] == "4 files overlaid, 4 compiled"
        assert "ready after" in proofs["launch"]
        assert "last dim 21504 on ranks 8/8" in proofs["shapes"]
        assert "withheld" in proofs["compare"]
        await driver.until_shown("GPUs 0/8 free")
        await _looks_at_everything(driver, demo.port)
        await _benchmarks_and_stops(driver)


async def _looks_at_everything(driver, port: int) -> None:
    await driver.press("2")
    await driver.until_shown("draft.fc_in")
    shown = driver.screen()
    assert "(n, 21504)" in shown
    assert "ok" in shown
    assert f":{port} ready" in shown
    view = driver.app.screen.query_one(LogView)
    await driver.press("slash", *"fc_in", "enter")
    await driver.until(lambda: view.choice.typed == "fc_in" and view.row_count > 0)
    assert all("fc_in" in line for line in driver.screen().splitlines() if "[EAGLE3_DEBUG]" in line)
    await driver.press("escape")
    assert not view.is_filtered
    await driver.press("5")
    await driver.until_shown("withheld")
    shown = driver.screen()
    for told in ("kimi-k2.5-baseline", "kimi-k2.5-eagle3-debug", "SIMULATED", "disable_cuda_graph", "UNDECLARED"):
        assert told in shown, told
    await driver.press("6")
    await driver.until_shown("Runs 2")
    await driver.press("3")
    await driver.until_shown("error: GPU 0 is held")


async def _benchmarks_and_stops(driver) -> None:
    await driver.confirm("B")
    await driver.until(lambda: driver.state.action.phase == "done")
    await driver.press("6")
    await driver.until_shown("Runs 3")
    newest, older, baseline = (run.run_id for run in driver.state.runs.runs)
    assert _sides(driver) == (baseline, newest)
    await driver.press("g", "j", "c")
    await driver.until(lambda: _sides(driver) == (baseline, older))
    await driver.confirm("S")
    await driver.until(lambda: driver.state.action.phase == "done")
    assert "exit code 0" in driver.state.action.outcome
    assert "8/8 GPUs free" in driver.state.action.outcome
    await driver.press("1")
    await driver.until_shown("GPUs 8/8 free")
    await driver.until_shown("no server")


def _sides(driver) -> tuple[str | None, str | None]:
    runs = driver.state.runs
    return runs.baseline and runs.baseline.run_id, runs.candidate and runs.candidate.run_id
