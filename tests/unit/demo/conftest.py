"""The embedded node in a folder of its own, and stand-in servers that end with their test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from console.demo.setup import DemoNode, prepare
from tests.unit.demo.standin_server import STORY, Standin, free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> DemoNode:
    return prepare(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def launch(node: DemoNode) -> Iterator[Callable[..., Standin]]:
    """`launch(*options, at=…, port=…, env=…, model=…)`: a server that is ended with the module."""
    started: list[Standin] = []

    def start(
        *options: str,
        at: DemoNode = node,
        port: int | None = None,
        env: dict[str, str] | None = None,
        model: str = "kimi-k2.5-int4",
    ) -> Standin:
        port = free_port() if port is None else port
        argv = ["--model-path", f"{at.variables['models']}/{model}", "--tp-size", "8", "--host", "0.0.0.0"]
        argv += ["--port", str(port), "--mem-fraction-static", "0.88", *STORY, *options]
        log = at.home / "logs" / f"{len(started)}-{port}.log"
        started.append(Standin(at, log, port, argv, env or {}))
        return started[-1]

    try:
        yield start
    finally:
        for each in started:
            each.end()
