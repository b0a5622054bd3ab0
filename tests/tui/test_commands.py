"""The command line's language: what is understood, what is completed, what is said of the rest; and what is kept."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.errors import UsageError
from console.state.model import GpuState, ProfilesState, ProfileView, ServersState
from console.state.runs_state import RunsState
from console.tui.command_history import LIMIT, CommandHistory, masked
from console.tui.commands import Said, about, complete, extended, offers, parse, words
from console.tui.keys import KEYS, KeyTable
from console.tui.local_files import local_files
from tests.examples import examples
from tests.tui.events import FACTS, stored
from tests.tui.test_keys import READY
from tests.unit.state.samples import holder, run

if TYPE_CHECKING:
    from pathlib import Path

TABLE = KeyTable()
PROFILES = ProfilesState((ProfileView("kimi-baseline", ""), ProfileView("kimi-eagle3", "")), "kimi-baseline")
RUNS = RunsState((replace(stored("a1", "kimi", 1.0, None), tags=("nightly", "new")), stored("b2", "kimi", 2.0, None)))
STATE = replace(
    READY, profiles=PROFILES, servers=ServersState((run("r1", "me"), run("r2", "you")), operator="me"), runs=RUNS
)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("free", Said("free")),
        (":free", Said("free")),
        ("  launch   kimi-eagle3 ", Said("launch", "kimi-eagle3")),
        ("launch", Said("launch")),
        ("stop r2", Said("stop", "r2")),
        ("screen logs", Said("screen.logs")),
        ("screen.logs", Said("screen.logs")),
        ("select kimi-eagle3", Said("select", "kimi-eagle3")),
        ("log /logs/a file with blanks.log", Said("log.open", "/logs/a file with blanks.log")),
        ("log", Said("log.open")),
        ("theme light", Said("theme", "light")),
        ("runs.tags nightly -old", Said("runs.tags", "nightly -old")),
        ("runs.note  after the driver update ", Said("runs.note", "after the driver update")),
        ("runs.pin b2", Said("runs.pin", "b2")),
        ("log.filter !a  b", Said("log.filter", "!a  b")),
        ("log.save /tmp/a b.log", Said("log.save", "/tmp/a b.log")),
        ("launch.edit kimi-eagle3", Said("launch.edit", "kimi-eagle3")),
        ("q", Said("quit")),
        ("?", Said("help")),
    ],
)
def test_what_is_understood(line: str, said: Said) -> None:
    assert parse(line, TABLE, STATE) == said


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("lanch", "no command is called 'lanch'", "Nearest: launch."),
        ("xyzzy", "no command is called 'xyzzy'", "Tab shows them all."),
        ("launch kimi-eagle", "no profile is called 'kimi-eagle'", "Nearest: kimi-eagle3."),
        ("launch zz", "no profile is called 'zz'", "There are: kimi-baseline, kimi-eagle3."),
        ("screen", "screen: which screen?", "There are: node, logs, launch, patches, probe, runs."),
        ("screen lgos", "no screen is called 'lgos'", "Nearest: logs."),
        ("stop r9", "no server is called 'r9'", "There are: r1, r2."),
        ("runs.pin b9", "no run is called 'b9'", "There are: a1, b2."),
        ("nodes x", "no node is called 'x'", "There is none."),
        ("theme neon", "no theme is called 'neon'", "There are: dark, light, ansi."),
        ("reread now", "reread takes nothing behind it", "Enter reread alone."),
    ],
)
def test_what_is_not_understood_is_answered_by_what_would_be(line: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(line, TABLE, STATE)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@given(st.text(max_size=40))
@settings(max_examples=examples(100), deadline=None)
def test_any_line_is_understood_or_refused(line: str) -> None:
    with contextlib.suppress(UsageError):
        said = parse(line, TABLE, STATE)
        assert said.action in TABLE or said.action == "select"
    complete(line, TABLE, STATE)
    about(line, TABLE, STATE)


def test_a_free_may_name_what_can_be_ended_without_the_nodes_name_typed_out():
    state = replace(STATE, gpus=GpuState(holders=(holder(0, "same-user", pid=4242), holder(1, "foreign", pid=7))))
    assert parse("free --pid 4242", TABLE, state) == Said("free", "--pid 4242")
    assert complete("free ", TABLE, state) == ("free --pid 4242",)
    for line in ("free --pid 7", "free 4242", "free --pid 1"):
        with pytest.raises(UsageError, match="no target is called") as caught:
            parse(line, TABLE, state)
        assert "--pid 4242" in caught.value.hint


def test_every_action_is_a_word():
    assert {key.id for key in KEYS if key.group != "screens"} - set(words(TABLE)) == {"command"}


@pytest.mark.parametrize(
    ("line", "found", "then"),
    [
        ("sto", ("stop",), "stop "),
        ("pat", ("patch", "patch_in_place"), "patch"),
        ("rev", ("revert",), "revert"),
        ("launch ", ("launch kimi-baseline", "launch kimi-eagle3"), "launch kimi-"),
        ("launch kimi-e", ("launch kimi-eagle3",), "launch kimi-eagle3"),
        ("screen l", ("screen logs", "screen launch"), "screen l"),
        ("log ", ("log /x.log",), "log /x.log"),
        ("reread x", (), "reread x"),
        ("runs.pin ", ("runs.pin a1", "runs.pin b2"), "runs.pin "),
        ("runs.tags n", ("runs.tags new", "runs.tags nightly"), "runs.tags n"),
        ("runs.tags x -ni", ("runs.tags x -nightly",), "runs.tags x -nightly"),
        ("runs.note n", (), "runs.note n"),
        ("zz", (), "zz"),
    ],
)
def test_what_is_completed(line: str, found: tuple[str, ...], then: str) -> None:
    state = replace(STATE, servers=ServersState((replace_log(run("r1", "me"), "/x.log"),), operator="me"))
    assert complete(line, TABLE, state) == found
    assert extended(line, found) == then


def replace_log(server, path: str):
    return replace(server, log_path=path)


def test_local_files_are_offered_where_a_file_is_taken(tmp_path: Path) -> None:
    for name in ("one.log", "other.txt", ".hidden"):
        (tmp_path / name).write_text("")
    (tmp_path / "folder").mkdir()

    def found(line: str) -> tuple[str, ...]:
        return complete(line, TABLE, STATE, local_files)

    assert found(f"log.save {tmp_path}/") == tuple(
        f"log.save {tmp_path}/{name}" for name in ("folder/", "one.log", "other.txt")
    )
    assert found(f"log.save {tmp_path}/o") == (f"log.save {tmp_path}/one.log", f"log.save {tmp_path}/other.txt")
    assert found(f"runbook.load {tmp_path}/one") == (f"runbook.load {tmp_path}/one.log",)
    assert found(f"log.save {tmp_path}/.h") == (f"log.save {tmp_path}/.hidden",)
    assert found(f"log.save {tmp_path}/nowhere/") == ()
    assert found(f"log {tmp_path}/o") == (), "another machine's files are not those of this one"
    here = replace(STATE, node=replace(STATE.node, facts=replace(FACTS, hostname=socket.gethostname())))
    assert complete(f"log {tmp_path}/on", TABLE, here, local_files) == (f"log {tmp_path}/one.log",)


def test_what_a_word_does_is_said_and_why_it_does_not_now():
    assert about("launch kimi", TABLE, STATE) == "Launch [profile]"
    assert about("clear", TABLE, STATE) == "Clear checklist: not now: there is no checklist"
    assert about("unlock", TABLE, STATE) == "Allow changes again: not now: it is not read-only"
    assert about("lau", TABLE, STATE) == ""
    assert about("runs.tags", TABLE, STATE) == "Tags [nightly -old: one is added, one is taken off]"


def test_everything_is_offered_with_what_it_takes_and_why_it_cannot_be():
    found = {offer.line: offer for offer in offers(TABLE, STATE, "node")}
    assert {key.id.replace("screen.", "screen ") for key in KEYS} - set(found) == {"palette", "command"}
    assert found["launch kimi-eagle3"].why == ""
    assert found["clear"].why == "there is no checklist"
    assert found["select kimi-eagle3"].title == "Select kimi-eagle3"
    assert not found["log.filter"].is_here
    assert found["runs.pin b2"].title == "Pin as baseline, or unpin b2"
    assert found["runs.tags new"].title == "Tags new"
    for line in found:
        parse(line, TABLE, STATE)


# What is kept


def test_commands_are_kept_for_the_user_alone_newest_last_and_each_once(tmp_path: Path) -> None:
    path = tmp_path / "state" / "commands"
    history = CommandHistory(path)
    for line in ("free", "launch kimi", "free"):
        history.add(line)
    assert path.read_text() == "launch kimi\nfree\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["commands"]
    for number in range(LIMIT + 10):
        history.add(f"log /x/{number}")
    again = CommandHistory(path)
    again.read()
    assert len(again.lines) == LIMIT
    assert again.lines[-1] == f"log /x/{LIMIT + 9}"


def test_two_consoles_keep_what_the_other_has_added(tmp_path: Path) -> None:
    one, other = CommandHistory(tmp_path / "commands"), CommandHistory(tmp_path / "commands")
    one.read()
    other.read()
    one.add("free")
    other.add("stop")
    one.add("patch")
    assert (tmp_path / "commands").read_text() == "free\nstop\npatch\n"


def test_a_file_that_cannot_be_written_is_said_and_the_session_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    history = CommandHistory(tmp_path / "file" / "commands")
    history.add("free")
    assert history.lines == ("free",)
    assert "commands are not kept" in history.problem


def test_a_foreign_file_is_read_without_harm(tmp_path: Path) -> None:
    path = tmp_path / "commands"
    path.write_bytes(b"\xff\x1b[2Jfree\n\n" + b"x" * 100)
    history = CommandHistory(path)
    history.read()
    assert history.lines == ("�␛[2Jfree", "x" * 100)


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("log hf_abcdefghijklmnopqrst", "log ***"),
        ("log /x?api_key=abc&y=1", "log /x?api_key=***&y=1"),
        ("log HF_TOKEN=abc", "log HF_TOKEN=***"),
        ("log https://me:secret@host/x", "log https://me:***@host/x"),
        ("launch kimi-k2.5-eagle3", "launch kimi-k2.5-eagle3"),
        ("log /a/sk-not-long", "log /a/sk-not-long"),
    ],
)
def test_secrets_are_not_kept(line: str, kept: str) -> None:
    assert masked(line) == kept
