"""The profiles that ship: each loads, renders and says the same thing as the story's own launch line."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from console.launch.command import render, shell_line
from console.launch.library import Library
from console.launch.loader import Inputs, resolve
from console.paths import shipped_profiles

VARIABLES = {"python": "/opt/venv/bin/python3", "models": "/models", "drafts": "/drafts", "logs": "/srv/logs"}
STORY = Path(__file__).parents[2] / "data" / "cases" / "B20-story-launch.txt"
LIBRARY = Library((shipped_profiles(),))


def typed_line() -> tuple[dict[str, str], list[str], str]:
    """Take the story's line apart: environment, argv, log."""
    words = shlex.split(STORY.read_text().replace("\\\n", " "))
    start, redirect = words.index("nohup"), words.index(">")
    env = dict(word.split("=", 1) for word in words[:start])
    assert words[redirect:] == [">", words[redirect + 1], "2>&1", "&"]
    return env, words[start + 1 : redirect], words[redirect + 1]


def flags(argv: list[str] | tuple[str, ...]) -> set[tuple[str, str | None]]:
    pairs: set[tuple[str, str | None]] = set()
    for word, after in zip(argv, [*argv[1:], "--"], strict=True):
        if word.startswith("--"):
            pairs.add((word, None if after.startswith("--") else after))
    return pairs


@pytest.mark.parametrize("name", LIBRARY.names())
def test_every_shipped_profile_loads_and_renders(name: str) -> None:
    found = resolve(name, LIBRARY, Inputs(VARIABLES, {}))
    command = render(found)
    assert found.profile.name == name
    assert found.profile.description
    assert command.argv[:3] == ("/opt/venv/bin/python3", "-m", "sglang.launch_server")
    assert command.log_path.startswith("/srv/logs/")
    assert "${" not in shell_line(command)
    if found.profile.baseline:
        assert found.profile.baseline.profile in LIBRARY.names()


def test_the_four_profiles_of_the_story_ship() -> None:
    ours = {f"kimi-k2.5-{kind}" for kind in ("baseline", "eagle3", "eagle3-debug", "eagle3-tuned")}
    assert ours <= LIBRARY.names().keys()


def test_the_debug_profile_renders_the_storys_launch_line_flag_for_flag() -> None:
    env, argv, log = typed_line()
    sets = [
        "model_path=${models}/target-int4",
        "speculative.draft_model_path=${models}/draft-eagle3",
        "log_path=${logs}/eagle3_debug.log",
    ]
    command = render(resolve("kimi-k2.5-eagle3-debug", LIBRARY, Inputs(VARIABLES, {}, sets)))
    assert flags(command.argv) == flags(argv)
    assert list(command.argv) == argv, "the order is the story's too"
    assert command.env == env
    assert command.log_path == log
    assert shlex.split(shell_line(command)) == shlex.split(STORY.read_text().replace("\\\n", " "))


def test_a_fair_baseline_differs_from_its_draft_in_speculation_alone() -> None:
    baseline = render(resolve("kimi-k2.5-baseline", LIBRARY, Inputs(VARIABLES, {})))
    draft = render(resolve("kimi-k2.5-eagle3", LIBRARY, Inputs(VARIABLES, {})))
    assert baseline.env == draft.env
    assert ("--max-running-requests", "48") in flags(baseline.argv)
    differing = flags(draft.argv) ^ flags(baseline.argv)
    assert differing
    assert all(flag.startswith("--speculative-") for flag, _ in differing)


def test_the_tuned_profile_varies_from_its_baseline_only_where_it_says() -> None:
    tuned = resolve("kimi-k2.5-eagle3-tuned", LIBRARY, Inputs(VARIABLES, {}))
    baseline = render(resolve("kimi-k2.5-baseline", LIBRARY, Inputs(VARIABLES, {})))
    command = render(tuned)
    assert tuned.profile.baseline is not None
    new_env = {f"env.{name}" for name in command.env.keys() - baseline.env.keys()}
    assert set(tuned.profile.baseline.varies) == {"speculative", *new_env}
    assert {("--speculative-num-steps", "2"), ("--speculative-num-draft-tokens", "3")} <= flags(command.argv)


def test_the_debug_profile_expects_three_captures() -> None:
    profile = resolve("kimi-k2.5-eagle3-debug", LIBRARY, Inputs(VARIABLES, {})).profile
    assert profile.expect.widths["draft.fc_in"] == 3 * 7168
    assert profile.training.capture_layer_outputs == (2, 30, 58)
    assert profile.patch_ids == ("eagle3-shapes",)
    assert profile.baseline is not None
    assert profile.baseline.varies == ("speculative",), "graphs off must withhold the verdict"
