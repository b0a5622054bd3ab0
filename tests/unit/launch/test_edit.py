"""profiles edit, duplicate and diff, as they are typed: nothing invalid is saved, nothing typed is lost."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from console import paths
from console.actions import edit_profile
from console.actions.editor import find_editor
from console.cli.profiles import COMMAND
from console.errors import Refused, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DEBUG = "kimi-k2.5-eagle3-debug"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make $EDITOR a program of these Python lines, which see the file as `path`."""

    def make(lines: str) -> None:
        program = tmp_path / "the editor.py"
        program.write_text(f"import pathlib, sys\npath = pathlib.Path(sys.argv[1])\n{lines}\n")
        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.setenv("EDITOR", f"{sys.executable} '{program}'")

    return make


def run(*words: str) -> Result:
    return CliRunner().invoke(COMMAND, words)


def answer(*words: str) -> dict[str, Any]:
    given: dict[str, Any] = json.loads(run(*words, "--json").stdout)
    return given


def mine(home: Path, text: str = "model_path: /m # mine\nport: 1234\n") -> Path:
    path = home / "config" / "profiles" / "mine.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def drafts(home: Path) -> list[str]:
    folder = home / "state" / "drafts"
    return sorted(each.name for each in folder.iterdir()) if folder.is_dir() else []


def test_a_shipped_profile_is_copied_to_the_users_folder_and_found_there(home: Path, editor: Any) -> None:
    editor("path.write_text(path.read_text() + 'port: 8123\\n')")
    done = run("edit", DEBUG)
    copy = home / "config" / "profiles" / f"{DEBUG}.yaml"
    assert (done.exit_code, done.stdout) == (0, f"saved {copy}\n")
    assert f"ships with the console: your copy goes to {copy}" in done.stderr
    assert copy.read_text().startswith((paths.shipped_profiles() / f"{DEBUG}.yaml").read_text())
    assert answer("show", DEBUG)["profile"]["port"] == 8123
    assert drafts(home) == []


def test_the_users_own_file_is_edited_in_place_with_its_mode(home: Path, editor: Any) -> None:
    path = mine(home)
    path.chmod(0o640)
    editor("path.write_text(path.read_text().replace('1234', '4321'))")
    told = answer("edit", "mine")
    assert (told["ok"], told["profile"], told["state"], told["path"]) == (True, "mine", "saved", str(path))
    assert path.read_text() == "model_path: /m # mine\nport: 4321\n"
    assert path.stat().st_mode & 0o777 == 0o640


def test_an_invalid_text_is_kept_as_a_private_draft_with_file_and_line_and_taken_up(home: Path, editor: Any) -> None:
    path = mine(home)
    editor("path.write_text('model_path: /m\\ntp_sizes: 8\\nport: x\\n')")
    failed = run("edit", "mine")
    draft = home / "state" / "drafts" / "mine.yaml"
    assert failed.exit_code == 2
    assert f"{draft}:2:1: unknown key 'tp_sizes' (nearest: tp_size)" in failed.stderr
    assert f"{draft}:3:1: port: wants a whole number" in failed.stderr
    assert f"kept as a draft: {draft}" in failed.stderr
    assert path.read_text().endswith("port: 1234\n")
    assert draft.stat().st_mode & 0o777 == 0o600
    editor("path.write_text(path.read_text().replace('tp_sizes', 'tp_size').replace('x', '7'))")
    again = run("edit", "mine")
    assert again.exit_code == 0
    assert "the draft that was kept is taken up" in again.stderr
    assert path.read_text() == "model_path: /m\ntp_size: 8\nport: 7\n"
    assert drafts(home) == []


@pytest.mark.parametrize(
    ("does", "code", "kept"),
    [
        ("pass", 0, False),
        ("path.write_bytes(b'\\xff\\xfe')", 2, True),
        ("path.write_text('port: 5\\n'); sys.exit(1)", 2, True),
        ("path.write_text('- not\\n- a mapping\\n')", 2, True),
        ("path.write_text('name: other\\nmodel_path: /m\\n')", 2, True),
        ("path.write_text('extends: mine\\nmodel_path: /m\\n')", 2, True),
        ("path.write_text('extends: nowhere\\nmodel_path: /m\\n')", 2, True),
        ("path.write_text('a: ' + 'x' * 2_000_000)", 2, True),
    ],
)
def test_whatever_the_editor_leaves_the_profile_stands_and_the_text_is_kept(
    home: Path, editor: Any, does: str, code: int, kept: bool
) -> None:
    path = mine(home)
    before = path.read_text()
    editor(does)
    assert run("edit", "mine").exit_code == code
    assert path.read_text() == before
    assert bool(drafts(home)) == kept


def test_a_file_changed_meanwhile_is_not_written_over(home: Path, editor: Any) -> None:
    path = mine(home)
    editor(f"path.write_text('model_path: /mine\\n'); pathlib.Path({str(path)!r}).write_text('model_path: /theirs\\n')")
    refused = run("edit", "mine")
    assert refused.exit_code == 5
    assert "was changed while you edited; your text is kept in" in refused.stderr
    assert path.read_text() == "model_path: /theirs\n"
    assert (home / "state" / "drafts" / "mine.yaml").read_text() == "model_path: /mine\n"
    editor("pass")
    again = run("edit", "mine")
    assert "the profile was changed since that draft was begun" in again.stderr
    assert path.read_text() == "model_path: /mine\n", "the draft was valid, and its writer was told"


def test_set_writes_into_the_file_and_leaves_the_comments(home: Path) -> None:
    path = mine(home)
    assert run("edit", "mine", "--set", "port=9", "--set", "speculative.algorithm=EAGLE3").exit_code == 0
    assert path.read_text() == "model_path: /m # mine\nport: 9\nspeculative: {algorithm: EAGLE3}\n"
    shown = run("edit", "mine", "--set", "port=10", "--dry-run")
    assert "-port: 9\n+port: 10\n" in shown.stdout
    assert run("edit", "mine", "--set", "prot=10").exit_code == 2
    assert run("edit", "mine", "--set", "port=x").exit_code == 2
    assert "port: 9\n" in path.read_text()
    assert drafts(home) == []


def test_set_does_not_write_over_a_draft(home: Path, editor: Any) -> None:
    mine(home)
    editor("path.write_text('prot: 1\\n')")
    run("edit", "mine")
    assert run("edit", "mine", "--set", "port=9").exit_code == 5


def test_two_files_of_one_name_do_not_share_a_draft(home: Path, editor: Any, tmp_path: Path) -> None:
    mine(home)
    editor("path.write_text('prot: 1\\n')")
    run("edit", "mine")
    (tmp_path / "mine.yaml").write_text("model_path: /other\n")
    refused = run("edit", "./mine.yaml")
    assert refused.exit_code == 5
    assert "a draft of" in refused.stderr


def test_the_editor_is_words_and_never_a_shell(tmp_path: Path) -> None:
    assert find_editor({"VISUAL": f"{sys.executable} -c 'x y'", "EDITOR": "no"}) == (sys.executable, "-c", "x y")
    for wrong in ("no-such-editor-here", "'", "   x; rm"):
        with pytest.raises(UsageError, match=r"\$EDITOR"):
            find_editor({"EDITOR": wrong, "PATH": str(tmp_path)})
    with pytest.raises(UsageError, match="no editor"):
        find_editor({"PATH": str(tmp_path)})


def test_without_a_terminal_no_editor_is_guessed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine(home)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    refused = run("edit", "mine")
    assert refused.exit_code == 2
    assert "--set KEY=VALUE" in refused.stderr
    assert drafts(home) == []


def test_duplicate_renames_and_writes_over_nothing(home: Path) -> None:
    assert run("duplicate", DEBUG, "mine2", "--dry-run").exit_code == 0
    assert not (home / "config").exists()
    made = home / "config" / "profiles" / "mine2.yaml"
    assert answer("duplicate", DEBUG, "mine2")["path"] == str(made)
    assert "name: mine2\n" in made.read_text()
    assert made.read_text().startswith("# For reading shapes"), "comments stay"
    assert answer("diff", DEBUG, "mine2")["differs"] == []
    assert run("duplicate", DEBUG, "mine2").exit_code == 5
    assert run("duplicate", DEBUG, "kimi-k2.5-eagle3").exit_code == 5
    assert run("duplicate", DEBUG, "../out").exit_code == 2
    assert run("duplicate", "nowhere", "x").exit_code == 2


def test_diff_names_fields_with_both_values_and_places_base_resolved_and_secrets_masked(home: Path) -> None:
    mine(home, "model_path: /m\nenv: {HF_TOKEN: one, A: same}\nargs: {x: sk-0123456789abcdefghij}\n")
    other = mine(home).with_name("other.yaml")
    mine(home, "model_path: /m\nenv: {HF_TOKEN: one, A: same}\nargs: {x: sk-0123456789abcdefghij}\n")
    other.write_text("extends: mine\nenv: {HF_TOKEN: two}\nargs: {x: sk-abcdefghij0123456789}\nport: 5\n")
    differs = {each["key"]: each for each in answer("diff", "mine", "other")["differs"]}
    assert list(differs) == ["port", "args.x", "env.HF_TOKEN"]
    assert differs["port"] == {"key": "port", "a": 30000, "b": 5, "a_from": "", "b_from": f"{other}:4:1"}
    assert differs["env.HF_TOKEN"]["a"] == differs["env.HF_TOKEN"]["b"] == "***"
    shown = run("diff", "mine", "other")
    assert f"port: 30000 | 5 ({other}:4:1)" in shown.stdout
    assert "one" not in shown.stdout
    assert "0123456789" not in shown.stdout
    assert run("diff", "mine", "mine").stdout == "mine and mine run the same\n"


def test_a_draft_of_which_only_the_text_is_left_is_taken_up(home: Path) -> None:
    mine(home)
    here = paths.locate()
    draft = edit_profile.begin("mine", here)
    draft.path.write_text("model_path: /other\n")
    draft.path.with_suffix(".base.json").write_text("garbage")
    again = edit_profile.begin("mine", here)
    assert again.is_old
    assert again.text == "model_path: /other\n"
    with pytest.raises(Refused, match="a draft is kept"):
        edit_profile.set_values("mine", ("port=1",), here)


def test_the_keys_are_told_with_flag_and_releases() -> None:
    told = run("keys", "speculative.num_steps").stdout
    assert "--speculative-num-steps: SGLang 0.4.6.post1 to 0.5.23" in told
    every = answer("keys")["keys"]
    assert all(each["note"] and each["wants"] for each in every), [e["key"] for e in every if not e["note"]]
    assert run("keys", "speculativ.num_steps").exit_code == 2
