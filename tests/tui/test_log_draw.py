"""One row of the log: what is seen of a line is the same by either way of drawing it."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from console.logs.window import Line
from console.tui.widgets.log_draw import PARTS, Looks, line_strip, seen_of, window_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.segment import Segment

LOOKS = Looks(Style(), {name: Style(meta={"part": name}) for name in PARTS})
WORDS = (
    *(
        "[EAGLE3_DEBUG] ",
        "site=draft.fc_in ",
        "rank=3 ",
        "shape=(6,21504) ",
        "ERROR: ",
        "api_key='sk-1' ",
        "accept len: ",
    ),
    *("3.10", " ", "x" * 30, "[bold]", "\x1b[31m", "\t"),
)


def cells(segments: Iterable[Segment]) -> list[tuple[str, str]]:
    """Each character with the part that it belongs to."""
    named = ((segment.text, (segment.style.meta if segment.style else {}).get("part", "")) for segment in segments)
    return list(chain.from_iterable([(char, part) for char in text] for text, part in named))


@given(
    st.lists(st.sampled_from(WORDS), max_size=8).map("".join),
    st.sampled_from(["", "×8", "x8"]),
    st.integers(0, 90),
    st.integers(1, 60),
    st.booleans(),
)
def test_the_short_way_and_the_way_of_strips_show_the_same(
    text: str, label: str, left: int, width: int, is_cut: bool
) -> None:
    raw = text.encode()
    line = Line(0, 0, raw, len(raw) + 70_000 * is_cut)
    assert line.is_cut == is_cut
    expected = window_of(line_strip(line, label, LOOKS), line, left, width, LOOKS)
    found = seen_of(line, label, LOOKS, left, width)
    assert cells(found) == cells(expected)
    assert len(cells(found)) == width
