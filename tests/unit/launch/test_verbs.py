"""profiles validate, schema and import, as they are typed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from console.cli.profiles import COMMAND

if TYPE_CHECKING:
    from pathlib import Path

LINE = (
    "HF_TOKEN=hf_0123456789abcdefghij python3 -m sglang.launch_server --model-path /m --tp-size 2 > /l/a.log 2>&1 &\n"
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str, text: str = "") -> Result:
    return CliRunner().invoke(COMMAND, words, input=text)


def answer(*words: str, text: str = "") -> dict[str, Any]:
    given: dict[str, Any] = json.loads(run(*words, "--json", text=text).stdout)
    return given


def test_all_profiles_that_are_found_are_valid() -> None:
    found = run("validate")
    assert found.exit_code == 0
    assert "kimi-k2.5-eagle3-debug is valid" in found.stdout


def test_every_error_of_every_file_is_told_at_once(home: Path) -> None:
    (home / "a.yaml").write_text("model_path: /m\ntp_sizes: 8\nport: x\n")
    (home / "b.yaml").write_text("model_path: [\n")
    found = run("validate", "./a.yaml", "b.yaml", "kimi-k2.5-eagle3", "kimi-k2.5-eagle")
    assert found.exit_code == 2
    told = found.stderr.splitlines()
    assert told[0].endswith("a.yaml:2:1: unknown key 'tp_sizes' (nearest: tp_size)")
    assert "a.yaml:3:1: port: wants a whole number" in told[1]
    assert "b.yaml:2:1: not valid YAML" in told[2]
    assert "no profile is called 'kimi-k2.5-eagle'" in told[3]
    assert found.stdout.startswith("kimi-k2.5-eagle3 is valid (")
    given = answer("validate", "./a.yaml", "kimi-k2.5-eagle3")
    assert given["ok"] is False
    assert [(each["profile"], each["valid"], len(each["errors"])) for each in given["profiles"]] == [
        ("./a.yaml", False, 2),
        ("kimi-k2.5-eagle3", True, 0),
    ]
    assert given["profiles"][0]["errors"][0]["nearest"] == "tp_size"


def test_the_schema_is_one_json_object() -> None:
    assert json.loads(run("schema").stdout)["title"] == "spec-console launch profile"
    assert answer("schema")["json_schema"]["properties"]["tp_size"]


def test_import_prints_writes_and_overwrites_nothing(home: Path) -> None:
    (home / "start.sh").write_text(LINE)
    shown = run("import", "start.sh")
    assert shown.exit_code == 0
    assert shown.stdout.startswith("name: start\npython: python3\nlog_path: /l/a.log\nmodel_path: /m\ntp_size: 2\n")
    assert "export it where the console runs" in shown.stderr
    written = home / "home" / "config" / "profiles" / "mine.yaml"
    assert run("import", "-", "--name", "mine", "--write", "--dry-run", text=LINE).exit_code == 0
    assert not written.exists()
    assert answer("import", "-", "--name", "mine", "--write", text=LINE)["written"] == str(written)
    assert "0123456789" not in written.read_text()
    assert run("import", "-", "--name", "mine", "--write", text=LINE).exit_code == 5
    refused = run("import", "-", "--name", "mine", "--write", "--dry-run", "--json", text=LINE)
    shown = json.loads(refused.stdout)
    assert (refused.exit_code, shown["ok"], shown["written"], shown["profile"]["tp_size"]) == (5, False, None, 2)
    assert "is there already" in shown["error"]["message"]
    assert run("validate", "mine").exit_code == 0
    line = run("show", "mine", "--shell").stdout
    assert 'HF_TOKEN="$HF_TOKEN" nohup python3 -m sglang.launch_server' in line
    again = answer("import", "-", "--name", "mine", text=line)
    assert again["profile"] == answer("import", "start.sh", "--name", "mine")["profile"] | {"port": 30000}


def test_the_shell_line_of_a_shipped_profile_runs_when_pasted_and_comes_back(home: Path) -> None:
    shown = run("show", "kimi-k2.5-eagle3", "--shell")
    assert 'nohup "${python:?}" -m sglang.launch_server' in shown.stdout
    assert "set python, models, drafts, logs in the shell first, or --node NODE" in shown.stderr
    again = answer("import", "-", "--name", "mine", text=shown.stdout)["profile"]
    assert (again["python"], again["model_path"]) == ("${python}", "${models}/kimi-k2.5-int4")
    (home / "home" / "config").mkdir(parents=True)
    (home / "home" / "config" / "nodes.yaml").write_text(
        "gpu:\n  python: /v/python3\n  variables: {models: /m, drafts: /d, logs: /l}\n  env: {A: b}\n"
    )
    filled = run("show", "kimi-k2.5-eagle3", "--shell", "--node", "gpu")
    assert "A=b " in filled.stdout
    assert "nohup /v/python3 -m" in filled.stdout
    assert "${" not in filled.stdout
    assert filled.stderr == ""


def test_import_refuses_with_places(home: Path) -> None:
    refused = run("import", "-", "--sglang-version", "0.5.20", text="python -m sglang.launch_server --pp 8 | cat\n")
    assert refused.exit_code == 2
    assert "stdin:1:32: --pp could be --pp-async-batch-depth, " in refused.stderr
    assert "stdin:1:41: a pipe" in refused.stderr
    assert run("import", "-", "--name", "../x", "--write", text=LINE).exit_code == 2
    assert run("import", "nowhere.sh").exit_code == 2
    (home / "bytes.sh").write_bytes(b"\xff\xfe")
    assert run("import", "bytes.sh").exit_code == 2
