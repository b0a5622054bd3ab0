"""The phase of a launch: what the log alone says."""

from __future__ import annotations

import pytest

from console.logs.history import LogHistory
from console.logs.phases import TAIL_LIMIT
from tests.unit.logs.samples import DATA, history, told

START = "[2026-11-29 22:26:42] server_args=ServerArgs(tp_size=2)\n"
BEGIN = "[2026-11-29 22:26:43 TP0] Load weight begin. avail mem=138.08 GB\n"
READY = "[2026-11-29 22:27:00] The server is fired up and ready to roll!\n"
SIGTERM = "[2026-11-29 22:28:00] SIGTERM received. signum=None frame=None. Draining requests and shutting down...\n"
CRASHED = "[2026-11-29 22:28:01] Subprocess detokenizer (pid=1192) crashed with exit code -15. Triggering SIGQUIT\n"
SIGQUIT = "[2026-11-29 22:28:01] SIGQUIT received. signum=None, frame=None. It usually means one child failed.\n"
HIT = "[2026-11-29 22:28:01 TP1] Scheduler hit an exception: Traceback (most recent call last):\n"


def phases_of(name: str) -> list[str]:
    """Return each phase, with its detail, that the log goes through."""
    kept, seen = LogHistory(), [""]
    data = (DATA / name).read_bytes()
    for at in range(0, len(data), 50):
        kept.feed(at, data[at : at + 50])
        phase = f"{kept.phase.name} {kept.phase.detail}".strip()
        if phase != seen[-1]:
            seen.append(phase)
    return seen[1:]


def test_a_real_launch_goes_from_starting_to_a_drained_stop() -> None:
    assert phases_of("h200/tp2-deepseek-eagle3-graphs.log") == [
        "unknown no line of an SGLang server in it",  # half a line
        "starting",
        "loading weights",
        "loading shards 0/1",
        "loading shards 1/1",
        "graphs target",
        "graphs target, batch size 0/2",
        "graphs target, batch size 1/2",
        "graphs target, batch size 2/2",
        "loading weights",
        "loading shards 0/1",
        "loading shards 1/1",
        *(f"graphs draft{step}" for step in ("", ", batch size 0/2", ", batch size 1/2", ", batch size 2/2")),
        *(f"graphs draft extend{step}" for step in ("", ", batch size 0/2", ", batch size 2/2")),
        "warming up",
        "warming up listening on http://127.0.0.1:8000",
        "ready",
        "stopping draining",
        "stopping drained",
    ]


@pytest.mark.parametrize(
    ("name", "detail", "kind", "rank", "sentence"),
    [
        (
            "h200/tp2-four-captures.log",
            "while warming up (listening on http://127.0.0.1:8102)",
            "matmul",
            1,
            "(6x4096 and 3072x1024)",
        ),
        (
            "h200/tp2-port-in-use.log",
            "while warming up",
            "port_in_use",
            None,
            "('127.0.0.1', 8000): address already in use",
        ),
        (
            "h200/tp2-draft-missing.log",
            "while starting",
            "traceback",
            None,
            "HFValidationError: Repo id must be in the form",
        ),
        (
            "h200/tp2-ambiguous-flag.log",
            "while starting",
            "argparse",
            None,
            "ambiguous option: --speculative-draft could",
        ),
        ("h200/tp2-scheduler-killed.log", "while ready", "traceback", 0, "Connection reset by peer"),
        (
            "h200/tp1-crash-jit-build.log",
            "while graphs (target, batch size 0/36)",
            "traceback",
            None,
            "CalledProcessError: Command '['ninja'",
        ),
        ("cases/A02-four-captures.log", "while starting", "matmul", 3, "(6x28672 and 21504x7168)"),
        ("cases/A13-dtype.log", "while starting", "dtype", 6, "got Float and Half"),
        (
            "cases/B04-graph-oom.log",
            "while graphs (target)",
            "out_of_memory",
            7,
            "CUDA out of memory. Tried to allocate 448.00 MiB",
        ),
        ("cases/B08-watchdog.log", "while starting", "watchdog", 4, "self.watchdog_timeout=300"),
        ("cases/D08-interleaved.log", "while starting", "matmul", None, "(6x28672 and 21504x7168)"),
        ("cases/D13-teardown.log", "while starting", "view", 5, "shape '[1, -1, 7168]' is invalid"),
    ],
)
def test_a_death_has_its_first_cause(name: str, detail: str, kind: str, rank: int | None, sentence: str) -> None:
    phase = history(name).phase
    assert phase.name == "died"
    assert phase.cause is not None
    assert sentence in phase.cause.sentence
    assert (phase.cause.kind, phase.cause.rank) == (kind, rank)
    assert phase.detail == detail


def test_the_cause_lies_at_its_offset() -> None:
    cause = history("cases/D13-teardown.log").phase.cause
    assert cause is not None
    assert (DATA / "cases" / "D13-teardown.log").read_bytes()[cause.offset :].startswith(b"RuntimeError: shape '[1,")


def test_a_child_that_ends_by_sigterm_while_draining_is_no_crash() -> None:
    assert history("h200/tp1-eagle3.log").phase.name == "stopping"
    assert told(START + READY + SIGTERM + CRASHED + SIGQUIT).phase.name == "stopping"


def test_the_same_lines_without_sigterm_are_a_death() -> None:
    phase = told(START + READY + CRASHED + SIGQUIT).phase
    assert (phase.name, phase.detail) == ("died", "while ready")
    assert phase.cause is not None
    assert phase.cause.kind == "child_crashed"


def test_a_death_stays_dead_whatever_the_other_ranks_still_say() -> None:
    decode = "[2026-11-29 22:26:05 TP0] Decode batch, #running-req: 1, gen throughput (token/s): 5.00, #queue-req: 0\n"
    phase = told(START + HIT + "ValueError: first\n" + decode + READY + "KeyError: second\n" + SIGTERM + SIGQUIT).phase
    assert phase.name == "died"
    assert phase.cause is not None
    assert (phase.cause.sentence, phase.cause.rank) == ("ValueError: first", 1)


def test_an_exception_that_the_server_outlived_is_not_blamed_later() -> None:
    old = "Traceback (most recent call last):\nValueError: bad request\n"
    decode = "[2026-11-29 22:26:05 TP0] Decode batch, #running-req: 1, gen throughput (token/s): 5.00, #queue-req: 0\n"
    assert told(START + READY + old).phase.name == "ready"
    phase = told(START + READY + old + decode + SIGQUIT).phase
    assert phase.cause is not None
    assert phase.cause.kind == "sigquit"


def test_a_bare_traceback_ends_a_launch_until_progress_takes_it_back() -> None:
    bare = "Traceback (most recent call last):\nImportError: no flash\n"
    assert told(START + bare).phase.name == "died"
    assert told(START + bare + BEGIN).phase.name == "loading"
    logged = "[2026-11-29 22:26:43] Traceback (most recent call last):\nImportError: no flash\n"
    assert told(START + logged).phase.name == "starting"


def test_a_warning_of_unbalanced_memory_is_no_death() -> None:
    assert history("cases/B05-unbalanced-warn.log").phase.name == "starting"
    cause = history("cases/B05-unbalanced-draft.log").phase.cause
    assert cause is not None
    assert cause.kind == "unbalanced_memory"


def test_teardown_does_not_hide_a_cause_that_is_known() -> None:
    bind = "[2026-11-29 22:26:44] ERROR:    [Errno 98] error while attempting to bind on address ('::', 8000): in use\n"
    phase = told(START + bind + "Traceback (most recent call last):\nRuntimeError: teardown\n" + SIGQUIT).phase
    assert phase.cause is not None
    assert phase.cause.kind == "port_in_use"


def test_an_exception_behind_its_announcement_is_the_cause() -> None:
    child = "[2026-05-25 06:00:02] Received sigquit from a child process. It usually means the child failed.\n"
    cause = told(START + child + "ValueError: late in the buffer\n").phase.cause
    assert cause is not None
    assert cause.sentence == "ValueError: late in the buffer"


def test_a_new_launch_in_the_same_file_starts_anew() -> None:
    assert told(START + READY + SIGQUIT + START + BEGIN).phase.name == "loading"


def test_other_ranks_do_not_turn_the_phase_back() -> None:
    graphs = "[2026-11-29 22:26:44 TP0] Capture cuda graph begin. avail mem=1.00 GB\n"
    assert told(START + BEGIN + graphs + BEGIN.replace("TP0", "TP1")).phase.name == "graphs"


def test_the_tail_is_kept_and_bounded() -> None:
    kept = told("".join(f"line {number}\n" for number in range(TAIL_LIMIT + 3)))
    assert kept.tail == tuple(f"line {number}" for number in range(3, TAIL_LIMIT + 3))
