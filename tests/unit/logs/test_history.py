"""The history of a log: bounded, counted, versioned."""

from __future__ import annotations

import json

from console.logs.history import CHARACTERS_LIMIT, RECORDS_LIMIT, SAMPLES_LIMIT, LogHistory
from tests.unit.logs.samples import DATA, history, told


def test_records_of_chunks_are_those_of_the_whole() -> None:
    data = (DATA / "h200" / "tp4-eagle3.log").read_bytes()
    chunked = LogHistory()
    returned = [one for at in range(0, len(data), 977) for one in chunked.feed(at, data[at : at + 977])]
    returned += chunked.finish()
    whole = history("h200/tp4-eagle3.log")
    assert returned == list(chunked.records) == list(whole.records)
    assert chunked.to_json() == whole.to_json()


def test_the_version_grows_with_records_only() -> None:
    kept = LogHistory()
    kept.feed(0, b"half a li")
    assert kept.version == 0
    kept.feed(9, b"ne\nnext\n")
    assert kept.version == 1
    kept.feed(9, b"ne\nnext\n")
    assert kept.version == 1


def test_the_ring_forgets_records_and_the_counts_do_not() -> None:
    death = (
        "[2026-01-05 10:00:00 TP3] Scheduler hit an exception: Traceback (most recent call last):\nValueError: first\n"
    )
    kept = told(death + "x\n" * (RECORDS_LIMIT + 10))
    assert len(kept.records) == RECORDS_LIMIT
    assert kept.counts["unclaimed"] == RECORDS_LIMIT + 10
    assert kept.phase.cause is not None
    assert kept.phase.cause.sentence == "ValueError: first"


def test_long_lines_leave_the_ring_earlier() -> None:
    kept = told(("x" * 60_000 + "\n") * (CHARACTERS_LIMIT // 60_000 + 10))
    assert sum(len(one.text) for one in kept.records) <= CHARACTERS_LIMIT
    assert len(kept.records) == CHARACTERS_LIMIT // 60_000


def test_unclaimed_lines_are_counted_with_one_sample_of_a_form() -> None:
    kept = told("".join(f"[2026-11-29 22:26:42 TP{n}] Counting {n} things of no release\n" for n in range(4)) + "\n")
    assert kept.unclaimed() == {
        "count": 4,
        "samples": ["[2026-11-29 22:26:42 TP0] Counting 0 things of no release"],
    }
    many = told("".join(f"{'x' * n} y\n" for n in range(1, 3 * SAMPLES_LIMIT)))
    assert len(many.unclaimed()["samples"]) == SAMPLES_LIMIT  # type: ignore[arg-type]


def test_json_is_the_contract_s_and_plain() -> None:
    told_json = json.loads(json.dumps(history("h200/tp4-eagle3.log").to_json()))
    assert sorted(told_json) == [
        *("crashes", "cycles", "digests", "flow", "records", "shapes", "stats", "unclaimed"),
    ]
    assert told_json["records"]["decode_batch"] == 22
    assert told_json["stats"]["last_at_batch_1"]["gen_throughput"] == 524.31


def test_a_truncated_file_goes_on_and_a_gap_is_told() -> None:
    kept = told("[2026-11-29 22:26:43 TP0] Load weight begin. avail mem=138.08 GB\nhalf")
    assert [one.text for one in kept.reset(0)] == []
    kept.feed(0, b"[2026-11-29 22:27:00] The server is fired up and ready to roll!\n")
    assert kept.phase.name == "ready"
    kept.feed(1_000_000, b"x\n")
    assert kept.missed_bytes == 1_000_000 - 64
