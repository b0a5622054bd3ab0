"""A busy node, as the events that told of it: each screen has something to show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from console.logs.history import LogHistory
from console.logs.marks import MarkFold, Marks
from console.logs.reading import LogReading
from console.logs.window import LineWindow
from console.state import events
from console.state.model import (
    Finding,
    LaunchView,
    PatchFile,
    ProfileView,
    Step,
)
from console.state.runs_state import Beside, ComparisonView, DifferenceView, Latency, RunView, ServerView
from remote_agent.protocol import LedgerEntry, NodeFacts
from tests.unit.state.samples import hello, holder, run, telemetry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.state.events import Event
    from console.state.log_state import LogDoor

RUN_ID = "20261130T014505-c3534b"
SHAPE_LINE = (
    "[EAGLE3_DEBUG] site=draft.fc_in rank={rank} model=LlamaForCausalLMEagle3 mode=DRAFT_EXTEND_V2 seq={seq} "
    "shape=(6,21504) dtype=bfloat16 device=cuda:{rank}\n"
)
WIRING = {"hidden_size": 7168, "captures_expected": 3, "draft_hidden_size": 7168}
FACTS = NodeFacts(
    "gpu-node-1", "me", 1000, "6.1", "Debian 12", 64, 1 << 40, "m", "b", "/s", "/c", "/h", "node", True, "smi", ""
)
COMMAND = (
    "EAGLE3_DEBUG=1 nohup python \\",
    "  -m sglang.launch_server \\",
    "  --model-path /models/kimi-k2.5-int4 \\",
    "  > /logs/x.log 2>&1 &",
)


def sample(text: str = "") -> bytes:
    """A log of eight ranks that print one shape each, a line that nobody knows, and `text`."""
    shapes = "".join(SHAPE_LINE.format(rank=rank, seq=rank) for rank in range(8))
    return (shapes + "a line that no parser knows\n" + text).encode()


class Log:
    """A followed log without a node: bytes in, events out."""

    def __init__(self, data: bytes = b"", door: LogDoor | None = None, offset: int = 0) -> None:
        self.window, self.marks, self.door = LineWindow(), Marks(), door
        self.history, self._fold = LogHistory(8, records_limit=0), MarkFold()
        self.offset = offset
        self.add(data)

    def add(self, data: bytes) -> None:
        self.window.append(self.offset, data)
        self.marks.add(self._fold.fold(self.history, self.history.feed(self.offset, data)))
        self.offset += len(data)

    def events(self, run_id: str = "", path: str = "/logs/sglang_eagle3_debug.log", **record: Any) -> Iterator[Event]:
        yield events.LogOpened(run_id or RUN_ID, path, record, self.window, self.marks, self.door)
        yield from self.fed(run_id)

    def fed(self, run_id: str = "", size: int = 0) -> Iterator[Event]:
        yield events.LogFed(run_id or RUN_ID, self.window.version, self.offset, size or self.offset)
        yield events.LogFolded(run_id or RUN_ID, LogReading.of(self.history), 0)


def stored(run_id: str, profile: str, rate: float, length: float | None, hist: tuple[int, ...] = ()) -> RunView:
    return RunView(
        run_id,
        1.7e9,
        "gpu-node-1",
        profile,
        RUN_ID,
        True,
        "",
        False,
        requests=10,
        completion_tokens=1280,
        concurrency=1,
        output_tok_s=rate,
        interval=(0.99 * rate, 1.01 * rate),
        decode_tok_s=rate,
        ttft_ms=Latency(32.0, 31.0, 41.5),
        tpot_ms=Latency(11.1, 11.0, 12.4),
        cycle_ms=107.3,
        step_ms=31.6,
        accept_len=length,
        accept_hist=hist,
        accept_hist_source="spec_accept_histogram",
        blocks=(rate, rate),
        server=ServerView(9, Beside(rate, 1.05 * rate, 0.048), Beside()),
        marks=("debug build: not a benchmark",),
    )


def busy(log: Log | None = None, title: str = "sglang::scheduler_TP0") -> Iterator[Event]:
    """Everything that a console would have read of a node with a server of ours and a colleague's process."""
    ours = run(RUN_ID, "me@here", record={"profile": {"name": "kimi-k2.5-eagle3-debug"}, "wiring": WIRING}, port=8000)
    pairs = [number for index in range(8) for number in (index, (8 << 30) if index < 2 else 0)]
    holders = (holder(0, "ours", title), holder(1, "foreign", "python train.py --lr 3e-4", pid=4242))
    log = log or Log(sample())
    yield events.NodeNamed("gpu-node-1", "me@here", False)
    yield events.LinkChanged("connected")
    yield events.AgentGreeted(hello())
    yield events.InventoryRead(FACTS, telemetry(*pairs), holders, (ours,), 3, "")
    yield from log.events(**ours.record)
    yield events.LogFed(RUN_ID, log.window.version, 900_000, 2_000_000)
    yield from _profiles()
    yield from _runs()
    yield events.TreeRead(
        "/opt/sglang",
        "0.5.12.post1",
        "kimi-k2.5-eagle3-debug",
        (
            PatchFile(
                "eagle3-shapes", "srt/models/llama_eagle3.py", "appliable", "2 lines to put in", "--- a\n+++ b\n+new"
            ),
        ),
        (LedgerEntry("e", "/opt/sglang", ["eagle3-shapes"], "me@here", 1.0, "intent"),),
    )
    steps = (Step("free", "", "done", "8/8 GPUs free", 0.2), Step("patch", "", "failed", "drifted", 0.1))
    yield events.RunbookMoved("kimi-k2.5-eagle3-debug", steps)


def _profiles() -> Iterator[Event]:
    yield events.ProfilesListed(
        (
            ProfileView("kimi-k2.5-baseline", "", "no speculation"),
            ProfileView(
                "kimi-k2.5-eagle3-debug", "", "shapes printed", ("eagle3-shapes",), "EAGLE3", "kimi-k2.5-baseline"
            ),
            ProfileView("broken", "", problem="broken.yaml:3:1: no key 'modle_path' (nearest: model_path)"),
        ),
        "kimi-k2.5-eagle3-debug",
    )
    findings = (Finding("port-in-use", "error", "port 8000 is taken by pid 77", "Stop it, or --set port=8001."),)
    yield events.LaunchPlanned(LaunchView("kimi-k2.5-eagle3-debug", COMMAND, findings, beside=(RUN_ID,)))


def _runs() -> Iterator[Event]:
    a = stored("20261130T014448-9cc525", "kimi-k2.5-baseline", 88.5, None)
    b = stored("20261130T014508-85ff8f", "kimi-k2.5-eagle3-debug", 31.4, 3.3952, (87, 60, 40, 30, 20, 10))
    yield events.RunsRead((b, a))
    compared = ComparisonView(
        "withheld",
        "something differs that the profile does not declare: disable_cuda_graph",
        -0.645,
        (-0.657, -0.634),
        0.02,
        (
            DifferenceView("disable_cuda_graph", "", "true", False, True),
            DifferenceView("speculative_algorithm", "", "EAGLE3", True),
        ),
        9.64,
        "tok/s = accept_len / cycle time",
    )
    yield events.RunsCompared(a, b, compared)
