"""Probes on the embedded node: options, a console that is killed, a link that breaks, a server of others, a URL."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from console.actions import adopt_probe, run_probe, status
from console.cli._nodes import open_node
from console.cli._shared import Options
from console.errors import NodeLost, Refused, UsageError
from console.probe.stats import MIN_BLOCKS
from tests.agent.generate_server import plain, serve
from tests.cli import Console, free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from console.actions.node import Node
    from console.actions.probe_outcome import ProbeOutcome

ROOT = Path(__file__).parents[2]
SMALL = ("--requests-per-block", "1", "--max-new-tokens", "24", "--warmup", "0")
TWO = ("--blocks", "2")
LOAD = {"requests_per_block": 1, "max_new_tokens": 24, "warmup": 0, "blocks": 2}
PAGE = 'sglang:forward_execution_seconds_total{category="decode"} %d\nsglang:generation_tokens_total{} %d\n'
OPTIONS = Options("probe", False, True, False, False, False)


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A console whose embedded node runs a server with speculation."""
    made = Console(tmp_path_factory.mktemp("probe") / "home", free_port(), {"NCCL_DEBUG": "OF_THE_SHELL"})
    try:
        code, _, narration = made.run("launch", "demo", "kimi-k2.5-eagle3", "--yes", *made.sets("patches=[]"))
        assert code == 0, narration
        assert "inherited from the node's environment: " in narration
        del made.env["NCCL_DEBUG"]
        yield made
    finally:
        made.leave()


@pytest.fixture
async def node(console: Console, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Node]:
    monkeypatch.setenv("SPEC_CONSOLE_HOME", str(console.home))
    async with open_node("demo", OPTIONS, reconnect=True) as opened:
        yield opened


async def probe(node: Node, said: list[str] | None = None, **load: Any) -> ProbeOutcome:
    plan = await run_probe.plan(node, overrides={**LOAD, **load})
    outcome = await run_probe.run(node, plan, (said if said is not None else []).append)
    assert outcome.ok, outcome.run.result.why
    return outcome


async def adopted(node: Node, run: str = "", said: list[str] | None = None) -> list[ProbeOutcome]:
    plan = await adopt_probe.plan(node, run)
    return [*(await adopt_probe.run(node, plan, (said if said is not None else []).append)).runs]


def kept(node: Node) -> list[str]:
    return [run.run_id for run in node.journal.list_runs()]


def blocks_told(said: list[str]) -> list[int]:
    return [int(number) for number in re.findall(r"^block (\d+):", "\n".join(said), re.M)]


def test_every_key_of_the_workload_is_an_option(console):
    words = ["--blocks", "2", "--concurrency", "2", "--requests-per-block", "2", "--max-new-tokens", "16"]
    words += ["--warmup", "1", "--temperature", "0.5", "--input-ids", "5,17,300", "--no-flush", "--keep-output"]
    code, told, narration = console.run("probe", "demo", *words)
    assert code == 0, narration
    run = told["run"]
    load = run["fingerprint"]["workload"]
    assert (run["requests"], run["completion_tokens"], len(run["blocks"])) == (4, 64, 2)
    assert (load["prompt"], load["concurrency"], load["temperature"]) == ("input_ids", 2, 0.5)
    assert (load["flush_cache"], run["flush_statuses"]) == (False, [])
    assert run["fingerprint"]["simulated"] is True
    assert run["client_cpu_share"] > 0


async def test_a_console_that_is_killed_right_after_the_start_loses_nothing(console, node):
    killed = subprocess.run(
        [sys.executable, "-m", "tests.e2e.killed_console", "answered:probes.start", "probe", "demo", *SMALL, *TWO],
        env=console.environ(),
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert killed.returncode == -signal.SIGKILL
    before = kept(node)
    (notice,) = (await status.read(node)).notices
    assert "probe demo --adopt" in notice
    (outcome,) = await adopted(node)
    run = outcome.run
    assert run.result.valid
    assert (len(run.result.blocks), run.result.completion_tokens) == (2, 48)
    assert (run.profile, run.node) == ("kimi-k2.5-eagle3", "demo")
    assert run.fingerprint.argv, "what was known at the start is kept"
    assert kept(node) == [run.run_id, *before]
    assert (await status.read(node)).notices == ()
    assert await adopted(node) == []
    assert kept(node) == [run.run_id, *before], "collected once"


async def test_a_link_that_breaks_costs_no_block_and_doubles_none(node):
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if line.startswith(("block 1:", "block 3:")):
            node.agent.session.break_link()

    outcome = await run_probe.run(node, await run_probe.plan(node, overrides={**LOAD, "blocks": 5}), say)
    assert outcome.ok, outcome.run.result.why
    assert len(outcome.run.result.blocks) == 5
    assert blocks_told(said) == [1, 2, 3, 4, 5]


@pytest.mark.slow
async def test_a_link_that_is_given_up_leaves_the_probe_to_be_adopted(node):
    async with open_node("demo", OPTIONS, reconnect=False) as first:

        def say(line: str) -> None:
            if line.startswith("block 1:"):
                first.agent.session.break_link()

        with pytest.raises(NodeLost) as lost:
            await run_probe.run(first, await run_probe.plan(first, overrides={**LOAD, "blocks": 20}), say)
    run_id = lost.value.message.split()[-1]
    assert f"probe demo --adopt {run_id}" in lost.value.hint
    with pytest.raises(Refused) as refused:
        await probe(node)
    assert f"--adopt {run_id}" in refused.value.hint, "two probes would measure each other"
    said: list[str] = []
    (outcome,) = await adopted(node, run_id, said)
    assert (outcome.run.run_id, len(outcome.run.result.blocks)) == (run_id, 20)
    assert blocks_told(said) == [*range(1, 21)], "each block once, those from before too"


async def test_ctrl_c_ends_the_probe_and_keeps_it_as_not_valid(console, node):
    process = console.start("probe", "demo", *SMALL, "--blocks", "50")
    assert process.stderr
    for line in process.stderr:
        if line.startswith("block 1:"):
            process.send_signal(signal.SIGINT)
            break
    narration = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    run = node.journal.get_run("@1")
    assert (run.result.valid, run.result.why) == (False, "cancelled")
    assert f"was ended; kept: run {run.run_id} INVALID: cancelled" in narration
    assert "goes on there" not in narration
    found = await status.read(node)
    assert found.notices == ()
    assert {each.state for each in found.probes} == {"exited"}


async def test_an_adaptive_run_ends_when_its_interval_is_narrow(node):
    said: list[str] = []
    result = (await probe(node, said, adaptive=True, half_width=0.5, blocks=1)).run.result
    assert MIN_BLOCKS <= len(result.blocks) < 20
    assert any("interval ±" in line for line in said)


@pytest.mark.slow
async def test_an_adaptive_run_ends_with_its_budget(node):
    outcome = await probe(node, adaptive=True, half_width=0.001, budget_min=0.05)
    assert outcome.to_json()["run"]["half_width"] > 0.001


async def test_a_server_that_is_not_ours_takes_a_confirmation_and_is_not_flushed(console, node):
    with serve(plain(24)) as server:
        server.metrics = lambda: (PAGE % (len(server.requests), 24 * len(server.requests))).encode()
        assert console.run("probe", "demo", *SMALL, "--port", str(server.port))[0] == 5
        assert server.requests == []
        plan = await run_probe.plan(node, port=server.port, overrides=LOAD)
        outcome = await run_probe.run(node, plan, lambda _line: None)
    result = outcome.run.result
    assert (outcome.run.launch_id, outcome.run.profile, result.completion_tokens) == ("", "", 48)
    assert (server.flushes, result.flush_statuses) == (0, ())
    assert result.server.device.seconds == {"decode": 2.0}, "its log is not known, but its timer is"
    assert any(note.startswith("server's own figures: not known: ") for note in result.notes)


async def test_a_key_that_is_not_set_here_is_said_before_anything_is_sent(node):
    with pytest.raises(UsageError, match="NO_SUCH_VARIABLE"):
        await run_probe.plan(node, overrides=LOAD, key_variable="NO_SUCH_VARIABLE")


@pytest.mark.slow
async def test_the_servers_own_figures_stand_beside_the_clients(node):
    run = (await probe(node, max_new_tokens=400, blocks=1)).run
    assert run.result.server
    assert run.result.server.windows > 0
    assert run.result.server.gen_tok_s == pytest.approx(run.result.decode_tok_s, rel=0.3)
    assert run.fingerprint.model_sha256
    assert run.fingerprint.draft_sha256
    assert run.fingerprint.clocks_max_mhz == run.fingerprint.clocks_app_mhz == (1980,) * 8
    assert run.fingerprint.env["NCCL_DEBUG"] == "OF_THE_SHELL"
    assert "without --enable-metrics" in run.result.server.device_why


async def test_the_same_server_over_the_network_is_another_measurement(console, node):
    url = ("probe", "--url", f"http://127.0.0.1:{console.port}", *SMALL, "--blocks", "2")
    assert console.run(*url)[0] == 5, "it may be somebody's"
    code, told, narration = console.run(*url, "--yes")
    assert code == 0, narration
    run = told["run"]
    assert (len(run["blocks"]), run["completion_tokens"]) == (2, 48)
    assert run["accept_len"] > 1
    assert (run["fingerprint"]["client"], run["fingerprint"]["simulated"]) == ("console", True)
    assert node.journal.get_run("@1").run_id == run["id"]
