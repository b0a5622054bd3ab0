"""The rules of the design that a machine can check: import directions, one home per dependency, budgets, registries."""

from __future__ import annotations

import ast
import re
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
    {"yaml_file"},
    {"errors", "units", "paths", "registry"},
]
"""Imports go down only. `store` keeps what `probe` measures, and `demo` is imported by `cli` and tests alone."""

PURE = ("state", "node", "logs", "launch", "wiring", "patches", "probe", "lint", "report", "calibration")
FORBIDDEN_IN_PURE = {"socket", "subprocess", "asyncio", "random", "time", "datetime", "threading", "httpx"}
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


def _imports(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{_name(path)}:{node.lineno}: relative import"
            module = node.module or ""
            found += [f"{module}.{alias.name}" for alias in node.names] if module == "console" else [module]
    return found


CONSOLE = _sources("console")
AGENT = _sources("remote_agent")
ALL = CONSOLE + AGENT


@pytest.mark.parametrize("path", ALL, ids=_name)
def test_each_dependency_has_one_home(path):
    for module in _imports(path):
        home = HOMES.get(module.split(".")[0])
        assert home is None or _name(path).startswith(home), f"{module} belongs to {home}"


@pytest.mark.parametrize("path", CONSOLE, ids=_name)
def test_imports_go_down_only(path):
    parts = path.relative_to(ROOT / "console").parts
    own = parts[0].removesuffix(".py")
    if own == "__init__":
        return
    level = next(i for i, rooms in enumerate(LAYERS) if own in rooms)
    for module in _imports(path):
        head, _, rest = module.partition(".")
        if head != "console" or not rest:
            continue
        room = rest.split(".")[0]
        if room == own:
            continue
        theirs = next((i for i, rooms in enumerate(LAYERS) if room in rooms), None)
        assert theirs is not None, f"{module}: an unknown room"
        assert theirs > level, f"{_name(path)} ({own}) imports {module}"


@pytest.mark.parametrize("path", CONSOLE, ids=_name)
def test_the_console_knows_the_agents_protocol_alone(path):
    if _name(path) == "console/remote/bundle.py":  # zips the sources, and so names the package
        return
    for module in _imports(path):
        if module.startswith("remote_agent"):
            assert module.startswith("remote_agent.protocol") or module == "remote_agent", module


@pytest.mark.parametrize("path", AGENT, ids=_name)
def test_the_agent_needs_the_standard_library_alone(path):
    import sys

    for module in _imports(path):
        head = module.split(".")[0]
        assert head in sys.stdlib_module_names | {"remote_agent", "pynvml"}, module


@pytest.mark.parametrize("path", AGENT, ids=_name)
def test_the_agent_never_prints(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        assert not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print")


@pytest.mark.parametrize("path", [p for p in CONSOLE if p.relative_to(ROOT).parts[1] in PURE], ids=_name)
def test_pure_rooms_read_no_clock_file_or_socket(path):
    if _name(path) in READS_FILES or "/runtime/" in _name(path):
        return
    for module in _imports(path):
        assert module.split(".")[0] not in FORBIDDEN_IN_PURE, module
    calls = [n for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Call)]
    for call in calls:
        assert getattr(call.func, "id", "") != "open"
        assert getattr(call.func, "attr", "") not in {"write_text", "write_bytes", "unlink", "mkdir"}


@pytest.mark.parametrize("path", ALL, ids=_name)
def test_no_file_is_too_long_to_live_in(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    limit = MAX_APP_LINES if _name(path) == "console/tui/app.py" else MAX_LINES
    assert lines <= limit, lines


@pytest.mark.parametrize("path", ALL, ids=_name)
def test_every_module_says_what_it_owns(path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), "a module docstring"


def test_no_name_says_nothing():
    for path in ALL:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                assert not re.search(r"(Manager|Helper|Util|Utils|Handler)$", node.name), f"{_name(path)}: {node.name}"


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
