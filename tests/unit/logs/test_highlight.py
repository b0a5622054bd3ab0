"""Stretches of a line to bring out."""

from __future__ import annotations

import pytest

from console.logs.highlight import HIGHLIGHT_LIMIT, spans
from tests.unit.logs.samples import LOGS, lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[EAGLE3_DEBUG] site=draft.fc_in rank=0 model=M mode=EXTEND seq=1 shape=(6,21504)",
            [("draft.fc_in", "site"), ("rank=0", "rank"), ("(6,21504)", "shape")],
        ),
        (
            "[2026-02-20 10:02:11 DP0 TP3] fc in: torch.Size([6, 21504])",
            [("DP0", "rank"), ("TP3", "rank"), ("torch.Size([6, 21504])", "shape")],
        ),
        (
            "Decode batch, #running-req: 1, accept len: 3.58, accept rate: 0.52, gen throughput (token/s): 524.31",
            [("3.58", "number"), ("0.52", "number"), ("524.31", "number")],
        ),
        (
            "RuntimeError: mat1 and mat2 shapes cannot be multiplied (6x28672 and 21504x7168)",
            [("RuntimeError", "error"), ("shapes cannot be multiplied", "error")],
        ),
        ("server_args=ServerArgs(api_key='sk-1', tp_size=2)", [("sk-1", "secret")]),
        ("server_args={'api_key': 'sk-1', 'tp_size': 2}", [("sk-1", "secret")]),
        ("[bold]nothing[/bold] here", []),
    ],
)
def test_what_matters_is_brought_out(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(text[begin:end], style) for begin, end, style in spans(text)] == expected


def test_spans_are_in_order_and_apart() -> None:
    for path in LOGS:
        for line in lines(path.read_bytes()):
            ends = 0
            for begin, end, _ in spans(line.text):
                assert ends <= begin < end <= min(len(line.text), HIGHLIGHT_LIMIT)
                ends = end
