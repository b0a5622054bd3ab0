"""nodes.yaml."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from console.config import NodeConfig, load_nodes, node_config
from console.errors import UsageError
from console.validation import Invalid

if TYPE_CHECKING:
    from pathlib import Path


def load(tmp_path: Path, text: str) -> dict[str, NodeConfig]:
    path = tmp_path / "nodes.yaml"
    path.write_text(text)
    return load_nodes(path)


def failing(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(Invalid) as caught:
        load(tmp_path, text)
    return [str(problem).removeprefix(f"{tmp_path}/") for problem in caught.value.problems]


def test_no_file_is_no_nodes_and_an_ssh_alias_needs_no_entry(tmp_path: Path) -> None:
    nodes = load_nodes(tmp_path / "nodes.yaml")
    assert nodes == {}
    node = node_config(nodes, "gpu-node-1")
    assert (node.transport, node.address("gpu-node-1"), node.python) == ("auto", ("gpu-node-1", None), ())
    assert node.address("me@gpu-node-1") == ("gpu-node-1", "me")
    assert node_config(nodes, "local").transport == "local"


def test_an_entry_is_read(tmp_path: Path) -> None:
    text = (
        "gpu-node-1:\n"
        "  host: gpu1.example\n"
        "  user: someone\n"
        "  transport: openssh\n"
        "  python: [/opt/venv/bin/python3, python3]\n"
        "  variables: {models: /shared, logs: /srv/logs}\n"
        "  env: {PYTHONPATH: /standin}\n"
        "  exec_prefix: [docker, exec, -i, sglang]\n"
        "  gpu_source: smi\n"
        "  state_dir: /var/tmp/me\n"
        "  gpus: 8\n"
        "plain:\n"
        "local: {python: python3}\n"
    )
    nodes = load(tmp_path, text)
    node = nodes["gpu-node-1"]
    assert node.address("gpu-node-1") == ("gpu1.example", "someone")
    assert node.exec_prefix == ("docker", "exec", "-i", "sglang")
    assert node.launch_variables() == {"python": "/opt/venv/bin/python3", "models": "/shared", "logs": "/srv/logs"}
    assert (node.env, node.state_dir, node.gpus) == ({"PYTHONPATH": "/standin"}, "/var/tmp/me", 8)
    assert nodes["plain"] == NodeConfig()
    assert (nodes["local"].transport, nodes["local"].python) == ("local", ("python3",))


def test_the_variable_python_goes_over_the_first_interpreter() -> None:
    node = NodeConfig(python=("python3",), variables={"python": "/serve/python"})
    assert node.launch_variables() == {"python": "/serve/python"}


def test_what_serves_there_is_named_apart_from_what_runs_the_agent(tmp_path: Path) -> None:
    text = (
        "n:\n"
        "  python: python3\n"
        "  serving_python: /serve/bin/python\n"
        "  sglang_root: /src/sglang/python\n"
        "  env: {PYTHONPATH: /standin}\n"
        "  log_dirs: [/srv/logs, /scratch/logs]\n"
        "  profile: kimi\n"
    )
    node = load(tmp_path, text)["n"]
    assert node.launch_variables() == {"python": "/serve/bin/python", "logs": "/srv/logs"}
    assert node.env == {"PYTHONPATH": "/src/sglang/python:/standin"}
    assert (node.python, node.profile) == (("python3",), "kimi")
    given = node.model_copy(update={"variables": {"python": "/other", "logs": "/l"}})
    assert given.launch_variables() == {"python": "/other", "logs": "/l"}


def test_every_error_of_the_file_is_told_at_once(tmp_path: Path) -> None:
    text = (
        "gpu-node-1:\n"
        "  transprot: openssh\n"
        "  gpu_source: nvm\n"
        "b:\n"
        "  env: {A: 1}\n"
        "  host: -oProxyCommand=x\n"
        "  user: a@b\n"
        "  gpus: no\n"
        "c: text\n"
        "demo: {}\n"
        "-x: {}\n"
        "local: {transport: asyncssh}\n"
    )
    assert failing(tmp_path, text) == [
        "nodes.yaml:2:3: unknown key 'transprot' (nearest: transport)",
        "nodes.yaml:3:3: gpu_source: must be 'auto', 'nvml', 'smi' or 'none' (nearest: nvml)",
        "nodes.yaml:5:9: env.A: wants text; YAML reads this as the number 1: put it in quotes, as it should stand",
        "nodes.yaml:6:3: host: '-oProxyCommand=x' is not a name for ssh",
        "nodes.yaml:7:3: user: 'a@b' is not a name for ssh",
        "nodes.yaml:8:3: gpus: wants a whole number; YAML reads no, off, yes and on as true or false",
        "nodes.yaml:9:1: wants a mapping (key: value)",
        "nodes.yaml:10:1: demo is the embedded node and takes no entry",
        "nodes.yaml:11:1: '-x' is not a node's name",
        "nodes.yaml:12:1: local is this machine: its transport is local",
    ]


def test_a_list_of_nodes_is_refused(tmp_path: Path) -> None:
    assert failing(tmp_path, "- a\n") == ["nodes.yaml:1:1: nodes.yaml is a mapping: node name → its keys"]


@pytest.mark.parametrize("name", ["-oProxyCommand=x", "", "a b", "a;b", "$(x)"])
def test_a_name_that_could_be_an_option_or_a_command_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="not a node's name"):
        node_config({}, name)


def test_an_empty_file_is_no_nodes(tmp_path: Path) -> None:
    assert load(tmp_path, "# nothing yet\n") == {}
