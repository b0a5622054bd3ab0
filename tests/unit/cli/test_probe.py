"""The words of `probe`: which of them go together, and what is no number; all said before anything is connected to."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from console.cli.probe import COMMAND, _load


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "which node?"),
        (("demo", "--url", "http://127.0.0.1:1"), "do not go with it"),
        (("--url", "http://127.0.0.1:1", "--port", "8000"), "do not go with it"),
        (("--url", "http://127.0.0.1:1", "--adopt"), "do not go with it"),
        (("--url", "gpu-1:8000"), "no http or https URL"),
        (("--url", "http://gpu-1", "--api-key-env", "NO_SUCH_VARIABLE"), "NO_SUCH_VARIABLE is not set"),
        (("--url", "http://gpu-1", "--api", "chat", "--input-ids", "5,17"), "chat takes no token ids"),
        (("demo", "--input-ids", "5,x"), "are no token ids"),
        (("demo", "--input-ids", ","), "are no token ids"),
        (("demo", "--input-ids", "5", "--prompt", "chat"), "one of them"),
        (("demo", "--half-width", "wide"), "is no percentage"),
        (("demo", "--half-width", "nan%"), "is no percentage"),
    ],
)
def test_what_does_not_go_together_is_a_usage_error(words, said):
    done = CliRunner().invoke(COMMAND, [*words, "--json"])
    assert done.exit_code == 2
    assert said in json.loads(done.stdout)["error"]["message"]


def test_an_endpoint_is_not_probed_without_a_confirmation():
    done = CliRunner().invoke(COMMAND, ["--url", "http://127.0.0.1:1"])
    assert done.exit_code == 5
    assert "may it be put under load?" in done.stderr


def test_a_dry_run_shows_what_would_be_sent():
    words = ["--url", "http://127.0.0.1:1", "--adaptive", "--half-width", "3 %", "--budget-min", "2", "--dry-run"]
    done = CliRunner().invoke(COMMAND, words)
    assert done.exit_code == 0
    assert "until the interval is ± 3.0 % or 2 min are over" in done.stdout


@pytest.mark.parametrize(("text", "said"), [("curve: {1: 1.8}", "needs a name"), (None, "golden.yaml")])
def test_a_curve_that_cannot_be_read_is_said_before_anything_is_sent(tmp_path, text, said):
    path = tmp_path / "golden.yaml"
    if text is not None:
        path.write_text(text)
    done = CliRunner().invoke(COMMAND, ["--url", "http://127.0.0.1:1", "--yes", "--golden", str(path), "--json"])
    assert done.exit_code == 2
    assert said in json.loads(done.stdout)["error"]["message"]


def test_only_what_was_given_changes_the_profiles_load():
    unset = {"blocks": None, "adaptive": False, "no_flush": False, "half_width": None}
    assert _load(unset) == {}
    given = {"no_flush": True, "input_ids": "5,17 300", "half_width": "2%", "keep_output": True}
    assert _load(given) == {"flush_cache": False, "prompt": [5, 17, 300], "half_width": 0.02, "keep_output": True}
