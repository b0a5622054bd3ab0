"""A key that a passphrase locks, by each transport against a real sshd: asked of the person, kept nowhere."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console import paths, yaml_file
from console.cli._nodes import make_node
from console.cli._shared import Options
from console.errors import Unreachable
from console.tui.app import ConsoleApp
from console.tui.asking import on_screen
from console.tui.modals.error import ErrorModal
from console.tui.modals.question import QuestionModal
from tests.cli import Console, free_port
from tests.e2e.ways import NODE, by, outcome, way
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from console.remote.prompts import Question
    from tests.e2e.sshd import Sshd

pytestmark = pytest.mark.sshd
each = pytest.mark.parametrize("name", ["asyncssh", "openssh", "paramiko"])
SECRET = "open-sesame-7141"
OPTIONS = Options("connect", as_json=False, yes=False, dry_run=False, readonly=False, accept_new_host_key=False)


@pytest.fixture
def locked(sshd: Sshd) -> Path:
    """The user's only key, locked."""
    key = sshd.ssh / "id_ed25519"
    subprocess.run(["ssh-keygen", "-q", "-p", "-a", "1", "-P", "", "-N", SECRET, "-f", str(key)], check=True)
    return key


def answering(*answers: str | None) -> tuple[list[Question], Callable[[Question], object]]:
    asked: list[Question] = []

    async def ask(question: Question) -> str | None:
        asked.append(question)
        return answers[len(asked) - 1] if len(asked) <= len(answers) else None

    return asked, ask


def seen_by_others() -> str:
    """What `ps` shows of every process of this machine, environments too."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                found.append((folder / name).read_bytes().decode("utf-8", "replace"))
            except OSError:
                continue
    return "\n".join(found)


@each
async def test_its_passphrase_is_asked_for_and_found_nowhere_afterwards(name, sshd, locked, caplog):
    caplog.set_level(logging.DEBUG)
    asked, ask = answering("wrong", SECRET)
    async with way(name, ask=ask) as transport:
        assert (await outcome(transport, ["echo", "in"]))[1] == b"in\n"
        assert SECRET not in seen_by_others()
        assert SECRET not in getattr(transport, "log", "")
    assert [question.what for question in asked] == [f"the passphrase of {locked}"] * 2
    assert all(question.secret and NODE in question.asker for question in asked)
    assert SECRET not in caplog.text
    files = [path for folder in (sshd.home, sshd.runtime) for path in folder.rglob("*") if path.is_file()]
    assert not any(SECRET.encode() in path.read_bytes() for path in files)


@each
async def test_no_answer_is_a_refusal_and_nothing_more_is_asked(name, sshd, locked):
    asked, ask = answering(None)
    with pytest.raises(Unreachable, match=f"the question for the passphrase of {locked} was not answered"):
        async with way(name, ask=ask):
            pass
    assert len(asked) == 1


@each
async def test_where_nobody_can_be_asked_the_key_is_named(name, sshd, locked):
    with pytest.raises(Unreachable, match=f"the passphrase of {locked}, and there is no terminal") as caught:
        async with way(name):
            pass
    assert "ssh-add" in caught.value.hint


@by("asyncssh")
async def test_a_locked_key_that_the_node_does_not_know_is_not_asked_for(name, sshd, locked):
    other = sshd.ssh / "id_other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    (sshd.folder / "authorized_keys").write_text(other.with_suffix(".pub").read_text())
    sshd.configure(f"Host {NODE}", f"  IdentityFile {locked}", f"  IdentityFile {other}")
    asked, ask = answering()
    async with way(name, ask=ask) as transport:
        assert (await outcome(transport, ["echo", "in"]))[1] == b"in\n"
    assert asked == []


@by("asyncssh", others=("asyncssh", "openssh"))
def test_a_verb_without_a_terminal_ends_with_3_and_says_what_to_do(name, sshd, locked, tmp_path):
    console = Console(tmp_path / "console", free_port())
    (console.home / "config").mkdir(parents=True)
    node = {"host": NODE, "transport": name, "python": sys.executable}
    (console.home / "config" / "nodes.yaml").write_text(yaml_file.dump({"gpu": node}))
    assert "SSH_AUTH_SOCK" not in os.environ
    code, told, _ = console.run("agent", "ls", "gpu")
    assert (code, told["error"]["exit_code"]) == (3, 3)
    assert f"the passphrase of {locked}" in told["error"]["message"]
    assert "ssh-add" in told["error"]["hint"]


async def test_the_tui_asks_over_its_screen_and_keeps_nothing_of_the_answer(sshd, locked, tmp_path, monkeypatch):
    home = tmp_path / "console"
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(home))
    (home / "config").mkdir(parents=True)
    node = {"transport": "asyncssh", "python": sys.executable, "gpu_source": "none"}
    (home / "config" / "nodes.yaml").write_text(yaml_file.dump({NODE: node}))
    app = ConsoleApp(NODE, lambda: make_node(NODE, OPTIONS, paths.locate(), reconnect=True, ask=on_screen(app)))
    events: list[object] = []
    put = app.stream.put
    monkeypatch.setattr(app.stream, "put", lambda event: (events.append(event), put(event)))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(lambda: isinstance(app.screen, QuestionModal) and bool(app.screen.query("#typed")))
        await pilot.press("escape")
        await until(lambda: app.state.link.name == "disconnected")
        assert "was not answered" in str(app.failure)
        await until(lambda: isinstance(app.screen, ErrorModal))
        await pilot.press("escape")
        await pilot.press("r")
        await until(lambda: isinstance(app.screen, QuestionModal) and bool(app.screen.query("#typed")))
        await pilot.press(*SECRET, "enter")
        await until(lambda: app.state.link.is_up)
        assert SECRET not in repr(app.state)
    assert SECRET not in repr(events)
    assert not any(SECRET.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
