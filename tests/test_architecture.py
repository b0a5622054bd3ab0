"""The rules of the design that a machine can check: import directions, one home per dependency, budgets, registries."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STANDIN = ROOT / "console" / "demo" / "standin"
"""Imitates foreign code and is copied, never imported."""

HOMES = {
    "textual": "console/tui/",
    "rich": "console/tui/",
    "asyncssh": "console/remote/transports/asyncssh_.py",
    "paramiko": "console/remote/transports/paramiko_.py",
    "httpx": "console/probe/client.py",
    "yaml": "console/yaml_file.py",
    "pynvml": "remote_agent/gpu/nvml.py",
    "sqlite3": "console/store/",
}
"""One dependency, one home."""

LAYERS = [
    {"cli"},
    {"tui"},
    {"demo"},
    {"actions"},
    {"remote", "store", "report"},
    {"probe"},
    {"lint"},
    {"state"},
    {"calibration"},
    {"node", "wiring"},
    {"logs", "launch", "patches"},
    {"config"},
    {"validation"},
    {"yaml_file", "new_file"},
    {"errors", "units", "paths", "registry"},
]
"""Imports go down only. `store` keeps what `probe` measures, and `demo` is imported by `cli` and tests alone."""

PURE = ("state", "node", "logs", "launch", "wiring", "patches", "probe", "lint", "report", "calibration")
FORBIDDEN_IN_PURE = {"socket", "subprocess", "asyncio", "random", "time", "datetime", "threading", "httpx"}
CHANGES_FILES = {"write_text", "write_bytes", "unlink", "mkdir"}
READS_FILES = {
    "console/launch/library.py",
    "console/patches/folders.py",
    "console/probe/prompts/__init__.py",
    "console/calibration/program.py",
    "console/probe/client.py",
}
"""The doors of pure rooms: they read what ships with the tool or what the user wrote."""

MAX_LINES = 350
MAX_APP_LINES = 250


def _sources(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return [path for path in found if STANDIN not in path.parents and "__pycache__" not in path.parts]


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(_tree(path)))


@cache
def _imports(path: Path) -> tuple[str, ...]:
    found: list[str] = []
    for node in _nodes(path):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{_name(path)}:{node.lineno}: relative import"
            module = node.module or ""
            found += [f"{module}.{alias.name}" for alias in node.names] if module == "console" else [module]
    return tuple(found)


def _calls(path: Path) -> list[ast.Call]:
    return [node for node in _nodes(path) if isinstance(node, ast.Call)]


CONSOLE = _sources("console")
AGENT = _sources("remote_agent")
ALL = CONSOLE + AGENT


def test_each_dependency_has_one_home():
    strays = [
        f"{_name(path)}: {module} belongs to {home}"
        for path in ALL
        for module in _imports(path)
        if (home := HOMES.get(module.split(".")[0])) and not _name(path).startswith(home)
    ]
    assert not strays


def _level(room: str) -> int:
    """The layer of a room; ValueError for one that is in none."""
    for level, rooms in enumerate(LAYERS):
        if room in rooms:
            return level
    raise ValueError(f"an unknown room: {room}")


def test_imports_go_down_only():
    strays = []
    for path in CONSOLE:
        own = path.relative_to(ROOT / "console").parts[0].removesuffix(".py")
        if own == "__init__":
            continue
        for module in _imports(path):
            head, _, rest = module.partition(".")
            room = rest.split(".")[0]
            if head == "console" and room and room != own and _level(room) <= _level(own):
                strays.append(f"{_name(path)} ({own}) imports {module}")
    assert not strays


def test_the_console_knows_the_agents_protocol_alone():
    strays = [
        f"{_name(path)} imports {module}"
        for path in CONSOLE
        for module in _imports(path)
        if module.startswith("remote_agent.") and not module.startswith("remote_agent.protocol")
        if _name(path) != "console/remote/bundle.py"  # zips the sources, and so names the package
    ]
    assert not strays


def test_the_agent_needs_the_standard_library_alone():
    known = sys.stdlib_module_names | {"remote_agent", "pynvml"}
    assert not [(_name(path), each) for path in AGENT for each in _imports(path) if each.split(".")[0] not in known]


def test_the_agent_never_prints():
    calls = ((_name(path), call.lineno) for path in AGENT for call in _calls(path) if _called(call) == "print")
    assert not list(calls)


def _called(call: ast.Call) -> str:
    return getattr(call.func, "id", "")


def test_pure_rooms_read_no_clock_file_or_socket():
    strays = []
    for path in CONSOLE:
        name = _name(path)
        if path.relative_to(ROOT).parts[1] not in PURE or name in READS_FILES or "/runtime/" in name:
            continue
        strays += [f"{name} imports {each}" for each in _imports(path) if each.split(".")[0] in FORBIDDEN_IN_PURE]
        for call in _calls(path):
            if _called(call) == "open" or getattr(call.func, "attr", "") in CHANGES_FILES:
                strays.append(f"{name}:{call.lineno} opens or changes a file")
    assert not strays


def test_new_files_are_made_in_one_place():
    """So that each verb refuses what is there already in the same way, with the same exit code."""
    strays = [
        f"{_name(path)}:{call.lineno}"
        for path in CONSOLE
        if "/runtime/" not in _name(path) and _name(path) != "console/new_file.py"
        for call in _calls(path)
        if any(isinstance(each, ast.Constant) and each.value in ("x", "xb") for each in call.args[:2])
        if "open" in (_called(call), getattr(call.func, "attr", ""))
    ]
    assert not strays


def test_no_file_is_too_long_to_live_in():
    too_long = []
    for path in ALL:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > (MAX_APP_LINES if _name(path) == "console/tui/app.py" else MAX_LINES):
            too_long.append(f"{_name(path)}: {lines}")
    assert not too_long


def test_every_module_says_what_it_owns():
    assert not [_name(path) for path in ALL if not ast.get_docstring(_tree(path))]


def test_no_name_says_nothing():
    says_nothing = re.compile(r"(Manager|Helper|Util|Utils|Handler)$")
    classes = ((path, node) for path in ALL for node in _nodes(path) if isinstance(node, ast.ClassDef))
    assert not [f"{_name(path)}: {node.name}" for path, node in classes if says_nothing.search(node.name)]


PATTERN_KILL = re.compile(r"\b(pkill|killall|killall5|kill_by_name|fuser\s+-k)\b|pgrep[^\n]*\|\s*xargs")


def test_nothing_kills_by_name():
    places = [*_sources("console", "remote_agent", "tests"), *(ROOT / ".ci").iterdir(), *STANDIN.rglob("*.py")]
    for path in places:
        if path != Path(__file__) and path.is_file():
            match = PATTERN_KILL.search(path.read_text(encoding="utf-8", errors="replace"))
            assert match is None, f"{_name(path)}: {match}"


@pytest.mark.parametrize("folder", ["console/lint/rules", "console/cli"])
def test_registries_are_folders_of_documented_modules(folder):
    for path in (ROOT / folder).glob("[a-z]*.py"):
        names = {node.name for node in ast.parse(path.read_text("utf-8")).body if hasattr(node, "name")}
        wanted = {"check", "check_node", "explain", "explain_rest"} if folder.endswith("rules") else {"COMMAND"}
        assert wanted & (names | _assigned(path)), path


def _assigned(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {t.id for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
