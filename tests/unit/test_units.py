"""How numbers and foreign text are written."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import units


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (None, "–"),
        (0, "0 MiB"),
        (4 * 2**20, "4 MiB"),
        (2**30, "1.0 GiB"),
        (149_600_000_000, "139.3 GiB"),
        (900, "900 B"),
        (2048, "2.0 KiB"),
        (-3 * 2**20, "-3 MiB"),
    ],
)
def test_bytes(count: int | None, text: str) -> None:
    assert units.format_bytes(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0.0123, "12.3 ms"),
        (0.9999, "1.0 s"),
        (59.97, "1 min 00 s"),
        (125, "2 min 05 s"),
        (3599.6, "1 h 00 min"),
        (3725, "1 h 02 min"),
        (-2, "-2.0 s"),
    ],
)
def test_seconds(seconds: float | None, text: str) -> None:
    assert units.format_seconds(seconds) == text


def test_rates_numbers_and_ratios() -> None:
    assert units.format_rate(54.8) == "54.8 tok/s"
    assert units.format_number(4.65116, 4) == "4.6512"
    assert units.format_percent(0.0444, signed=True) == "+4.4 %"
    assert {units.format_rate(None), units.format_number(None), units.format_percent(None)} == {"–"}


def test_plain_shows_what_would_move_the_cursor_or_reorder() -> None:
    assert units.plain("\x1b]52;c;aGk=\x07") == "␛]52;c;aGk=␇"
    assert units.plain("a\u202eb\u2066c\x9b31m\u2028\ud800\x7f") == "a�b�c�31m��␡"
    assert units.plain("a\nb\r\tc") == "a␊b␍␉c"
    assert units.plain("a\nb\r\n", lines=True) == "a\nb␍\n"


@pytest.mark.parametrize("text", ["[rank0] [/] é 中文 א ░█ 👩\u200d💻 – … “x”", "[b, t, 7168]", ""])
def test_plain_leaves_ordinary_text_alone(text: str) -> None:
    assert units.plain(text) == text


@given(st.text())
def test_plain_text_is_never_longer_and_never_holds_a_control(text: str) -> None:
    shown = units.plain(text)
    assert len(shown) == len(text)
    assert not [char for char in shown if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")]
    assert not set(shown) & set("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\u00ad")
