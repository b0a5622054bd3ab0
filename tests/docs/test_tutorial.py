"""The tutorial can be walked: each command, in order, ends with the code that it says and shows what is shown."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from console.cli import main
from tests.cli import PROGRAM, Console, free_port
from tests.docs.commands import Command, written

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
OFFLINE = ("profiles", "config", "rules", "lint", "completion", "explain")
"""Verbs that need no node: these are run in every test run."""
SHOWN = re.compile(r"^ {4}(?!…)(.*)$", re.MULTILINE)


@pytest.fixture
def console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Console]:
    made = Console(tmp_path / "home", free_port())
    made.env["SPEC_CONSOLE_DEMO_PORT"] = str(made.port)
    monkeypatch.chdir(tmp_path)
    yield made
    if list(made.home.rglob("run.json")):
        run(made, Command("", ("free", "demo", "--yes"), 0))


def run(console: Console, command: Command) -> str:
    done = subprocess.run(
        [*PROGRAM, *command.words],
        env={**console.environ(), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    told = done.stdout + done.stderr
    assert done.returncode == command.code, f"{command.line}\n{told}"
    return told


def promised(page: str) -> Iterator[tuple[str, list[str]]]:
    """Each `sh` block's text, and the lines that are shown below it."""
    for part in page.split("```sh\n")[1:]:
        block, _, below = part.partition("```")
        yield block, SHOWN.findall(below.split("```")[0])


def test_it_has_the_story_from_end_to_end() -> None:
    verbs = [command.words[0] for command in written(PAGE)]
    for verb in ("free", "patch", "launch", "probe", "logs", "draft", "sweep", "compare", "runbook"):
        assert verb in verbs


def test_what_needs_no_node_does_what_it_says(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(console.home))
    commands = [command for command in written(PAGE) if command.words[0] in OFFLINE]
    assert len(commands) > 5
    for command in commands:
        done = CliRunner().invoke(main, command.words)
        assert done.exit_code == command.code, f"{command.line}\n{done.output}"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_command_does_what_it_says(console: Console) -> None:
    told: dict[str, str] = {}
    for command in written(PAGE):
        told[command.line] = told.get(command.line, "") + run(console, command)
    for block, lines in promised(PAGE.read_text(encoding="utf-8")):
        said = "".join(text for line, text in told.items() if line in block.replace("\\\n", " "))
        for line in lines:
            wanted = r".*".join(map(re.escape, line.strip().split("…")))
            assert re.search(wanted, said), f"{line!r} is not in what was said:\n{said}"
