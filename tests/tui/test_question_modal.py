"""A question of connecting over the screen: masked, answered once, refused by Escape, taken away when nobody waits."""

from __future__ import annotations

import asyncio

from textual.app import App
from textual.widgets import Input

from console.remote import prompts
from console.remote.prompts import Question
from console.tui.asking import on_screen
from console.tui.modals.question import QuestionModal
from tests.waiting import until

KEY = prompts.passphrase("/home/me/.ssh/id_ed25519", "gpu-node-1", again=False)


def shown(app: App[None]) -> str:
    return "\n".join("".join(part.text for part in line) for line in app.screen._compositor.render_strips())


async def asked(app: App[None], question: Question) -> asyncio.Task[str | None]:
    task = asyncio.ensure_future(on_screen(app)(question))
    await until(lambda: isinstance(app.screen, QuestionModal) and bool(app.screen.query(Input)))
    return task


async def test_it_shows_who_asks_for_what_and_not_what_is_typed():
    app = App[None]()
    async with app.run_test(size=(80, 24)) as pilot:
        task = await asked(app, KEY)
        await pilot.press(*"sesame")
        await pilot.pause()
        screen = shown(app)
        assert "gpu-node-1 asks for the passphrase of /home/me/.ssh/id_ed25519" in screen
        assert "sesame" not in screen
        await pilot.press("enter")
        assert await task == "sesame"
        assert not isinstance(app.screen, QuestionModal)


async def test_escape_is_no_answer_and_enter_alone_is_not_one_either():
    app = App[None]()
    async with app.run_test() as pilot:
        task = await asked(app, prompts.password("gpu-node-1"))
        await pilot.press("enter")
        await pilot.pause()
        assert not task.done()
        assert "nothing is typed yet" in shown(app)
        await pilot.press("escape")
        assert await task is None


async def test_a_code_is_seen_and_hostile_text_is_shown_plain():
    app = App[None]()
    async with app.run_test() as pilot:
        task = await asked(app, Question("[red]Enter\x1b]52;c;x\x07 code:", secret=False, asker="gpu\x1b[2J"))
        await pilot.press(*"123")
        await pilot.pause()
        assert "123" in shown(app)
        assert "[red]Enter␛]52;c;x␇ code:" in shown(app)
        assert "gpu␛[2J asks for an answer" in shown(app)
        await pilot.press("enter")
        assert await task == "123"


async def test_a_question_that_nobody_waits_for_any_more_goes_away():
    app = App[None]()
    async with app.run_test():
        task = await asked(app, KEY)
        task.cancel()
        await until(lambda: not isinstance(app.screen, QuestionModal))


async def test_a_hardware_key_that_waits_is_told_and_asks_nothing():
    app = App[None]()
    async with app.run_test():
        told = await on_screen(app)(Question("Confirm user presence for key", answered=False))
        assert told == ""
        assert not isinstance(app.screen, QuestionModal)
