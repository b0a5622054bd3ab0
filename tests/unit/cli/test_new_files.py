"""Every verb that writes a file: what is there already is refused (5), by the plan too, and stays as it is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from console import new_file
from console.cli import main
from console.errors import Refused, UsageError
from console.store.recordings import Recorder
from console.tui import log_reach

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LINE = "python3 -m sglang.launch_server --model-path /m"
VERBS = {
    "out.tgz": ("doctor", "local", "--bundle", "out.tgz"),
    "best.yaml": ("sweep", "demo", "kimi-k2.5-eagle3", "--save-profile", "best.yaml"),
    "config/profiles/mine.yaml": ("profiles", "import", "start.sh", "--name", "mine", "--write"),
    "config/profiles/copy.yaml": ("profiles", "duplicate", "kimi-k2.5-eagle3", "copy"),
    "config/patches/my-rows": ("patch", "new", "my-rows"),
}


def file(path: Path) -> None:
    path.write_text("mine")


def link(path: Path) -> None:
    path.symlink_to(path.with_name("elsewhere"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "start.sh").write_text(LINE)
    return tmp_path


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
@pytest.mark.parametrize("put", [file, link])
@pytest.mark.parametrize("where", VERBS)
def test_nothing_is_written_over(home: Path, where: str, put: Callable[[Path], None], more: tuple[str, ...]) -> None:
    path = home / where
    path.parent.mkdir(parents=True, exist_ok=True)
    put(path)
    before = sorted(home.rglob("*")), _written(path)
    done = CliRunner().invoke(main, (*VERBS[where], *more))
    assert (done.exit_code, "is there already" in done.stderr) == (5, True), done.stderr
    assert (sorted(home.rglob("*")), _written(path)) == before


def _written(path: Path) -> tuple[int, int, int, int]:
    """What a write would change; a look at a link changes its time of access."""
    told = os.lstat(path)
    return told.st_ino, told.st_mode, told.st_size, told.st_mtime_ns


def test_what_the_console_itself_writes_is_refused_alike(home: Path) -> None:
    (home / "folder").mkdir()
    link(home / "link")
    for name in ("start.sh", "folder", "link"):
        with pytest.raises(Refused, match="is there already"):
            log_reach.save(name, ["a line"])
        with pytest.raises(Refused, match="is there already") as refused:
            Recorder(home / name, {"node": "n"}, ())
        assert "--record-over" in refused.value.hint
    assert (home / "start.sh").read_text() == LINE


def test_a_copy_that_would_be_refused_is_refused_when_it_is_planned() -> None:
    for new, code in (("kimi-k2.5-eagle3-debug", 5), ("../out", 2)):
        words = ("profiles", "duplicate", "kimi-k2.5-eagle3", new)
        assert {CliRunner().invoke(main, (*words, *more)).exit_code for more in ((), ("--dry-run",))} == {code}


def test_a_file_that_cannot_be_written_is_no_refusal(home: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        new_file.write(home / "no" / "folder", "text")
    new_file.write(home / "own", "text\n", mode=0o600)
    assert ((home / "own").read_text(), (home / "own").stat().st_mode & 0o777) == ("text\n", 0o600)
