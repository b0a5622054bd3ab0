from __future__ import annotations

import ast
import importlib.util
import io
import subprocess
import sys
import tokenize
import zipfile
from pathlib import Path

import pytest

import remote_agent
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


SHIPPED = zipfile.ZipFile(io.BytesIO(bundle.build().data))


@pytest.mark.parametrize("name", SHIPPED.namelist())
def test_each_file_loses_its_prose_and_nothing_else(name):
    source = _source(name)
    stripped = SHIPPED.read(name)
    assert _code(stripped) == _code(source)
    assert stripped.count(b"\n") == source.count(b"\n"), "a traceback names the line of the source"


def test_the_prose_of_every_own_file_is_gone():
    for name in SHIPPED.namelist():
        if name != "pynvml.py":
            texts = list(tokenize.tokenize(io.BytesIO(SHIPPED.read(name)).readline))
            assert not [token for token in texts if token.type == tokenize.COMMENT], name
            assert not ast.get_docstring(ast.parse(SHIPPED.read(name))), name


def test_the_licence_of_pynvml_stays():
    assert b"Redistributions of source code must retain" in SHIPPED.read("pynvml.py")
    assert len(SHIPPED.read("pynvml.py")) < 0.95 * len(_source("pynvml.py"))


@pytest.mark.parametrize(
    ("source", "stripped"),
    [
        (b'"""All."""', b'""'),
        (b'class A(Exception):\n    """Why.\n\n    It\'s "so".\n    """\n', b'class A(Exception):\n    ""\n\n\n\n'),
        (b"x = 1  # a 'quote'\n# and \"two\"\n", b"x = 1\n\n"),
        (b"x = '# no comment'  # one\n", b"x = '# no comment'\n"),
        (b'x = """\n# text\n"""  # one\ny = 2\n', b'x = """\n# text\n"""\ny = 2\n'),
        (b"x = 'it\\'s # text'\n", b"x = 'it\\'s # text'\n"),
        (b'x = "\\\\"  # one\n', b'x = "\\\\"\n'),
        (b'x = rb"""a "b" \\""" # c"""  # one\n', b'x = rb"""a "b" \\""" # c"""\n'),
    ],
)
def test_strings_are_told_from_prose(source, stripped):
    assert bundle.without_prose(source) == stripped
    assert _code(stripped) == _code(source)


def _source(name: str) -> bytes:
    if name == "pynvml.py":
        return Path(importlib.util.find_spec("pynvml").origin).read_bytes()
    root = Path(remote_agent.__path__[0])
    return (root / name if name == "__main__.py" else root.parent / name).read_bytes()


def _code(source: bytes) -> str:
    """The syntax tree with its docstrings empty."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
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
