"""`patch apply|verify|revert` on the unpacked tree of a real release, by the command line and the real agent."""

from __future__ import annotations

import difflib
import hashlib
import sys
from typing import TYPE_CHECKING

import pytest

from console import yaml_file
from tests.cli import Console, free_port

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.wheels, pytest.mark.timeout(300)]

MODEL = "srt/models/deepseek_v2.py"
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


def set_up(folder: Path) -> Console:
    """A console whose `local` serves the tree that is unpacked in `folder`/site."""
    config = folder / "home" / "config"
    config.mkdir(parents=True)
    node = {
        "python": [sys.executable],
        "env": {"PYTHONPATH": str(folder / "site")},
        "gpu_source": "none",
        "state_dir": str(folder / "state"),
        "lock_dir": str(folder),
    }
    (config / "nodes.yaml").write_text(yaml_file.dump({"local": node}))
    return Console(folder / "home", free_port())


@pytest.mark.parametrize("version", ["0.5.12.post1"])
def test_apply_verify_and_revert_to_the_byte(unpack, tmp_path, version):
    root = unpack(version, tmp_path / "site")
    before = hashes(root.parent)
    console = set_up(tmp_path)

    code, told, narration = console.run(
        "patch", "apply", "local", "eagle3-shapes", "--all-models", "--delivery", "in-place", "--yes"
    )
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


def test_the_difference_of_two_releases_is_imported_and_taken_back(unpack, tree, tmp_path):
    root = unpack("0.5.12.post1", tmp_path / "site")
    before = hashes(root.parent)
    old, new = (tree(version, (MODEL,))[MODEL] for version in ("0.5.12.post1", "0.5.13"))
    assert (root / MODEL).read_bytes() == old != new
    name = f"python/sglang/{MODEL}".encode()
    lines = difflib.diff_bytes(
        difflib.unified_diff, old.splitlines(True), new.splitlines(True), b"a/" + name, b"b/" + name
    )
    diff = tmp_path / "newer.patch"
    diff.write_bytes(b"".join(lines))
    console = set_up(tmp_path)
    code, told, narration = console.run("patch", "import", "local", str(diff), "--yes")
    assert code == 0, narration
    assert [(file["path"], file["state"], file["compiled"]) for file in told["files"]] == [(MODEL, "applied", True)]
    assert (root / MODEL).read_bytes() == new
    code, told, narration = console.run("patch", "revert", "local", "--yes")
    assert code == 0, narration
    assert hashes(root.parent) == before


@pytest.mark.slow
def test_a_catalog_patch_is_tried_on_releases(tmp_path):
    console = Console(tmp_path / "home", free_port())
    code, told, narration = console.run("patch", "test", "eagle3-shapes", "--wheel", "0.5.20", "--wheel", "0.5.2")
    if "error" in told:
        pytest.skip(told["error"]["message"])
    assert code == 1, narration
    files = [(each["version"], file) for each in told["releases"] for file in each["files"]]
    assert [(version, file["path"]) for version, file in files if file["state"] == "conflict"] == [
        ("0.5.2", "srt/models/qwen2.py")
    ]
    assert all(file["faults"] == [] for _, file in files)
    states = {(version, file["path"]): file["state"] for version, file in files}
    assert states["0.5.20", MODEL] == "appliable"
    assert states["0.5.2", MODEL] == "not-applicable"
