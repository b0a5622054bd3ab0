"""Every parser: its samples, and that no two of them claim one line."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest

from console import registry
from console.logs import parsers
from console.logs.classify import PARSERS, classify, dispatch
from console.logs.parser import START_LENGTH, Fields, Parser
from console.logs.parts import parts
from console.logs.record import UNCLAIMED
from console.logs.split import RawLine
from tests.unit.logs.samples import KINDS, LOGS, kind_samples, lines, record

SAMPLES = kind_samples()


def listed(value: object) -> object:
    return [listed(part) for part in value] if isinstance(value, (tuple, list)) else value


@pytest.mark.parametrize(("kind", "sample"), SAMPLES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_sample_is_claimed_by_its_kind_with_its_fields(kind: str, sample: dict[str, Any]) -> None:
    found = record(sample["line"])
    assert found.kind == kind
    assert found.text == sample["line"]
    assert {name: listed(found.fields[name]) for name in sample["fields"]} == sample["fields"]


def test_each_parser_has_samples_a_docstring_and_the_name_of_its_file() -> None:
    modules = registry.modules(parsers)
    assert sorted(modules) == sorted(path.stem for path in KINDS)
    for stem, module in modules.items():
        assert module.PARSER.kind == stem
        assert module.__doc__
        assert all(len(start) >= START_LENGTH for start in module.PARSER.starts)


@cache
def all_messages() -> list[str]:
    texts = [line.text for path in LOGS for line in lines(path.read_bytes())]
    texts += [sample["line"] for _, sample in SAMPLES]
    return sorted({part.message for text in texts for part in parts(text)})


def test_no_two_parsers_claim_one_line() -> None:
    for message in all_messages():
        claims = [parser.kind for parser in PARSERS if parser.parse(message) is not None]
        assert len(claims) <= 1, message


def test_starts_and_hints_hide_no_line_from_its_parser() -> None:
    for message in all_messages():
        claims = [parser.kind for parser in PARSERS if parser.parse(message) is not None]
        found = classify(RawLine(0, len(message), message))
        assert claims == [one.kind for one in found if one.kind not in {UNCLAIMED, "blank"}], message


def test_the_order_of_parsers_does_not_matter() -> None:
    shuffled = list(PARSERS)
    random.Random(7).shuffle(shuffled)
    for message in all_messages():
        line = RawLine(0, len(message), message)
        assert classify(line, dispatch(shuffled)) == classify(line)


def test_no_parser_fails_on_any_sample() -> None:
    for message in all_messages():
        for one in classify(RawLine(0, len(message), message)):
            assert "error" not in one.fields or one.kind != UNCLAIMED, (message, one.fields)


def test_a_failing_parser_makes_an_unclaimed_record_that_says_so() -> None:
    def fail(message: str) -> Fields | None:
        raise ValueError("no")

    (found,) = classify(RawLine(3, 6, "a trap"), dispatch([Parser(kind="trap", parse=fail, hints=("trap",))]))
    assert (found.kind, found.offset, found.text) == (UNCLAIMED, 3, "a trap")
    assert found.fields == {"parser": "trap", "error": "ValueError: no"}


def test_an_unknown_line_is_unclaimed_and_an_empty_one_blank() -> None:
    assert record("Ignore what is no SGLang line").kind == UNCLAIMED
    assert record("   \n").kind == "blank"


def test_the_skeleton_in_the_docstring_works() -> None:
    docstring = parsers.__doc__ or ""
    code = "\n".join(line[4:] for line in docstring.splitlines() if line.startswith("    "))
    made: dict[str, Any] = {}
    exec(compile(code, "skeleton", "exec"), made)
    assert made["PARSER"].parse("My line 3 of 8") == {"done": 3, "total": 8}
    assert len(code.splitlines()) <= 12
