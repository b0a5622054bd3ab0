"""Notes, rows and raw traces: what is in them, and that foreign text stays text."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.errors import UsageError
from console.logs.cycles import CycleSummary
from console.probe.compare import compare, compare_pools
from console.probe.golden import Golden
from console.probe.metrics import measure
from console.probe.outputs import compare_outputs
from console.probe.server_side import ServerFigures
from console.report.escape import code, csv_cell, markdown
from console.report.formats import FORMATS, export
from console.report.markdown import comparison_note, run_note
from console.report.rows import COLUMNS, raw_jsonl, requests_csv
from console.units import plain
from tests.unit.probe.runs import ARGV, SPECULATIVE, line, pair_request, stored, trace

BASE = (90.0, 91.0, 89.0, 90.5, 89.5)
SLOW = (54.8, 55.2, 54.5, 54.9, 55.0)
HOSTILE = "![x](http://evil/a.png) <img src=x> | a `b` @team https://evil www.evil.com\n# head\x1b[31m \u202e"


def note(*, outputs=None, **changes):
    candidate = stored(*SLOW, run_id="run-2", output_tok_s=54.8, **{"argv": SPECULATIVE, **changes})
    return comparison_note(compare(stored(*BASE, output_tok_s=90.0), candidate, ["speculative"]), outputs)


def cells(text):
    """Rows of the note's tables."""
    rows = [re.split(r"(?<!\\) \| ", row[2:-2]) for row in text.splitlines() if row.startswith("| ")]
    return {row[0]: row[1:] for row in rows}


def test_a_comparison_s_note_has_both_numbers_the_verdict_and_the_difference():
    text = note()
    assert text.startswith("# `run-2` against `run-1`\n")
    assert "**Verdict: slower**" in text
    assert "Difference -39.0 % (95 % interval -39.7 % to -38.4 %), by block, n 5 and 5, launches 1 and 1" in text
    assert cells(text)["output, all blocks"] == ["90.0 tok/s", "54.8 tok/s"]
    assert cells(text)["speculation"] == ["`none`", "`EAGLE3 5/auto/auto, draft /models/draft`"]
    assert cells(text)["GPUs"][0] == "`8 x NVIDIA H200 700 W`"


def test_a_withheld_verdict_says_why_and_what_was_not_declared():
    text = note(argv=(*SPECULATIVE, "--disable-cuda-graph"))
    assert "**Verdict: withheld**: something differs that the profile does not declare" in text
    assert cells(text)["`disable_cuda_graph`"] == ["–", "`true`", "**no**"]
    assert "CUDA graphs off\\: not a benchmark" in text.splitlines()[2]


def test_what_the_server_said_and_the_stages_stand_beside():
    cycle = CycleSummary(5, 33.0, 12.0, 18.0, None, 0.55, "cuda")
    text = note(server=ServerFigures(12, 55.0, 55.0, 2.5, 1.0, cycle), cycle_ms=33.3)
    assert cells(text)["cycle"][1] == "33.30 ms (eagle3\\-cycle: draft 12.00, verify 18.00, extend – ms)"
    assert cells(text)["by the server itself"][1] == "55.0 tok/s, accept\\_len 2.5000, 12 windows"


def test_outputs_and_a_golden_curve_are_in_the_note():
    load = {"flush_cache": True}
    runs = [trace(pair_request(output_ids=ids)) for ids in ((1, 2, 3), (1, 2, 9))]
    found = compare_pools([stored(*BASE)], [stored(*SLOW, argv=SPECULATIVE)], golden=Golden("pair", {5: 3.46}))
    text = comparison_note(found, compare_outputs(*runs, load, load))
    assert "0 of 1 greedy outputs are the same; 2 of 3 tokens before they part." in text
    assert "Golden curve pair: accept\\_len 3.46 at 5 steps; measured – (–)." in text


def test_a_simulated_run_says_so_first():
    text = run_note(stored(*BASE, simulated=True))
    assert "**SIMULATED\\: measured on the embedded node**" in text.splitlines()[2]


@pytest.mark.parametrize("field", ["profile", "node", "launch_id", "why", "driver", "notes"])
def test_foreign_text_in_a_note_is_text(field):
    value = (HOSTILE,) if field == "notes" else HOSTILE
    whole = run_note(stored(*BASE, valid=False, **{field: value}))
    text = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "CODE", whole)  # GFM 6.3: nothing in a code span does anything
    assert "<img" not in text
    assert "](http" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\n# head" not in text
    assert "https://" not in text, "not even a bare link"
    assert "\x1b" not in whole
    assert all(len(row) == 1 for row in cells(text).values() if row), "no cell was added"


@given(st.text(max_size=60))
def test_no_text_leaves_its_markdown_cell(text):
    found = markdown(text)
    assert "\n" not in found
    assert not re.search(r"(?<!\\)(\\\\)*[|`*_\[\]#]", found)
    assert "<" not in found.replace("&lt;", "")


@given(st.text(max_size=60) | st.text(st.sampled_from("`|\\\\ a\n"), max_size=12))
def test_no_text_leaves_its_code_span_or_cell_and_it_can_be_copied(text):
    found = code(text)
    assert "\n" not in found
    assert not re.search(r"(?<!\\)\|", found)
    if found:
        fence, inside = re.fullmatch(r"(`+)(.*)", found).groups()
        inside = inside.removesuffix(fence)
        assert fence not in re.findall("`+", inside)
        assert inside.strip().replace("\\|", "|") == " ".join(plain(text, lines=True).split())


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\r=1", "=cmd|' /C calc'!A0"])
def test_a_formula_in_a_csv_cell_is_text(text):
    assert str(csv_cell(text))[0] not in "=+-@|% \t\r"


@pytest.mark.parametrize(("value", "cell"), [(-1.5, -1.5), (3, 3), (None, ""), (True, "True"), ("length", "length")])
def test_numbers_and_plain_words_stay(value, cell):
    assert csv_cell(value) == cell


def test_each_request_is_a_row():
    found = trace(
        pair_request(block=-1, warmup=True), pair_request(finish_reason="=HYPERLINK(1)"), pair_request(index=1)
    )
    rows = list(csv.DictReader(io.StringIO(requests_csv(stored(*BASE), found))))
    assert list(rows[0]) == list(COLUMNS)
    assert [(row["block"], row["request"], row["warmup"]) for row in rows] == [
        ("0", "1", "True"),
        ("1", "1", "False"),
        ("1", "2", "False"),
    ]
    assert float(rows[1]["accept_len"]) == pytest.approx(400 / 86)
    assert rows[1]["finish_reason"] == "'=HYPERLINK(1)"
    assert rows[1]["ttft_ms"] == "50.0"


SPOOL = line(
    "request", block=0, index=0, warmup=False, completion_tokens=2, e2e_s=0.1, chunks=[[0.1, 2]], text="\x1b]0;x"
)


def test_raw_traces_come_with_their_provenance_and_without_control_characters():
    head, event = raw_jsonl(stored(*BASE), SPOOL + b'{"half').splitlines()
    assert json.loads(head)["fingerprint"]["driver"] == "580.65"
    assert json.loads(event)["text"] == "\x1b]0;x"
    assert "\x1b" not in event


@pytest.mark.parametrize("name", FORMATS)
def test_every_form_is_written_from_a_spool(name):
    run = dataclasses.replace(stored(*BASE), result=measure(trace(pair_request())))
    text = export(name, run, SPOOL).text
    assert text.endswith("\n")
    assert run.run_id in text.replace("\\", "")


def test_without_a_spool_there_is_the_note_and_a_word_why():
    assert export("markdown", stored(*BASE), None).text
    with pytest.raises(UsageError) as caught:
        export("csv", stored(*BASE), None)
    assert "--format markdown" in caught.value.hint


def test_a_secret_of_the_command_is_masked_in_every_form():
    run = stored(*BASE, argv=(*ARGV, "--api-key", "s3cret"), env={"SGLANG_API_KEY": "s3cret"})
    assert all("s3cret" not in export(name, run, SPOOL).text for name in FORMATS)
