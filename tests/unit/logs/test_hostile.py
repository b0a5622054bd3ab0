"""Log text is hostile: nothing raises, nothing vanishes, nothing takes long."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.logs.classify import PARSERS, classify
from console.logs.highlight import spans
from console.logs.history import LogHistory
from console.logs.split import TEXT_LIMIT, RawLine
from console.wiring.widths import judge
from tests.unit.logs.samples import kind_samples, log_lines

WORDS = st.sampled_from(
    [
        *(
            "[EAGLE3_DEBUG] ",
            "site=",
            "shape=",
            "shapes=",
            "(6,",
            "7168)",
            "aux=[",
            "torch.Size([",
            "])",
            "rank=",
            "=",
            ";",
        ),
        *(
            "[2026-02-20 10:02:11",
            " TP0] ",
            "Decode batch, ",
            "#a: ",
            "1",
            "%",
            ", ",
            "Error",
            ": ",
            "server_args=",
            "'",
            "{",
        ),
        *(
            "mat1 and mat2 shapes cannot be multiplied (",
            "x",
            "9" * 5000,
            "-",
            "nan",
            "\x85",
            "[/]",
            "[link=http://x]",
            "\\",
            "é",
        ),
    ]
)


@given(st.lists(WORDS, max_size=12).map("".join))
def test_any_line_is_classified_without_a_parser_failing_and_kept_whole(text: str) -> None:
    found = classify(RawLine(0, len(text), text))
    assert "".join(one.text for one in found) == text
    assert not [one.fields for one in found if "parser" in one.fields]


@given(st.binary(max_size=300))
def test_any_bytes_go_through(data: bytes) -> None:
    kept = LogHistory()
    kept.feed(0, data)
    kept.finish()
    assert sum(kept.counts.values()) == len(kept.records)


@given(st.lists(st.sampled_from([sample["line"] for _, sample in kind_samples()]) | WORDS | st.just("\n"), max_size=30))
def test_any_mixture_of_real_lines_folds_into_a_history(pieces: list[str]) -> None:
    kept = LogHistory()
    kept.feed(0, "".join(pieces).encode())
    kept.finish()
    json.dumps(kept.to_json(lambda row: judge(row, 7168, 3, {"draft.fc_in": 21504})))
    assert sum(kept.counts.values()) == len(kept.records)


def test_lines_that_markup_would_eat_keep_their_text() -> None:
    for line in log_lines("cases/D06-markup.log"):
        assert "".join(one.text for one in classify(line)) == line.text


@pytest.mark.parametrize(
    "unit",
    [
        "9",
        "a",
        " ",
        "[",
        "(",
        "%|",
        "0%|",
        "a.",
        "a=",
        "[2026-02-20 10:02:11 ",
        "torch.Size([",
        "shape",
        "'a': '",
        "^",
        "é,",
    ],
)
def test_the_longest_line_of_one_repeated_piece_takes_little_time(unit: str) -> None:
    text = (unit * TEXT_LIMIT)[:TEXT_LIMIT]
    begin = time.perf_counter()
    for parser in PARSERS:
        parser.parse(text)
    for line in {kind: sample["line"] for kind, sample in kind_samples()}.values():
        classify(RawLine(0, 0, line + text))
        classify(RawLine(0, 0, text + line))
    spans(text)
    assert time.perf_counter() - begin < 5  # seconds; a pattern that is quadratic takes minutes
