"""Completion in real shells: what a Tab offers, fast and without a word when something is wrong."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from console.cli import main
from console.cli._candidates import candidates
from console.cli.complete import COMMAND
from console.cli.completion import SCRIPTS
from console.paths import Paths, shipped_profiles

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = f'#!/bin/sh\nexec {sys.executable} -c "from console.cli import main; main()" "$@"\n'
HOSTILE = "$(touch owned)"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    """A home with nodes, profiles and an ssh configuration, and `spec-console` on the path."""
    home, program = tmp_path / "home", tmp_path / "bin" / "spec-console"
    (home / "config" / "profiles").mkdir(parents=True)
    (home / "config" / "nodes.yaml").write_text("gpu-node-7: {}\n")
    (home / "config" / "profiles" / "mine.yaml").write_text("model_path: /m\n")
    (home / "config" / "profiles" / f"{HOSTILE}.yaml").write_text("model_path: /m\n")
    (home / ".ssh").mkdir()
    (home / ".ssh" / "config").write_text("Host alias-1 alias-2 *.lan\n  User me\nhost=alias-3\n")
    program.parent.mkdir()
    program.write_text(PROGRAM)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    folders = (tmp_path / "profiles", home / "config" / "profiles", shipped_profiles())
    return Paths(home / "config", home / "data", home / "state", folders)


def words(line: str, here: Paths) -> list[str]:
    return [each.word for each in candidates(line.split(" "), here)]


@pytest.mark.parametrize(
    ("line", "wanted", "unwanted"),
    [
        ("", ["runbook", "config", "profiles"], ["complete"]),
        ("patch ", ["plan", "apply", "verify"], ["demo"]),
        ("status ", ["demo", "local", "gpu-node-7", "alias-1", "alias-3"], ["*.lan"]),
        ("launch demo ", ["mine", "kimi-k2.5-eagle3"], [HOSTILE, "demo"]),
        ("launch --set a=b demo kimi", ["kimi-k2.5-eagle3"], ["mine"]),
        ("launch demo mine --al", ["--allow"], ["--env"]),
        ("launch demo mine --allow ", ["layer-outputs", "gpus-held"], ["mine"]),
        ("runbook demo mine --delivery ", ["overlay", "in-place"], []),
        ("patch plan demo ", ["eagle3-shapes"], ["mine"]),
        ("rules show wrong", ["wrong-widths"], ["layer-outputs"]),
        ("profiles validate mine ", ["mine"], []),
        ("profiles keys speculative.num", ["speculative.num_steps"], ["port"]),
        ("completion ", ["bash", "zsh", "fish"], []),
        ("stop demo extra ", [], ["demo"]),
        ("no-such-verb ", [], ["demo"]),
        ("explain ", [], ["mine"]),
    ],
)
def test_what_may_stand_next(here: Paths, line: str, wanted: list[str], unwanted: list[str]) -> None:
    found = words(line, here)
    assert set(wanted) <= set(found)
    assert not set(unwanted) & set(found)
    typed = line.split(" ")[-1]
    assert all(each.startswith(typed) for each in found)


def test_every_verb_and_flag_is_offered(here: Paths) -> None:
    offered = words("", here)
    assert sorted({*offered, "complete"}) == main.list_commands(None)  # type: ignore[arg-type]
    assert set(words("runbook demo --", here)) >= {"--skip", "--insert", "--json", "--yes", "--help"}


def test_runs_are_offered_newest_first(here: Paths) -> None:
    import sqlite3

    here.data.mkdir(parents=True)
    assert words("runs export ", here) == []
    with sqlite3.connect(here.database) as journal:
        journal.execute("CREATE TABLE runs (seq INTEGER PRIMARY KEY, id TEXT, at REAL)")
        journal.executemany("INSERT INTO runs (id, at) VALUES (?, ?)", [("run-a", 1.0), ("run-b", 2.0)])
    assert words("runs export ", here) == ["run-b", "run-a"]
    assert words("compare run-b run-", here) == ["run-b", "run-a"]
    here.database.write_bytes(b"no database")
    assert words("runs export ", here) == []


@pytest.mark.parametrize("broken", ["nodes: [\n", "- 1\n", "\x00"])
def test_it_never_raises_and_says_nothing(here: Paths, broken: str) -> None:
    here.nodes_file.write_text(broken)
    for given in (["status", ""], ["--"], [], ["launch", "demo", "\x1b[31m"], ["a", "b", "--c", "\udcff"]):
        done = CliRunner().invoke(COMMAND, ["--", *given])
        assert (done.exit_code, done.stderr, done.exception) == (0, "", None)


def test_it_imports_nothing_that_takes_long(here: Paths) -> None:
    heavy = ("textual", "asyncssh", "paramiko", "httpx", "pydantic", "asyncio")
    code = (
        "import sys; sys.argv = ['spec-console', 'complete', '--', {words}]; from console.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        f"sys.stderr.write(' '.join(each for each in {heavy} if each in sys.modules))"
    )
    for typed in ("'launch', 'demo', ''", "'runs', 'export', ''"):
        command = [sys.executable, "-c", code.format(words=typed)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        assert done.stderr == "", typed


def in_shell(shell: str, script: str) -> list[str]:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} on this machine")
    first = ["--norc", "-c"] if shell == "bash" else ["-f", "-c"] if shell == "zsh" else ["--no-config", "-c"]
    done = subprocess.run([program, *first, script], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_bash(here: Paths, tmp_path: Path) -> None:
    (tmp_path / "script").write_text(SCRIPTS["bash"])

    def typed(*line: str) -> list[str]:
        quoted = " ".join(f"'{word}'" for word in line)
        ask = f"COMP_WORDS=({quoted}); COMP_CWORD={len(line) - 1}; _spec_console"
        return in_shell(
            "bash", f"source ./script; complete -p spec-console; {ask}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        )

    known, *found = typed("spec-console", "runb")
    assert known == "complete -o default -F _spec_console spec-console"
    assert found == ["runbook"]
    assert "mine" in typed("spec-console", "launch", "demo", "")
    assert typed("~/../bin/spec-console", "stat")[1:] == ["status"], "a tilde is the shell's to fill in"
    assert typed("spec-console", "launch", "demo", "$(touch owned)")[1:] == [""]
    assert not (tmp_path / "owned").exists()


def test_bash_at_a_terminal(here: Paths, tmp_path: Path) -> None:
    import pty

    (tmp_path / "script").write_text(SCRIPTS["bash"])
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["PS1"] = "$ "
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
    seen = b""
    os.write(terminal, b"source ./script\nspec-console runb\t")
    try:
        while b"runbook " not in seen:
            seen += os.read(terminal, 4096)
    finally:
        os.write(terminal, b"\x03exit\n")
        os.close(terminal)
        os.waitpid(pid, 0)


def test_fish(here: Paths, tmp_path: Path) -> None:
    (tmp_path / "script").write_text(SCRIPTS["fish"])

    def typed(line: str) -> list[str]:
        return in_shell("fish", f"source ./script; complete -C '{line}'")

    assert typed("spec-console runb") == ["runbook"]
    assert "mine" in typed("spec-console launch demo ")
    assert "--allow\tLaunch in spite of this finding; recorded." in typed("spec-console launch demo mine --al")
    (tmp_path / "server.log").touch()
    assert "server.log" in typed("spec-console explain ser"), "files, where there is nothing else"


def test_zsh(here: Paths, tmp_path: Path) -> None:
    (tmp_path / "script").write_text(SCRIPTS["zsh"])
    stubs = "compdef() { :; }; compadd() { shift; print -l -- $@; }; _files() { print files; }"
    ask = (
        "words=(spec-console runb); CURRENT=2; _spec_console; words=(spec-console explain x); CURRENT=3; _spec_console"
    )
    assert in_shell("zsh", f"{stubs}; source ./script; {ask}") == ["runbook", "files"]
