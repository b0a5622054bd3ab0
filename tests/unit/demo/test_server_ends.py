"""How a stand-in server ends: asked to, killed, or broken from the start."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.unit.demo.standin_server import READY, Standin, apps, children, eagle, generate, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from console.demo.setup import DemoNode

    Launch = Callable[..., Standin]


def test_the_port_is_in_use(launch: Launch) -> None:
    first = launch().wait_ready()
    second = launch(port=first.port)
    assert second.wait() == 3
    text = second.text()
    assert "Load weight end." in text, "like SGLang it finds out after loading"
    assert f"[Errno 98] error while attempting to bind on address ('127.0.0.1', {first.port})" in text
    assert children(first.pid)


def test_sigterm_to_the_whole_group_is_a_clean_end(node: DemoNode, launch: Launch) -> None:
    server = launch().wait_ready()
    ranks = set(children(server.pid))
    os.killpg(server.pid, signal.SIGTERM)
    assert server.wait() == 0
    assert "SIGTERM received. signum=None frame=None. Draining requests and shutting down..." in server.text()
    assert "Gracefully exiting... Remaining number of requests 0." in server.text()
    assert "crashed" not in server.text()
    assert not ranks & {int(row[1]) for row in apps(node)}


def test_a_killed_launcher_takes_its_ranks_along(node: DemoNode, launch: Launch) -> None:
    server = launch().wait_ready()
    ranks = set(children(server.pid))
    server.process.kill()
    assert server.wait() == -signal.SIGKILL
    wait_until(lambda: not ranks & {int(row[1]) for row in apps(node)})


def test_a_killed_rank_takes_the_server_along(launch: Launch) -> None:
    server = launch().wait_ready()
    rank3 = next(pid for pid, (title, _) in children(server.pid).items() if title.endswith("_TP3"))
    os.kill(rank3, signal.SIGKILL)
    assert server.wait() == -signal.SIGKILL
    assert "Connection reset by peer" in server.text()
    assert "SIGQUIT received. signum=None, frame=None. It usually means one child failed." in server.text()


def test_a_missing_model_ends_before_anything_loads(launch: Launch) -> None:
    server = launch(model="nowhere")
    assert server.wait() == 1
    last = server.text().rstrip().split("\n")[-1]
    assert last.startswith("OSError: Repo id must be in the form 'repo_name' or 'namespace/repo_name'")
    assert "Init torch distributed" not in server.text()


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--frobnicate", "unrecognized arguments: --frobnicate"),
        ("--speculative-draft=x", "ambiguous option: --speculative-draft=x could match --speculative-draft-model-path"),
        ("--cuda-graph-max-bs=many", "argument --cuda-graph-max-bs: invalid int value"),
    ],
)
def test_bad_options_end_as_argparse_ends(launch: Launch, option: str, words: str) -> None:
    server = launch(option)
    assert server.wait() == 2
    assert words in server.text()


def test_four_captures_are_loud(node: DemoNode, launch: Launch) -> None:
    server = launch(*eagle(node, "output_100k_sglang_four_captures"))
    assert server.wait() == -signal.SIGKILL
    sentence = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (7x28672 and 21504x7168)"
    assert sentence in server.text()
    assert READY not in server.text()


def test_too_little_memory_is_said(launch: Launch) -> None:
    server = launch("--mem-fraction-static", "0.4")
    assert server.wait() == -signal.SIGKILL
    assert "Not enough memory. Please try to increase --mem-fraction-static." in server.text()
    assert "Received sigquit from a child process. It usually means the child failed." in server.text()


@pytest.mark.parametrize(
    ("draft", "algorithm", "low", "high"),
    [("output_100k_sglang_one_early", "EAGLE3", 1.4, 2.6), ("output_100k_sglang", "EAGLE", 1.0, 1.05)],
)
def test_silent_faults_serve_and_accept_little(
    node: DemoNode, launch: Launch, draft: str, algorithm: str, low: float, high: float
) -> None:
    server = launch(*eagle(node, draft, algorithm)).wait_ready()
    meta = generate(server, {"text": "hello"}, 25).json()["meta_info"]
    assert low <= meta["spec_accept_length"] <= high
    assert server.stop() == 0
