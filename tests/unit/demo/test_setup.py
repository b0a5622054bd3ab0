from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from console.demo import site
from console.demo.setup import DemoNode, prepare
from console.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

MODEL = "srt/models/deepseek_v2.py"


def stamps(home: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.lstat().st_ino, path.lstat().st_mtime_ns) for path in home.rglob("*") if path.is_file()}


def header(path: Path) -> tuple[int, dict[str, Any]]:
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        return length, json.loads(file.read(length))


def ask(node: DemoNode, code: str) -> str:
    env = {**os.environ, **node.env}
    done = subprocess.run([node.python, "-c", code], env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_second_prepare_writes_nothing(tmp_path: Path) -> None:
    first = prepare(tmp_path)
    before = stamps(tmp_path)
    assert prepare(tmp_path) == first
    assert stamps(tmp_path) == before


def test_the_serving_python_finds_the_standin_and_its_version(node: DemoNode) -> None:
    version = ask(node, "import importlib.metadata as m; print(m.version('sglang'))")
    assert version == "0.5.12.post1+simulated"
    root = ask(node, "import importlib.util as u; print(u.find_spec('sglang').submodule_search_locations[0])")
    assert root == str(node.home / "site" / "sglang")
    assert ask(node, "import sglang; print(sglang.__version__)") == version


def test_what_profiles_need_is_there(node: DemoNode) -> None:
    assert node.variables == {
        "python": sys.executable,
        "models": str(node.home / "models"),
        "drafts": str(node.home / "drafts"),
        "logs": str(node.home / "logs"),
    }
    assert os.access(node.nvidia_smi, os.X_OK)
    assert os.access(node.variables["logs"], os.W_OK)
    assert node.state_dir.stat().st_mode & 0o777 == 0o700
    assert 18000 <= node.port < 20000


def test_the_target_is_kimi_as_published(node: DemoNode) -> None:
    config = json.loads((node.home / "models/kimi-k2.5-int4/config.json").read_text())
    assert config["architectures"] == ["KimiK25ForConditionalGeneration"]
    text = config["text_config"]
    assert text["architectures"] == ["DeepseekV3ForCausalLM"]
    assert (text["num_hidden_layers"], text["hidden_size"], text["vocab_size"]) == (61, 7168, 163840)


def test_the_draft_is_the_storys_and_its_header_is_true(node: DemoNode) -> None:
    folder = node.home / "drafts/output_100k_sglang/4"
    config = json.loads((folder / "config.json").read_text())
    assert config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] == [2, 30, 58]
    weights = folder / "model.safetensors"
    length, tensors = header(weights)
    assert tensors["fc.weight"]["shape"] == [7168, 21504]
    assert tensors["midlayer.self_attn.q_proj.weight"]["shape"][1] == 2 * 7168
    assert tensors["lm_head.weight"]["shape"][0] == tensors["d2t"]["shape"][0] == config["draft_vocab_size"]
    assert tensors["t2d"]["shape"] == [config["vocab_size"]]
    last = max(value["data_offsets"][1] for name, value in tensors.items() if name != "__metadata__")
    assert weights.stat().st_size == 8 + length + last
    begin, end = tensors["t2d"]["data_offsets"]
    with weights.open("rb") as file:
        file.seek(8 + length + begin)
        assert file.read(end - begin).count(1) == config["draft_vocab_size"]
    assert weights.stat().st_blocks * 512 < 2_000_000, "the file is not sparse"


@pytest.mark.parametrize(
    ("folder", "ids"),
    [("output_100k_sglang_one_early", [1, 29, 57]), ("output_100k_sglang_four_captures", [2, 14, 30, 58])],
)
def test_faulty_drafts_share_the_weights(node: DemoNode, folder: str, ids: list[int]) -> None:
    faulty = node.home / "drafts" / folder / "4"
    config = json.loads((faulty / "config.json").read_text())
    assert config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] == ids
    assert header(faulty / "model.safetensors")[1]["fc.weight"]["shape"] == [7168, 21504]


def test_a_patched_file_and_an_edited_config_are_kept(tmp_path: Path) -> None:
    prepare(tmp_path)
    patched = tmp_path / "site/sglang" / MODEL
    patched.write_text(patched.read_text() + "# patched\n")
    config = tmp_path / "drafts/output_100k_sglang/4/config.json"
    config.write_text("{}")
    assert not prepare(tmp_path).stale
    assert patched.read_text().endswith("# patched\n")
    assert config.read_text() == "{}"


def test_a_lost_file_comes_back(tmp_path: Path) -> None:
    prepare(tmp_path)
    lost = tmp_path / "site/sglang" / MODEL
    text = lost.read_text()
    lost.unlink()
    prepare(tmp_path)
    assert lost.read_text() == text


def shipped(tmp_path: Path, text: str) -> Path:
    tree = tmp_path / "shipped"
    (tree / "models").mkdir(parents=True, exist_ok=True)
    (tree / "models" / "m.py").write_text(text)
    return tree


def test_an_untouched_site_follows_the_shipped_standin(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    assert site.refresh(shipped(tmp_path, "one"), home)
    tree = shipped(tmp_path, "two")
    (home / "site/sglang/models/__pycache__").mkdir()
    (home / "site/sglang/models/__pycache__/m.pyc").write_bytes(b"bytecode is no change")
    assert site.refresh(tree, home)
    assert (home / "site/sglang/models/m.py").read_text() == "two"
    assert os.listdir(home / "site") == ["sglang"]


@pytest.mark.parametrize("touched", ["models/m.py", "new_file.py"])
def test_a_patched_site_is_not_refreshed(tmp_path: Path, touched: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    site.refresh(shipped(tmp_path, "one"), home)
    (home / "site/sglang" / touched).write_text("patched")
    tree = shipped(tmp_path, "two")
    assert not site.refresh(tree, home)
    assert (home / "site/sglang" / touched).read_text() == "patched"
    site.refresh(shipped(tmp_path, "one"), home)
    (home / "site/sglang/models/m.py").write_text("one")
    (home / "site/sglang/new_file.py").unlink(missing_ok=True)
    assert site.refresh(shipped(tmp_path, "two"), home), "after a revert it is refreshed"


def test_a_home_that_cannot_be_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="embedded node cannot be laid out"):
        prepare(tmp_path / "file" / "home")
