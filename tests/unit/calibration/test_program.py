"""The program that goes to a node: one zip, the same every time, in a Python that old nodes have."""

from __future__ import annotations

import ast
import io
import zipfile
from pathlib import Path

import console.calibration
from console.calibration.program import NAMES, program

RUNTIME = Path(console.calibration.__path__[0]) / "runtime"
ALLOWED = {"torch", "safetensors", *(name.removesuffix(".py") for name in NAMES)}


def test_it_is_the_same_every_time_and_holds_every_file():
    first = program()
    program.cache_clear()
    assert program() == first
    assert sorted(zipfile.ZipFile(io.BytesIO(first.data)).namelist()) == sorted(NAMES)
    assert {path.name for path in RUNTIME.glob("*.py")} == {*NAMES, "__init__.py"}


def test_it_imports_torch_safetensors_and_the_standard_library_alone():
    import sys

    for name in NAMES:
        for node in ast.walk(ast.parse((RUNTIME / name).read_text(), feature_version=(3, 8))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for module in names:
                assert module.split(".")[0] in sys.stdlib_module_names | ALLOWED, module
