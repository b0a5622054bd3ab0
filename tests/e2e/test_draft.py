"""draft show|set|revert on the embedded node, by the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli import Console, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

PROFILE = "kimi-k2.5-eagle3"
TARGET = ("demo", "--profile", PROFILE)


@pytest.fixture
def console(tmp_path) -> Iterator[Console]:
    made = Console(tmp_path / "home", free_port())
    yield made
    made.leave()


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Console:
    """For what is refused: its draft stays as it was."""
    return Console(tmp_path_factory.mktemp("untouched") / "home", free_port())


def _file(console: Console) -> Path:
    _code, told, _ = console.run("draft", "show", *TARGET)
    return Path(told["path"])


@pytest.mark.slow
def test_it_is_shown_set_and_taken_back_to_the_byte(console):
    code, told, narration = console.run("draft", "show", *TARGET)
    assert code == 0, narration
    assert told["schema"] == "spec-console/draft/1"
    assert told["ids"] == told["trained"] == told["resolved"]["eager"] == told["resolved"]["replay"] == [2, 30, 58]
    assert told["agrees"] is True
    assert told["patches"] == []
    file = _file(console)
    original = file.read_bytes()

    code, told, narration = console.run("draft", "set", *TARGET, "--ids", "1,29,57", "--dry-run")
    assert code == 0
    assert told["after"]["resolved"]["eager"] == [1, 29, 57]
    assert told["after"]["agrees"] is False
    assert any("NOT what was trained" in line for line in told["plan"])
    assert file.read_bytes() == original

    code, told, narration = console.run("draft", "set", *TARGET, "--ids", "1,29,57")
    assert code == 5
    assert "not confirmed" in told["error"]["message"]
    assert file.read_bytes() == original

    code, told, narration = console.run("draft", "set", *TARGET, "--ids", "1,29,57", "--yes")
    assert code == 0, narration
    assert told["resolved"]["eager"] == [1, 29, 57]
    changed, was = json.loads(file.read_bytes()), json.loads(original)
    assert changed["eagle_config"].pop("eagle_aux_hidden_state_layer_ids") == [1, 29, 57]
    assert was["eagle_config"].pop("eagle_aux_hidden_state_layer_ids") == [2, 30, 58]
    assert list(changed.items()) == list(was.items())

    code, told, narration = console.run("draft", "show", *TARGET)
    assert code == 1, "what is captured is not what was trained"
    assert told["write"] == [2, 30, 58]
    code, status, _ = console.run("status", "demo")
    assert [entry["patches"] for entry in status["patches"]] == [["draft-layers"]]

    code, told, narration = console.run("draft", "set", *TARGET, "--trained", "--yes")
    assert code == 0, narration
    assert told["agrees"] is True
    assert len(told["patches"]) == 2

    code, told, narration = console.run("draft", "revert", *TARGET, "--yes")
    assert (code, told["state"]) == (0, "original"), narration
    assert file.read_bytes() == original
    code, status, _ = console.run("status", "demo")
    assert status["patches"] == []


@pytest.mark.slow
def test_what_is_there_already_is_not_written_again(console):
    file = _file(console)
    inode = file.stat().st_ino
    code, told, narration = console.run("draft", "set", *TARGET, "--trained")
    assert code == 0, narration
    assert told["patches"] == []
    assert file.stat().st_ino == inode
    code, told, narration = console.run("draft", "revert", *TARGET)
    assert code == 0, narration


def test_a_link_is_refused_with_what_to_do(console):
    file = _file(console)
    blob = file.parents[1] / "blob"
    file.rename(blob)
    file.symlink_to(blob)
    before = blob.read_bytes()
    code, told, _ = console.run("draft", "set", *TARGET, "--ids", "1,29,57", "--yes")
    assert code == 5
    assert "is a link to" in told["error"]["message"]
    assert "--local-dir" in told["error"]["hint"]
    assert "cp -rL" in told["error"]["hint"]
    code, told, _ = console.run("draft", "set", *TARGET, "--ids", "1,29,57", "--dry-run")
    assert (code, told["after"]["resolved"]["eager"]) == (5, [1, 29, 57]), "what would be refused is shown all the same"
    assert blob.read_bytes() == before
    assert file.is_symlink()


@pytest.mark.slow
def test_an_edit_on_top_is_left_by_revert(console):
    file = _file(console)
    code, _, narration = console.run("draft", "set", *TARGET, "--ids", "1,29,57", "--yes")
    assert code == 0, narration
    mine = file.read_bytes().replace(b"29", b"28")
    file.write_bytes(mine)
    code, told, _ = console.run("draft", "revert", *TARGET, "--yes")
    assert (code, told["state"]) == (1, "drifted")
    assert told["why"]
    assert file.read_bytes() == mine


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((), 2, "which ids?"),
        (("--trained", "--ids", "1,2"), 2, "which ids?"),
        (("--trained", "--set", "training.capture_layer_outputs=[58,30,2]"), 5, "order of layers"),
        (("--trained", "--set", "training.capture_layer_outputs=[2,30,60]"), 5, "layer 60 is never captured"),
        (("--trained", "--set", "training.capture_layer_outputs=[]"), 2, "does not say what its draft was trained on"),
        (("--ids", "1", "--set", "speculative.draft_model_path=org/draft"), 1, "hub id"),
        (("--ids", "1", "--set", "speculative.draft_model_path=/nowhere"), 1, "has no config.json"),
        (("--ids", "1", "--set", "speculative=null"), 2, "has no draft"),
    ],
)
def test_what_cannot_be_set(untouched, words, code, message):
    got, told, narration = untouched.run("draft", "set", *TARGET, *words, "--yes")
    assert got == code, narration
    assert message in told["error"]["message"]


@pytest.mark.slow
def test_a_config_with_two_meanings_is_refused(console):
    file = _file(console)
    file.write_bytes(b'{"eagle_config": {}, "eagle_config": {"x": NaN}}')
    code, told, _ = console.run("draft", "set", *TARGET, "--ids", "2,30,58", "--yes")
    assert code == 2
    assert "stands twice" in told["error"]["message"] or "NaN" in told["error"]["message"]


@pytest.mark.slow
def test_a_running_server_with_this_draft_is_named(console):
    code, started, narration = console.run("launch", "demo", PROFILE, "--yes", *console.sets())
    assert code == 0, narration
    code, told, _ = console.run("draft", "set", *TARGET, "--ids", "1,29,57", "--dry-run")
    assert code == 0
    (server,) = told["in_use"]
    assert started["server"]["id"] in server
    assert any("a launch reads the change" in line for line in told["plan"])
