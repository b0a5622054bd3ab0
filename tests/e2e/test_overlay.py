"""The overlay on the embedded node: the same records as in place, and a tree that stays as it is."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console.patches import library, overlay
from console.patches.plan import plan
from tests.cli import Console, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

PROFILE = "kimi-k2.5-eagle3-debug"
ROW = ("site", "model", "mode", "ranks", "shape", "dtype", "verdict")


@pytest.fixture
def console(tmp_path) -> Iterator[Console]:
    made = Console(tmp_path / "home", free_port())
    yield made
    made.leave()


def tree(console: Console) -> dict[str, str]:
    root = console.home / "data" / "demo" / "site" / "sglang"
    files = list(root.rglob("*.py"))
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def records(console: Console) -> tuple[set[tuple[object, ...]], str]:
    code, told, narration = console.run("launch", "demo", PROFILE, "--yes", *console.sets())
    assert code == 0, narration
    overlay = told["server"]["overlay"]
    assert console.run("probe", "demo")[0] == 0
    _, told, _ = console.run("logs", "demo", "--shapes")
    log = Path(told["path"]).read_text()
    assert console.run("stop", "demo", "--yes")[0] == 0
    assert overlay == ({"ranks": 8, "served": 8, "wrong": ""} if "[SPEC_CONSOLE_OVERLAY]" in log else None)
    return {tuple(str(row[key]) for key in ROW) for row in told["shapes"]}, log


@pytest.mark.slow
def test_overlay_and_in_place_give_the_same_records_and_the_overlay_leaves_the_tree(console):
    assert console.run("status", "demo")[0] == 0
    before = tree(console)
    code, told, _ = console.run("patch", "apply", "demo", "--profile", PROFILE, "--yes")
    assert code == 0
    assert {file["state"] for file in told["files"]} == {"overlaid"}
    overlaid, log = records(console)
    assert tree(console) == before
    assert log.count("[SPEC_CONSOLE_OVERLAY] pid=") == 8, "each rank tells what it was served"
    assert log.count("served=3 of=3 ") == 8

    assert console.run("patch", "revert", "demo", "--yes")[0] == 0
    in_place = ("patch", "apply", "demo", "--profile", PROFILE, "--delivery", "in-place", "--yes")
    assert console.run(*in_place)[0] == 0
    assert tree(console) != before
    swapped, _ = records(console)
    assert overlaid == swapped
    assert console.run("patch", "revert", "demo", "--yes")[0] == 0
    assert tree(console) == before


@pytest.mark.slow
def test_an_overlay_of_a_file_that_moved_on_is_not_served(console):
    apply = ("patch", "apply", "demo", "--profile", PROFILE, "--delivery", "overlay", "--yes")
    assert console.run(*apply)[0] == 0
    model = console.home / "data" / "demo" / "site" / "sglang" / "srt" / "models" / "deepseek_v2.py"
    model.write_text(model.read_text() + "# upgraded\n")
    code, told, _ = console.run("patch", "verify", "demo", "--profile", PROFILE, "--delivery", "overlay")
    assert code == 1
    assert {file["state"] for file in told["files"]} == {"missing"}
    code, told, _ = console.run("launch", "demo", PROFILE, "--yes", *console.sets())
    assert code == 5
    assert "wants the patch eagle3-shapes" in told["error"]["message"]
    assert console.run(*apply)[0] == 0, "planned afresh for the new text"


@pytest.fixture
def written(tmp_path) -> Path:
    """An overlay of a small package, written to disk, and another sitecustomize behind it."""
    root = tmp_path / "site" / "sglang"
    (root / "srt" / "models").mkdir(parents=True)
    for package in (root, root / "srt", root / "srt" / "models"):
        (package / "__init__.py").write_text("")
    source = (
        Path(__file__).parents[2] / "console" / "demo" / "standin" / "sglang" / "srt" / "models" / "llama_eagle3.py"
    )
    (root / "srt" / "models" / "llama_eagle3.py").write_bytes(source.read_bytes())
    patch = library.patches()["eagle3-shapes"]
    built = overlay.build(str(root), [plan(patch, {"srt/models/llama_eagle3.py": source.read_bytes()})])
    folder = tmp_path / "overlay"
    for path, data in built.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "sitecustomize.py").write_text("import builtins; builtins.CHAINED = True\n")
    return tmp_path


LOOK = """
import importlib.util, sys
assert CHAINED
spec = importlib.util.find_spec("sglang.srt.models.llama_eagle3")
code = spec.loader.get_code(spec.name)
print("file", spec.origin); print("code", code.co_filename)
"""


def look(folder: Path) -> str:
    path = f"{folder / 'overlay'}:{folder / 'other'}:{folder / 'site'}"
    done = subprocess.run(
        [sys.executable, "-c", LOOK], env={"PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_hook_serves_the_copy_under_the_originals_name_and_chains_the_other_sitecustomize(written):
    out = look(written)
    assert f"file {written}/site/sglang/srt/models/llama_eagle3.py" in out
    assert f"code {written}/overlay/files/srt/models/llama_eagle3.py" in out
    assert out.count("[SPEC_CONSOLE_OVERLAY]") == 1
    assert "served=1 of=1 modules=sglang.srt.models.llama_eagle3" in out


def test_a_module_that_may_never_be_imported_is_not_waited_for_and_told_when_it_comes(written):
    manifest = written / "overlay" / "manifest.json"
    told = json.loads(manifest.read_text())
    late = {"path": "srt/never.py", "sha256_before": "0" * 64, "sha256_after": "0" * 64, "lazy": True}
    told["files"].append(late)
    manifest.write_text(json.dumps(told))
    out = look(written)
    assert "served=1 of=2 modules=sglang.srt.models.llama_eagle3" in out
    told["files"][-1]["lazy"] = False
    manifest.write_text(json.dumps(told))
    assert "served=" not in look(written)


def test_the_hook_refuses_a_changed_original_by_itself(written):
    original = written / "site" / "sglang" / "srt" / "models" / "llama_eagle3.py"
    original.write_text(original.read_text() + "# by hand\n")
    out = look(written)
    assert "refused=sglang.srt.models.llama_eagle3 why=original-changed" in out
    assert f"code {original}" in out


@pytest.mark.slow
def test_an_overlay_is_listed_kept_while_a_server_runs_from_it_and_collected_afterwards(console):
    assert console.run("patch", "apply", "demo", "--profile", PROFILE, "--yes")[0] == 0
    assert console.run("launch", "demo", PROFILE, "--yes", *console.sets())[0] == 0
    (item,) = [each for each in console.run("agent", "ls", "demo")[1]["items"] if each["kind"] == "overlay"]
    assert "runs from it" in item["in_use"]
    assert item["detail"] == "eagle3-shapes"
    assert console.run("agent", "gc", "demo", "--keep-days", "0", "--yes")[0] == 0
    assert Path(item["path"]).is_dir()
    assert console.run("stop", "demo", "--yes")[0] == 0
    code, told, _ = console.run("agent", "gc", "demo", "--keep-days", "0", "--yes")
    assert code == 0
    assert {each["outcome"] for each in told["removed"]} == {"removed"}
    assert not Path(item["path"]).exists()
