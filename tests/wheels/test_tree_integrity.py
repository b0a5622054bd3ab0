"""A real SGLang as pip installs it, edited by hand: the diff against the release that the index has."""

from __future__ import annotations

import time

import pytest

from console.actions import tree_integrity
from console.actions.node import Node
from console.actions.patch_state import find_tree
from console.config import NodeConfig
from console.launch.library import Library
from console.remote import bundle
from console.remote.agent import Agent
from console.remote.bootstrap import AgentSettings
from console.remote.session import Session
from console.remote.transports.local import LocalTransport
from console.store.journal import Journal
from tests import installed
from tests.wheels import released

pytestmark = pytest.mark.wheels

VERSION = "0.5.10.post1"
"""The last release with one wheel for every Python."""
PATHS = ("srt/models/deepseek_v2.py", "srt/layers/logits_processor.py")


@pytest.fixture
async def node(tmp_path):
    settings = AgentSettings(
        cache_dir=str(tmp_path / "cache"),
        args=("--state-dir", str(tmp_path / "state"), "--lock-dir", str(tmp_path), "--gpu-source", "none"),
    )
    session = Session(LocalTransport(), bundle.build(), settings, reconnect=False)
    await session.open()
    with Journal(tmp_path / "runs.sqlite3") as journal:
        yield Node("here", NodeConfig(), Agent(session, "tester@here"), Library(()), journal)
    await session.close()


async def test_a_hand_edit_of_a_real_release_shows_with_its_diff(node, tmp_path):
    package = installed.install(released.wheel(VERSION), tmp_path / "venv")
    tree = await find_tree(node, str(tmp_path / "venv" / "bin" / "python"))
    started = time.monotonic()
    clean = await tree_integrity.hand_edits(node, tree, cache=tmp_path / "wheels")
    assert time.monotonic() - started < 10
    assert (clean.clean, clean.edits, clean.compared.version) == (True, (), VERSION)
    assert clean.compared.checked > 1500

    for path in PATHS:
        with (package / path).open("a") as file:
            file.write("print('[OK]')\n")
    edited = await tree_integrity.hand_edits(node, tree, cache=tmp_path / "wheels")
    assert sorted(edit.path for edit in edited.edits) == sorted(PATHS)
    for edit in edited.edits:
        assert edit.why == ""
        added = [line for line in edit.diff.splitlines() if line.startswith("+") and not line.startswith("+++")]
        assert added == ["+print('[OK]')"]
