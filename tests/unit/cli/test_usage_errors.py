"""With --json every failure is one object on stdout: click's own errors too, and an error names its node."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from console.cli import main
from console.errors import Unreachable

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("words", "schema", "says"),
    [
        ("status --json", "status", "Missing argument"),
        ("stauts --json", "usage", "Did you mean status?"),
        ("--jsno --json", "usage", "No such option"),
        ("runs list --limit x --json", "runs", "'x' is not a valid integer"),
        ("runs lsit --json", "runs", "lsit"),
        ("draft set demo --profile p --ids x --json", "draft", "no list of whole numbers"),
        ("probe demo --bogus --json", "probe", "No such option"),
        ("completion powershell --json", "completion", "powershell"),
    ],
)
def test_an_error_of_usage_is_json_where_json_is_asked_for(words: str, schema: str, says: str) -> None:
    done = CliRunner().invoke(main, words.split(), prog_name="spec-console")
    told = json.loads(done.stdout)
    assert (done.exit_code, told["ok"], told["schema"]) == (2, False, f"spec-console/{schema}/1")
    assert says in told["error"]["message"]
    assert told["error"]["exit_code"] == 2
    assert told["error"]["hint"].startswith("`spec-console")
    assert "Error: " in done.stderr


@pytest.mark.parametrize("words", ["status", "stauts", "logs demo --bogus", "probe demo --bogus -- --json"])
def test_without_json_nothing_is_on_stdout(words: str) -> None:
    done = CliRunner().invoke(main, words.split(), prog_name="spec-console")
    assert (done.exit_code, done.stdout) == (2, "")


@pytest.mark.parametrize("verb", ["status", "free", "doctor"])
def test_an_error_of_one_of_the_verbs_for_several_nodes_names_its_node(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(tmp_path))

    async def fails(_session: object) -> None:
        raise Unreachable("it cannot be reached")

    monkeypatch.setattr("console.remote.session.Session.open", fails)
    told = json.loads(CliRunner().invoke(main, [verb, "dmeo", "--json"]).stdout)
    assert (told["node"], told["error"]["exit_code"]) == ("dmeo", 3)
