"""config locate, show, validate and schema, as they are typed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from console.cli.config import COMMAND

if TYPE_CHECKING:
    from pathlib import Path

NODES = """\
gpu1:
  python: /opt/bin/python3
  log_dirs: [/srv/logs]
  env: {HF_TOKEN: secret-word, A: plain}
  variables: {models: /models, drafts: /drafts}
bare:
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "home" / "config" / "profiles").mkdir(parents=True)
    return tmp_path / "home"


def run(*words: str) -> Result:
    return CliRunner().invoke(COMMAND, words)


def answer(*words: str) -> dict[str, Any]:
    given: dict[str, Any] = json.loads(run(*words, "--json").stdout)
    return given


def test_locate_names_every_place_and_what_is_there(home: Path) -> None:
    (home / "config" / "nodes.yaml").write_text(NODES)
    told = answer("locate")
    places = {(each["what"], each["path"]): each for each in told["places"]}
    assert places["nodes", str(home / "config" / "nodes.yaml")]["state"] == "found"
    assert places["keys", str(home / "config" / "keys.yaml")]["state"] == "missing"
    profiles = [each for each in told["places"] if each["what"] == "profiles"]
    assert [each["state"] for each in profiles] == ["missing", "found", "found"]
    assert profiles[1]["note"] == "2 of 3 in the search order: 0 profiles"
    assert {each["what"] for each in told["places"]} >= {"patches", "drafts", "state", "journal", "wheels", "demo"}
    assert {"key": "SPEC_CONSOLE_HOME", "value": str(home), "from": "environment"} in told["environment"]
    assert f"{home / 'config' / 'keys.yaml'}  (keymap" in run("locate").stdout


def test_show_says_who_set_what_and_masks_secrets(home: Path) -> None:
    file = home / "config" / "nodes.yaml"
    file.write_text(NODES)
    told = answer("show")["nodes"]
    assert list(told) == ["gpu1", "bare"]
    values = {each["key"]: each for each in told["gpu1"]}
    assert values["python"] == {"key": "python", "value": ["/opt/bin/python3"], "from": f"{file}:2:3"}
    assert values["transport"] == {"key": "transport", "value": "auto", "from": "default"}
    assert values["env.HF_TOKEN"]["value"] == "***"
    assert values["env.A"] == {"key": "env.A", "value": "plain", "from": f"{file}:4:32"}
    assert values["variables.logs"] == {"key": "variables.logs", "value": "/srv/logs", "from": "log_dirs of gpu1"}
    shown = run("show", "gpu1").stdout
    assert f'  variables.models: "/models"  ({file}:5:15)' in shown
    assert "secret-word" not in shown
    assert answer("show", "some-ssh-name")["nodes"]["some-ssh-name"]
    assert run("show", "demo").exit_code == 2
    assert run("show", "-x y").exit_code == 2


def test_show_of_a_profile_names_the_file_of_each_value(home: Path) -> None:
    (home / "config" / "nodes.yaml").write_text(NODES)
    (home / "config" / "profiles" / "mine.yaml").write_text("extends: kimi-k2.5-baseline\nport: 9\n")
    values = {each["key"]: each for each in answer("show", "gpu1", "--profile", "mine")["profiles"]["mine"]}
    assert values["port"] == {"key": "port", "value": 9, "from": f"{home}/config/profiles/mine.yaml:2:1"}
    assert values["model_path"]["value"] == "/models/kimi-k2.5-int4", "the node's variable is filled in"
    assert "profiles/kimi-k2.5-baseline.yaml:6:1" in values["model_path"]["from"]
    assert values["module"]["from"] == "default"
    assert run("show", "gpu1", "--profile", "nowhere").exit_code == 2


def test_validate_tells_every_error_of_every_file(home: Path) -> None:
    clean = run("validate")
    assert clean.exit_code == 0
    assert clean.stdout.endswith(" 0 errors\n")
    config = home / "config"
    (config / "nodes.yaml").write_text("gpu1:\n  pyton: x\n")
    (config / "keys.yaml").write_text("no.such.action: x\n")
    (config / "profiles" / "bad.yaml").write_text("model_path: [\n")
    (config / "profiles" / "kimi-k2.5-eagle3.yaml").write_text("tp_sizes: 8\nmodel_path: /m\n")
    (config / "patches" / "mine").mkdir(parents=True)
    wrong = run("validate")
    assert wrong.exit_code == 2
    assert f"{config}/nodes.yaml:2:3: unknown key 'pyton' (nearest: python)" in wrong.stderr
    assert f"{config}/keys.yaml:1:1: " in wrong.stderr
    assert f"{config}/profiles/bad.yaml:2:1: not valid YAML" in wrong.stderr
    assert f"{config}/profiles/kimi-k2.5-eagle3.yaml:1:1: unknown key 'tp_sizes'" in wrong.stderr
    assert f"{config}/patches/mine" in wrong.stderr
    told = answer("validate")
    assert told["ok"] is False
    assert {each["what"] for each in told["errors"]} == {"nodes", "keys", "profile", "patch"}


def test_the_schemas_are_those_of_the_forms_that_validate() -> None:
    profile, nodes = answer("schema", "profile")["json_schema"], json.loads(run("schema", "nodes").stdout)
    assert profile == answer("schema", "profile")["json_schema"]
    assert "Tensor parallel" in profile["properties"]["tp_size"]["description"]
    form = nodes["additionalProperties"]["anyOf"][0]
    assert form["properties"]["python"]["type"] == ["array", "string"]
    assert form["additionalProperties"] is False
    assert all(each.get("description") or name in ("env", "gpu_source") for name, each in form["properties"].items())
    assert run("schema", "keys").exit_code == 2
