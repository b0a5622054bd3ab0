"""The program that goes to a node: one zip, the same every time, in a Python that old nodes have."""

from __future__ import annotations

import ast
import io
import json
import runpy
import sys
import types
import zipfile
from pathlib import Path

import pytest

import console.calibration
from console.calibration.pair import Ask, PairSpec, order
from console.calibration.program import NAMES, program
from console.calibration.wirings import Wired

RUNTIME = Path(console.calibration.__path__[0]) / "runtime"
ALLOWED = {"torch", "safetensors", *(name.removesuffix(".py") for name in NAMES)}


def test_it_is_the_same_every_time_and_holds_every_file():
    first = program()
    program.cache_clear()
    assert program() == first
    assert sorted(zipfile.ZipFile(io.BytesIO(first.data)).namelist()) == sorted(NAMES)
    assert {path.name for path in RUNTIME.glob("*.py")} == {*NAMES, "__init__.py"}


def test_it_imports_torch_safetensors_and_the_standard_library_alone():
    for name in NAMES:
        for node in ast.walk(ast.parse((RUNTIME / name).read_text(), feature_version=(3, 8))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for module in names:
                assert module.split(".")[0] in sys.stdlib_module_names | ALLOWED, module


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Run the program's entry with a writer that makes empty places and tells what it was asked to write."""
    told: list[str] = []

    def make(kind):
        def write(place, *_more):
            Path(place).mkdir()  # as os.rename of a finished folder: it fails where there is one
            told.append(kind)

        return write

    def write_pair(folder, _pair):
        make("pair")(folder)
        (Path(folder) / "target").mkdir()

    def write_table(path, *_more):
        Path(path).write_text("{}")
        told.append("table")

    kinds = {"write_scaled_target": make("target"), "write_draft": make("draft")}
    fake = types.SimpleNamespace(write_pair=write_pair, write_table=write_table, **kinds)
    monkeypatch.setitem(sys.modules, "writer", fake)
    main = runpy.run_path(str(RUNTIME / "__main__.py"), run_name="entry")["main"]

    def ask(steps, wired):
        told.clear()
        main(str(tmp_path / "pair"), json.loads(order(PairSpec("llama"), Ask(steps), wired)))
        return list(told)

    return ask


def test_it_writes_what_is_not_there_yet_and_nothing_twice(written):
    trained, scaled = Wired("trained", (2, 3, 6)), Wired("scaled", (2, 3, 6), target="target-rope-scaled")
    assert written(5, None) == ["pair", "table"]
    assert written(5, trained) == ["draft"]
    assert written(5, trained) == []
    assert written(2, trained) == ["table"]
    assert written(2, scaled) == ["target"]
    assert written(2, Wired("other", (1, 2, 5))) == ["draft"]
