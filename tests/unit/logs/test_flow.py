"""The path of the captured states, with what passes along."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from console.logs.flow import Flow, flow
from console.wiring.widths import judge
from tests.unit.logs.samples import history
from tests.unit.logs.test_shapes import ours, told

if TYPE_CHECKING:
    from console.logs.shape_row import ShapeRow

H, TARGET, DRAFT = 7168, "DeepseekV3ForCausalLM", "LlamaForCausalLMEagle3"


def of_kimi(row: ShapeRow):
    return judge(row, H, 3)


def server(captures: int = 3, stored: int = 21504, fc_in: int = 21504, fc_out: int = H, mode: str = "EXTEND") -> str:
    aux = ";".join([f"(6,{H})"] * captures) if captures > 1 else f"(6,{H});"
    text = ours("target.aux", 0, aux, "TARGET_VERIFY", TARGET) + ours("target.aux", 0, f"(1,{H});", "DECODE", DRAFT)
    text += ours("logits.stored", 0, f"(6,{stored})", "TARGET_VERIFY", TARGET)
    text += ours("logits.stored", 0, f"(1,{H})", "DECODE", DRAFT) * 5
    text += ours("draft.fc_in", 0, f"(6,{fc_in})", mode) + ours("draft.fc_in", 0, f"(1,{H})", "DECODE") * 5
    return text + ours("draft.fc_out", 0, f"(6,{fc_out})", mode)


def drawn(text: str) -> Flow:
    return flow(told(text).shapes.rows(), of_kimi)


def test_a_right_wiring():
    path = drawn(server())
    assert path.state == "ok"
    assert path.lines() == [
        "target.aux ──3 × 7168─▶ logits.stored ──21504─▶ draft.fc_in ──21504─▶ draft.fc_out ──7168─▶"
    ]


def test_the_story_s_draft_that_is_handed_one_state():
    path = drawn(server(stored=H, fc_in=H))
    assert [arrow.state for arrow in path.arrows] == ["wrong", "wrong", "wrong"]
    assert "21504 columns leave target.aux (3 × 7168), 7168 enter logits.stored" in path.arrows[0].sentence
    assert path.lines()[0].startswith("target.aux ──3 × 7168 WRONG─▶ logits.stored ──7168 WRONG─▶ draft.fc_in")
    assert any("fc is bypassed" in line for line in path.lines())


def test_one_capture_too_many():
    path = drawn(server(captures=4, stored=28672, fc_in=28672))
    assert (path.state, path.stages[0].state, path.arrows[0].text) == ("wrong", "wrong", "4 × 7168")
    assert "one too many" in path.stages[2].sentence


def test_captures_lost_on_the_way_to_the_draft():
    path = drawn(server(fc_in=14336))
    assert [arrow.state for arrow in path.arrows] == ["ok", "wrong", "wrong"]
    assert path.arrows[1].sentence == "21504 columns leave logits.stored (21504), 14336 enter draft.fc_in"


@pytest.mark.parametrize("text", ["", "fc in: torch.Size([6, 21504])\n", ours("draft.fc_in", 0, "(6,21504)")])
def test_what_was_not_seen_is_unknown(text: str):
    path = drawn(text)
    assert path.state == "unknown"
    assert path.arrows[0].text == "?"
    assert len(path.to_json()["arrows"]) == 3  # type: ignore[arg-type]


def test_prints_without_a_model_take_the_widest():
    rows = history("h200/tp4-eagle3-debug.log").shapes.rows()
    path = flow(rows, lambda row: judge(row, 1024, 3))
    assert path.lines() == ["target.aux ──3 × 1024─▶ logits.stored ──3072─▶ draft.fc_in ──3072─▶ draft.fc_out ──1024─▶"]
    assert path.state == "ok"
    assert flow(rows).state == "unknown"


def test_a_rank_that_differs_makes_its_stage_wrong():
    text = "".join(server().replace("rank=0", f"rank={rank}") for rank in range(3))
    path = drawn(text + server(fc_in=28672).replace("rank=0", "rank=3"))
    assert path.stages[2].state == "wrong"
    assert "rank 3 has" in path.stages[2].sentence
