"""`lint` and `rules` as a user runs them: verdict and fix in one screen, in under a second, without a node."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests import drafts
from tests.cli import PROGRAM, Console

CASES = Path(__file__).parents[1] / "data" / "cases"
PROFILE = "kimi-k2.5-eagle3"
KIMI = "torchspec-kimi-k25"
SCREEN = (24, 160)


@pytest.fixture
def console(tmp_path) -> Console:
    return Console(tmp_path / "home", 0)


def story(folder: Path, *ids: int) -> list[str]:
    drafts.load(KIMI).with_ids(*ids).write(folder)
    return ["--draft", str(folder / "draft"), "--target", str(folder / "target")]


def shown(console: Console, *words: str) -> tuple[int, str]:
    """Exit code and screen."""
    done = subprocess.run([*PROGRAM, *words], env=console.environ(), capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("ids", "version", "sets", "code", "says"),
    [
        ((2, 30, 58), "0.5.12.post1", (), 0, ["captures the outputs of layers 2, 30, 58", ": the same"]),
        (
            (2, 30, 58),
            "0.5.13",
            (),
            1,
            ["captures the outputs of layers 1, 29, 57", ": DIFFERENT", "write ids [3, 31, 59]", "[layer-outputs]"],
        ),
        (
            (2, 30, 58),
            "0.5.10",
            (),
            1,
            ["replayed from CUDA graphs the outputs of layers 1, 29, 57", "0.5.11 or newer"],
        ),
        (
            (2, 30, 58),
            "0.5.12.post1",
            ("--set", "speculative.algorithm=EAGLE"),
            1,
            ["no draft token is accepted", "Write --speculative-algorithm EAGLE3"],
        ),
        (
            (-1, 2, 30, 58),
            "0.5.12.post1",
            (),
            1,
            [
                "4 states are captured (28672 wide), fc takes 3 × 7168 = 21504",
                "Write the 3 ids",
                "write ids [2, 30, 58]",
            ],
        ),
    ],
)
def test_the_story_gets_its_verdict_and_its_fix_in_one_screen(console, tmp_path, ids, version, sets, code, says):
    files = story(tmp_path, *ids)
    got, screen = shown(console, "lint", PROFILE, *files, "--sglang-version", version, *sets)
    assert got == code, screen
    assert [piece for piece in says if piece not in screen] == []
    assert len(screen.splitlines()) <= SCREEN[0]
    assert max(map(len, screen.replace(str(tmp_path), "").splitlines())) <= SCREEN[1]


def test_json_has_the_findings_and_the_resolved_outputs(console, tmp_path):
    code, told, _ = console.run("lint", PROFILE, *story(tmp_path, 2, 30, 58), "--sglang-version", "0.5.13")
    assert (code, told["ok"], told["schema"]) == (1, False, "spec-console/lint/1")
    assert told["resolved"]["eager"] == [1, 29, 57]
    assert (told["trained"], told["agrees"], told["write"]) == ([2, 30, 58], False, [3, 31, 59])
    assert [each["outputs"] for each in told["by_release"]] == [[2, 30, 58], [1, 29, 57]]
    assert told["draft"]["fc"] == [7168, 21504]
    (error,) = [each for each in told["findings"] if each["severity"] == "error"]
    assert error["rule"] == "layer-outputs"


def test_a_pasted_line_from_a_pipe(console, tmp_path):
    words = [*PROGRAM, "lint", "--command", "-", *story(tmp_path, 1, 29, 57), "--json"]
    line = (CASES / "A01-eagle-flag.txt").read_text(encoding="utf-8")
    done = subprocess.run(words, input=line, env=console.environ(), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "algorithm-for-eagle3" in [each["rule"] for each in json.loads(done.stdout)["findings"]]


@pytest.mark.parametrize("profile", ["kimi-k2.5-baseline", PROFILE, f"{PROFILE}-debug", f"{PROFILE}-tuned"])
@pytest.mark.parametrize("version", ["0.5.12.post1", "0.5.23"])
def test_the_shipped_profiles_with_a_matching_pair_have_no_error(console, tmp_path, profile, version):
    files = story(tmp_path, *((2, 30, 58) if version == "0.5.12.post1" else (3, 31, 59)))
    code, told, narration = console.run("lint", profile, *files, "--sglang-version", version)
    assert (code, [each for each in told["findings"] if each["severity"] == "error"]) == (0, []), narration


def test_without_files_it_says_what_it_could_not_see(console):
    code, told, _ = console.run("lint", PROFILE, "--sglang-version", "0.5.13")
    assert code == 0
    assert any("give --draft" in note for note in told["notes"])
    assert told["resolved"] is None


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "nothing to look at"),
        (["--draft", "/nowhere/at/all"], "no config.json"),
        ([PROFILE, "--command", "x"], "not both"),
        (["--command", "/nowhere/at/all"], "cannot be read"),
        (["no-such-profile"], "no profile"),
    ],
)
def test_usage(console, words, says):
    code, told, _ = console.run("lint", *words)
    assert code == 2
    assert says in told["error"]["message"]


def test_rules_are_listed_and_explained(console):
    code, told, _ = console.run("rules", "list")
    assert code == 0
    ids = [each["id"] for each in told["rules"]]
    assert ids == sorted(ids)
    assert {"layer-outputs", "captures-mismatch", "port-in-use"} <= set(ids)
    code, told, _ = console.run("rules", "show", "layer-outputs")
    assert code == 0
    assert "25454" in told["rule"]["source"]
    code, told, _ = console.run("rules", "show", "layer-output")
    assert (code, told["error"]["hint"]) == (2, "Nearest: layer-outputs.")
