"""The list of places where a crash matters is the code's own."""

from __future__ import annotations

import ast
from pathlib import Path

import remote_agent
from remote_agent.steps import FAULT, STEPS


def _named_steps() -> list[str]:
    found = []
    for path in Path(remote_agent.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "reached":
                (step,) = node.args
                assert isinstance(step, ast.Constant), f"{path}:{node.lineno}: a step is named by a literal"
                found.append(step.value)
    return found


def test_every_listed_step_is_one_place_of_the_code_and_every_place_is_listed():
    assert sorted(_named_steps()) == sorted(STEPS)


def test_only_the_steps_themselves_read_the_fault_variable():
    package = Path(remote_agent.__path__[0])
    assert [path.name for path in package.rglob("*.py") if FAULT in path.read_text()] == ["steps.py"]
    console = package.parent / "console"
    assert [path for path in console.rglob("*.py") if FAULT in path.read_text()] == []
