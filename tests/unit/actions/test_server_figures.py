"""The server's own figures are read from just the blocks of its log; where they are not known it is said why."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest

from console.actions import server_figures
from console.actions.probe_record import ProbeRecord
from console.errors import UsageError
from console.probe.decode_lines import why_none
from console.probe.device_timer import TimerReading
from console.probe.metrics import measure
from console.probe.trace import BlockTrace
from remote_agent.protocol import HttpReply, LogPlace, ProbeRun
from tests.unit.probe.runs import fingerprint, pair_request, trace

LINE = (
    "[2026-02-20 10:02:{:02d} TP0] Decode batch, #running-req: 1, #token: 100, token usage: 0.00, "
    "accept len: 4.50, accept rate: 0.70, cuda graph: True, gen throughput (token/s): 90.00, #queue-req: 0\n"
)
LOG = "".join(LINE.format(second) for second in range(10)).encode()
RECORD = ProbeRecord("p", "h", "s-1", fingerprint(), server_log="/logs/x.log")
PROBE = ProbeRun("r-1", "me@here", "/spool", "exited", 100.0, 8000)


class Agent:
    """Logs by path, and where those are that a later launch took."""

    def __init__(self, logs: dict[str, bytes], taken: dict[str, LogPlace] | None = None) -> None:
        self.logs, self.taken, self.asked = logs, taken or {}, []
        self.metrics = HttpReply(404, "", "", 0.0)

    async def http(self, port: int, path: str, *, timeout_s: float) -> HttpReply:
        assert (port, path) == (PROBE.port, "/metrics")
        return self.metrics

    async def read_range(self, path: str, offset: int, length: int) -> bytes:
        self.asked.append((path, offset, length))
        if path not in self.logs:
            raise UsageError(f"{path} is not there")
        return self.logs[path][offset : offset + length]

    async def log_place(self, run_id: str, path: str) -> LogPlace:
        assert run_id == PROBE.run_id, "since then the offsets hold"
        return self.taken.get(path, LogPlace(path))


def measured(log_from: int | None = 0, log_to: int | None = len(LOG)):
    block = BlockTrace(0, 1, 400, 4.0, 0.01, log_from, log_to)
    return trace(pair_request(sent_at=1000.0), blocks=(block,))


async def beside(agent: Agent, told, record: ProbeRecord = RECORD):
    node = SimpleNamespace(agent=agent, name="n1")
    return await server_figures.beside(node, measure(told), told, record, PROBE)


async def test_the_figures_of_the_blocks_stand_beside_the_clients():
    agent = Agent({"/logs/x.log": b"old\n" + LOG + b"later\n"})
    result = await beside(agent, measured(4, 4 + len(LOG)))
    assert agent.asked == [("/logs/x.log", 4, len(LOG))]
    assert result.server.gen_tok_s == pytest.approx(90.0)
    assert result.server.accept_len == pytest.approx(4.5)


async def test_a_disagreement_is_said():
    result = await beside(Agent({"/logs/x.log": LOG}), measured())
    assert any("the client measured" in note and "90.0" in note for note in result.notes)


async def test_a_log_that_a_later_launch_renamed_is_found():
    logs = {"/logs/x.log": b"of another launch" * 99, "/logs/x.log.s-2": LOG}
    agent = Agent(logs, {"/logs/x.log": LogPlace("/logs/x.log.s-2", "s-2")})
    assert (await beside(agent, measured())).server.windows > 0


async def test_a_log_that_a_later_launch_replaced_is_not_read():
    agent = Agent({"/logs/x.log": LOG}, {"/logs/x.log": LogPlace("", "s-2")})
    result = await beside(agent, measured())
    assert agent.asked == []
    assert any("was moved or replaced by server s-2" in note for note in result.notes)


def short(tokens: int, verifications: int):
    """A run of one block whose log has nothing of use."""
    meta = {"spec_verify_ct": verifications} if verifications else {}
    request = pair_request(sent_at=1000.0, completion_tokens=tokens, chunks=((0.1, 1), (0.9, tokens)), meta_info=meta)
    return trace(request, blocks=(BlockTrace(0, 1, tokens, 1.0, 0.01, 0, len(LOG)),))


@pytest.mark.parametrize(
    ("told", "argv", "why"),
    [
        (short(128, 27), (), ("every 40 decode steps", "takes 80", "about 27 verifications", "--max-new-tokens 381")),
        (short(64, 0), (), ("takes 80", "about 63 decode steps", "--max-new-tokens 81")),
        (short(128, 27), ("--decode-log-interval", "10"), ("every 10", "27 verifications", "--log-level above info?")),
        (short(400, 86), (), ("every 40", "about 86 verifications in a row", "--log-level above info?")),
    ],
)
async def test_why_a_log_has_no_decode_line_is_said_with_what_to_do(told, argv, why):
    record = dataclasses.replace(RECORD, fingerprint=fingerprint(argv=("python", "-m", "sglang", *argv)))
    result = await beside(Agent({"/logs/x.log": b"nothing of use\n" * 50}), told, record)
    (note,) = [note for note in result.notes if "tells nothing of these blocks (750 B)" in note]
    for words in why:
        assert words in note


async def test_streams_beside_each_other_keep_a_server_busy():
    requests = [pair_request(index=n, sent_at=1000.0, meta_info={"spec_verify_ct": 40}) for n in range(6)]
    two, four = (why_none(requests, streams) for streams in (2, 4))
    assert "about 120 verifications in a row" in two
    assert "about 60 verifications. Make more tokens" in four


@pytest.mark.parametrize(
    ("told", "record", "logs", "why"),
    [
        (measured(), dataclasses.replace(RECORD, server_log="", log_problem="it writes to a pipe"), {}, "to a pipe"),
        (measured(None, None), RECORD, {"/logs/x.log": LOG}, "begun anew, or cannot be read"),
        (measured(), RECORD, {}, "/logs/x.log is not there"),
        (measured(), RECORD, {"/logs/x.log": b"nothing of use\n" * 50}, "tells nothing of these blocks"),
    ],
)
async def test_why_they_are_not_known_is_said(told, record, logs, why):
    result = await beside(Agent(logs), told, record)
    assert result.server is None
    (note,) = [note for note in result.notes if note.startswith("server's own figures: not known")]
    assert why in note


async def test_a_run_that_is_not_valid_is_left_as_it_is():
    told = dataclasses.replace(measured(), done=None)
    agent = Agent({"/logs/x.log": LOG})
    assert (await beside(agent, told)).server is None
    assert agent.asked == []


PAGE = """sglang:forward_execution_seconds_total{category="target_verify"} %f
sglang:generation_tokens_total{model_name="/m"} %d
"""
TIMED = dataclasses.replace(RECORD, timer=TimerReading({"target_verify": 1.0}, 8))


def timed_agent(seconds: float = 3.0, tokens: int = 8 + 800, logs: dict[str, bytes] | None = None) -> Agent:
    agent = Agent({"/logs/x.log": LOG} if logs is None else logs)
    agent.metrics = HttpReply(200, PAGE % (seconds, tokens), "", 0.0)
    return agent


def warmed(concurrency: int = 1):
    """A warm-up request and a measured one: the timer counts both."""
    requests = [pair_request(index=n, sent_at=1000.0) for n in range(concurrency)]
    block = BlockTrace(0, concurrency, 400 * concurrency, 4.0, 0.01, 0, len(LOG))
    return trace(pair_request(block=-1, warmup=True, sent_at=990.0), *requests, blocks=(block,))


async def test_the_device_timer_gives_the_verify_of_a_cycle():
    result = await beside(timed_agent(), warmed(), TIMED)
    assert result.server.device.verify_ms == pytest.approx(1000 * 2.0 / (2 * 86))
    assert (result.server.device.seconds, result.server.device_why) == ({"target_verify": 2.0}, "")


async def test_streams_that_share_a_cycle_give_no_verify_of_one():
    device = (await beside(timed_agent(tokens=8 + 1200), warmed(2), TIMED)).server.device
    assert (device.seconds, device.verify_ms) == ({"target_verify": 2.0}, None)


async def test_a_server_whose_log_is_not_known_has_its_timer_all_the_same():
    result = await beside(timed_agent(logs={}), warmed(), TIMED)
    assert (result.server.windows, result.server.device.seconds) == (0, {"target_verify": 2.0})
    assert any("/logs/x.log is not there" in note for note in result.notes)


@pytest.mark.parametrize(
    ("agent", "record", "why"),
    [
        (Agent({"/logs/x.log": LOG}), TIMED, "without --enable-metrics"),
        (timed_agent(tokens=8 + 4000), TIMED, "others asked the server meanwhile"),
        (timed_agent(), RECORD, "was not read when the probe began"),
        (timed_agent(), dataclasses.replace(RECORD, timer_why="HTTP 500"), "HTTP 500"),
    ],
)
async def test_why_there_is_no_gpu_time_is_kept(agent, record, why):
    server = (await beside(agent, warmed(), record)).server
    assert server.device is None
    assert why in server.device_why
