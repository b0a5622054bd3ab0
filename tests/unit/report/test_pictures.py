"""Pictures are whole SVG files in which foreign text is text; a run without a measurement has none."""

from __future__ import annotations

import dataclasses
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from console.probe.context import RunContext
from console.report.formats import export
from console.report.pictures import pictures
from console.report.svg import BARS_LIMIT, Bars, bar_chart
from tests.unit.probe.runs import stored

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '"><script>alert(1)</script>&amp;\x1b[31m\u202e'


def texts(svg):
    return ["".join(each.itertext()) for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def bars(svg):
    return [each for each in ElementTree.fromstring(svg).iter(f"{SVG}rect") if each.find(f"{SVG}title") is not None]


def test_a_run_has_its_blocks_and_its_accepted_drafts_drawn():
    found = pictures(stored(90.0, 60.0, 90.0, output_tok_s=80.0, accept_len=2.5, accept_hist=(3, 1, 4)))
    assert list(found) == ["throughput", "accepted"]
    assert [each.find(f"{SVG}title").text for each in bars(found["throughput"])] == ["90", "60", "90"]
    tall, short, _ = (float(each.get("height")) for each in bars(found["throughput"]))
    assert short < tall
    assert any("80.0 tok/s" in text for text in texts(found["throughput"]))
    assert [each.find(f"{SVG}title").text for each in bars(found["accepted"])] == ["3", "1", "4"]


def test_what_was_not_measured_is_not_drawn():
    assert pictures(stored()) == {}


def test_a_simulated_run_says_so_in_its_pictures():
    run = stored(90.0, 91.0, simulated=True)
    assert any("SIMULATED" in text for text in texts(pictures(run)["throughput"]))


def test_foreign_text_does_nothing_in_a_picture():
    run = dataclasses.replace(stored(90.0, 91.0), run_id=HOSTILE)
    svg = pictures(run)["throughput"]
    tags = {each.tag.removeprefix(SVG) for each in ElementTree.fromstring(svg).iter()}
    assert tags == {"svg", "rect", "line", "text", "title"}
    assert "\x1b" not in svg


@settings(max_examples=30)
@given(st.lists(st.floats(0, 1e12), max_size=2 * BARS_LIMIT), st.text(max_size=20))
def test_any_values_make_a_whole_picture(values, title):
    svg = bar_chart(Bars(title, title, title, values, [title] * len(values), line=1.0, band=(0.5, 2.0)))
    assert len(bars(svg)) == min(len(values), BARS_LIMIT)
    assert "nan" not in svg


def test_the_note_tells_what_stands_on_the_run():
    context = RunContext(("nightly", "a_b"), "after *the* update", pinned=True)
    text = export("markdown", stored(90.0), None, context).text
    assert "Note: after \\*the\\* update" in text
    assert "Tags: pinned as baseline, nightly, a\\_b" in text
