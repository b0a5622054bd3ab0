"""`patch apply|verify|revert` on the unpacked tree of a real release, by the command line and the real agent."""

from __future__ import annotations

import hashlib
import sys
from typing import TYPE_CHECKING

import pytest

from console import yaml_file
from tests.cli import Console, free_port

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.wheels, pytest.mark.timeout(300)]

WANTED = {
    "srt/_spec_console_eagle3.py",
    "srt/layers/logits_processor.py",
    "srt/models/deepseek_v2.py",
    "srt/models/llama.py",
    "srt/models/llama_eagle3.py",
}


def hashes(root: Path) -> dict[str, str]:
    files = [path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("version", ["0.5.12.post1"])
def test_apply_verify_and_revert_to_the_byte(unpack, tmp_path, version):
    root = unpack(version, tmp_path / "site")
    before = hashes(root.parent)
    console = Console(tmp_path / "home", free_port())
    config = tmp_path / "home" / "config"
    config.mkdir(parents=True)
    node = {
        "python": [sys.executable],
        "env": {"PYTHONPATH": str(tmp_path / "site")},
        "gpu_source": "none",
        "state_dir": str(tmp_path / "state"),
        "lock_dir": str(tmp_path),
    }
    (config / "nodes.yaml").write_text(yaml_file.dump({"local": node}))

    code, told, narration = console.run("patch", "apply", "local", "eagle3-shapes", "--all-models", "--yes")
    assert code == 0, narration
    files = {file["path"]: file for file in told["files"]}
    assert {files[path]["state"] for path in WANTED} == {"applied"}
    assert {files[path]["compiled"] for path in WANTED} == {True}
    changed = {path for path, sha in hashes(root.parent).items() if before.get(path) != sha}
    assert {f"sglang/{path}" for path in WANTED} <= changed

    code, told, _ = console.run("patch", "verify", "local", "eagle3-shapes", "--all-models")
    assert code == 0
    with (root / "srt" / "models" / "llama.py").open("a") as file:
        file.write("# edited by hand\n")
    assert console.run("patch", "revert", "local", "--yes")[0] == 1, "a drifted file is left and said"
    edited = (root / "srt" / "models" / "llama.py").read_bytes()
    assert edited.endswith(b"# edited by hand\n")
    (root / "srt" / "models" / "llama.py").write_bytes(edited.removesuffix(b"# edited by hand\n"))

    code, told, narration = console.run("patch", "revert", "local", "--yes")
    assert code == 0, narration
    assert hashes(root.parent) == before
    assert list(tmp_path.rglob("*.lock")) == []
