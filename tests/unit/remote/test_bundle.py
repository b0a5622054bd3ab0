from __future__ import annotations

import ast
import importlib.util
import io
import subprocess
import sys
import zipfile
from pathlib import Path

from console.remote import bundle

LIMIT = 150_000


def test_the_zip_is_deterministic_and_small():
    first = bundle.build()
    bundle.build.cache_clear()
    assert bundle.build() == first
    assert len(first.data) < LIMIT


def test_it_holds_the_agent_and_nvml_and_nothing_of_the_console():
    names = zipfile.ZipFile(io.BytesIO(bundle.build().data)).namelist()
    assert {"__main__.py", "pynvml.py", "remote_agent/server.py"} <= set(names)
    assert not [name for name in names if name.startswith("console")]


def test_pynvml_loses_its_comments_and_nothing_else():
    source = Path(importlib.util.find_spec("pynvml").origin).read_bytes()
    stripped = zipfile.ZipFile(io.BytesIO(bundle.build().data)).read("pynvml.py")
    assert len(stripped) < 0.95 * len(source)
    assert b"Redistributions of source code must retain" in stripped
    assert _code(stripped) == _code(source)


def _code(source: bytes) -> str:
    """The syntax tree without docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = ""
    return ast.dump(tree, include_attributes=False)


def test_an_old_python_gets_its_own_exit_code(tmp_path):
    """The first lines must run before anything that an old Python cannot parse."""
    archive = tmp_path / "agent.pyz"
    archive.write_bytes(bundle.build().data)
    pretend = (
        "import sys, runpy; sys.version_info = (3, 7, 0, 'final', 0); runpy.run_path(sys.argv[1], run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", pretend, str(archive)], capture_output=True, text=True, check=False)
    assert done.returncode == 98
    assert "older than 3.8" in done.stderr
