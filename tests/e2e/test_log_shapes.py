"""`logs --shapes` through the real agent: a rank that is wired wrong, and a file that is judged by what it names."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli import PROGRAM, Console, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

PROFILE = "kimi-k2.5-eagle3-debug"


@pytest.fixture
def console(tmp_path) -> Iterator[Console]:
    made = Console(tmp_path / "home", free_port())
    yield made
    made.leave()


def shapes(told: dict) -> dict[tuple[str, str], dict]:
    return {(row["site"], row["mode"]): row for row in told["shapes"] if row["site"] != "logits.cat_in"}


def lines(console: Console, *words: str) -> list[str]:
    done = subprocess.run(
        [*PROGRAM, "logs", *words, "--shapes"], env=console.environ(), capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.slow
def test_one_rank_that_is_wired_wrong_is_named_and_a_file_is_judged_by_the_checkpoints_that_it_names(console, tmp_path):
    assert console.run("patch", "apply", "demo", "--profile", PROFILE, "--yes")[0] == 0
    words = ("--yes", "--env", "SPEC_CONSOLE_DEMO_FAULT=rank5:widths", *console.sets())
    code, launched, narration = console.run("launch", "demo", PROFILE, *words)
    assert code == 0, narration
    log = launched["server"]["log_path"]
    code, told, _ = console.run("logs", "demo", "--shapes")
    assert code == 0
    rows = shapes(told)
    row = rows["draft.fc_in", "DRAFT_EXTEND_V2"]
    assert (row["ranks"], row["verdict"], row["shape"][-1]) == ("7/8", "wrong", 21504)
    assert [(one["rank"], one["shape"][-1]) for one in row["differing_ranks"]] == [(5, 7168)]
    row = rows["target.aux", "TARGET_VERIFY"]
    assert (row["ranks"], [one["rank"] for one in row["differing_ranks"]]) == ("7/8", [5])
    assert rows["draft.fc_out", "DRAFT_EXTEND_V2"]["ranks"] == "8/8"
    assert told["unclaimed"]["samples"][-1] == "[spec-console] SIMULATED fault: rank 5 captures one layer alone"

    code, of_file, _ = console.run("logs", "demo", "--shapes", "--file", log)
    assert [row["verdict"] for row in of_file["shapes"]] == [row["verdict"] for row in told["shapes"]]
    assert of_file["flow"] == told["flow"]
    path, first, *_rest = lines(console, "demo", "--file", log)
    assert path == (
        "target.aux ──3 × 7168 WRONG─▶ logits.stored ──21504 WRONG─▶ draft.fc_in ──21504 WRONG─▶ draft.fc_out ──7168─▶"
    )
    assert first == "wrong: target.aux: ranks differ: rank 5 has 1 × (6,7168), the others 3 × (6,7168)"

    elsewhere = tmp_path / "copied.log"
    models = str(console.home / "data" / "demo" / "drafts")
    elsewhere.write_bytes(Path(log).read_bytes().replace(models.encode(), b"/nowhere"))
    code, moved, _ = console.run("logs", "demo", "--shapes", "--file", str(elsewhere))
    sentences = {row["sentence"] for row in moved["shapes"] if row["verdict"] == "unknown"}
    assert sentences == {"the log's draft /nowhere/output_100k_sglang/4 cannot be read on the node"}
    elsewhere.write_bytes(b"[EAGLE3_DEBUG] draft.fc_in shape=(6, 21504) mode=7\n")
    assert "unknown: the log has no server_args= line" in "\n".join(lines(console, "demo", "--file", str(elsewhere)))


def test_a_fault_that_is_none_is_refused_by_the_stand_in(console):
    words = ("--yes", "--allow", "patch-missing", "--env", "SPEC_CONSOLE_DEMO_FAULT=rank9:widths", *console.sets())
    code, told, _ = console.run("launch", "demo", PROFILE, *words)
    assert code == 6
    assert "there is no rank 9 of 8" in told["error"]["detail"]
