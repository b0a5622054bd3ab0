"""Text of the node, of logs and of profiles is shown as it is, and does nothing else."""

from __future__ import annotations

from dataclasses import replace

from console.state import events
from console.state.model import Finding, LaunchView, PatchFile, ProfileView, Step
from console.tui.keys import SCREENS
from tests.tui.events import FACTS, RUN_ID, Log, busy, sample
from tests.unit.state.samples import holder, run, telemetry

HOSTILE = "[bold red]X[/bold red] [/x] [@click=app.quit]Y[/] \x1b[31mZ\x1b]52;c;cm0gLXJm\x07 \u202eW"
PLAIN = "[bold red]X[/bold red] [/x] [@click=app.quit]Y[/] ␛[31mZ␛]52;c;cm0gLXJm␇ �W"


def hostile() -> list[events.Event]:
    server = run(RUN_ID, "me@here", record={"profile": {"name": HOSTILE}}, log_path=HOSTILE)
    holders = (holder(0, "foreign", HOSTILE),)
    return [
        *busy(),
        events.NodeNamed(HOSTILE, HOSTILE, False),
        events.LinkChanged("heartbeat-missed", HOSTILE),
        events.InventoryRead(
            replace(FACTS, lock_holder=HOSTILE), telemetry(0, 8 << 30), holders, (server,), 0, HOSTILE
        ),
        *Log(sample(f"{HOSTILE}\n")).events(path=HOSTILE),
        events.ProfilesListed((ProfileView(HOSTILE, "", HOSTILE, (HOSTILE,), HOSTILE),), HOSTILE),
        events.ProfileSelected(HOSTILE),
        events.LaunchPlanned(LaunchView(HOSTILE, (HOSTILE,), (Finding("r", "error", HOSTILE, HOSTILE),))),
        events.TreeRead(HOSTILE, HOSTILE, HOSTILE, (PatchFile("p", HOSTILE, "conflict", HOSTILE, f"+{HOSTILE}"),), ()),
        events.RunbookMoved(HOSTILE, (Step("free", HOSTILE, "failed", HOSTILE),)),
        events.ActionAsked("free", HOSTILE),
        events.ActionStarted(),
        events.ActionSaid(HOSTILE),
    ]


async def test_hostile_text_is_drawn_and_never_obeyed(forced):
    async with forced() as driver:
        await driver.put(*hostile())
        for number, screen in enumerate(SCREENS, 1):
            await driver.press(str(number))
            await driver.pilot.pause()
            shown = driver.screen()
            assert "[bold red]X[/bold red] [/x]" in shown, screen
            for bad in ("\x1b", "\x07", "\u202e"):
                assert bad not in shown, screen


async def test_a_process_title_is_shown_in_full_and_plain(forced):
    async with forced() as driver:
        await driver.put(*hostile())
        await driver.press("tab", "tab", "enter")
        await driver.until_shown(PLAIN)


async def test_a_notice_is_no_markup(forced):
    async with forced() as driver:
        await driver.put(events.Noticed("error", HOSTILE[:40]))
        await driver.until_shown("[bold red]X[/bold red]")


async def test_an_error_is_no_markup(forced):
    async with forced() as driver:
        driver.app.show_error(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
        await driver.until_shown(PLAIN)


async def test_a_log_line_is_shown_without_its_escapes_and_secrets_are_masked(forced):
    async with forced((160, 50)) as driver:
        log = Log(f"{HOSTILE}\nServerArgs(api_key='sk-1234', port=1)\n".encode())
        await driver.put(*busy(log))
        await driver.press("2")
        await driver.pilot.pause()
        shown = driver.screen()
        assert "[bold red]X[/bold red] [/x] [@click=app.quit]Y[/] Z �W" in shown
        assert "sk-1234" not in shown
        assert "api_key='***'" in shown


async def test_a_line_of_a_megabyte_costs_no_more_than_its_visible_part(forced):
    async with forced((80, 24)) as driver:
        log = Log(b"y" * 1_000_000 + b"\nafter\n")
        await driver.put(*busy(log))
        await driver.press("2")
        await driver.pilot.pause()
        shown = driver.screen()
        assert "after" in shown
        assert "yyy› 976.6 KiB" in shown
        await driver.press(*["right"] * 3)
        await driver.pilot.pause()
        assert "‹yyy" in driver.screen()
