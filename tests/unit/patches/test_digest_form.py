"""The form of a digest record and when there is one, on 3.8 and on this Python; its numbers need a real torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.patches.served import PYTHONS, read_back, runner

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.patches.served import Run

PRELUDE = """
class Tensor:
    def __init__(self, *shape): self.shape = shape
    def __getitem__(self, key):
        rows, columns = key
        assert rows == slice(None)
        return Tensor(self.shape[0], columns.stop - columns.start)
    def reshape(self, rows, width):
        assert rows == -1
        total = 1
        for size in self.shape: total *= size
        return Tensor(total // width, width)
    def __len__(self): raise AssertionError("no one may look into a tensor")
    __iter__ = __bool__ = item = tolist = __len__
copies = []
class Stacked:
    def __init__(self, parts): self.parts = parts
    def tolist(self): copies.append(1); return self.parts
capturing = []
cuda = Holder(is_initialized=lambda: True, is_current_stream_capturing=lambda: bool(capturing))
torch = sys.modules["torch"] = Holder(cuda=cuda, stack=Stacked)
load()
measured = []
def measure(torch, state, embeds):
    measured.append(state.shape)
    return [0.1234567 * len(measured), 3.5, 0.0, float(0xF00 + len(measured)), 2.0]
module._measured = measure
digest = module.digest
def owner(architecture, **config): return Holder(config=Holder(architectures=[architecture], **config))
TARGET = owner("DeepseekV3ForCausalLM", hidden_size=7168)
DRAFT = owner("LlamaForCausalLMEagle3", hidden_size=4096, target_hidden_size=7168)
"""


@pytest.fixture(params=PYTHONS, ids=lambda path: path.rsplit("/", 1)[-1])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    return runner("eagle3-digest", request.param, tmp_path, PRELUDE)


def test_one_record_for_each_state(run: Run) -> None:
    lines = run('digest("target.aux", TARGET, [Tensor(6, 7168)] * 2, batch("EXTEND"))\nassert len(copies) == 1')
    head = "[EAGLE3_DIGEST] site=target.aux rank=0 model=DeepseekV3ForCausalLM mode=EXTEND seq=1"
    assert lines == [
        f"{head} state=0 of=2 rows=6 width=7168 mean=0.123457 absmax=3.5 nan=0 sum32=00000f01\n",
        f"{head} state=1 of=2 rows=6 width=7168 mean=0.246913 absmax=3.5 nan=0 sum32=00000f02\n",
    ]


def test_the_parser_reads_back_what_was_written(run: Run) -> None:
    code = """
digest("draft.fc_in", DRAFT, Tensor(100, 14336), batch("DRAFT_EXTEND_V2"), embeds=Tensor(100, 4096))
capturing.append(1)
digest("target.aux", TARGET, [Tensor(6, 7168)])
capturing.clear()
digest("target.aux", TARGET, 3)
digest("target.aux", TARGET, Tensor(0, 7168), batch("IDLE"))
"""
    found = read_back(run(code))
    assert [one.kind for one in found] == ["eagle3_digest"] * 5
    draft = {"site": "draft.fc_in", "rank": 0, "model": "LlamaForCausalLMEagle3", "mode": "DRAFT_EXTEND_V2", "seq": 1}
    assert [dict(one.fields) for one in found] == [
        {
            **{**draft, "state": 0, "of": 2, "rows": 100, "width": 7168, "read": 64},
            **{"mean": 0.123457, "absmax": 3.5, "nan": 0, "sum32": "00000f01", "embed": 2},
        },
        {
            **{**draft, "state": 1, "of": 2, "rows": 100, "width": 7168, "read": 64},
            **{"mean": 0.246913, "absmax": 3.5, "nan": 0, "sum32": "00000f02", "embed": 2},
        },
        {
            **{"site": "target.aux", "rank": 0, "model": "DeepseekV3ForCausalLM", "mode": None, "seq": 2},
            "capturing": True,
        },
        {"site": "target.aux", "rank": 0, "error": "TypeError"},
        {
            **{"site": "target.aux", "rank": 0, "model": "DeepseekV3ForCausalLM", "mode": "IDLE", "seq": 4},
            **{"state": 0, "of": 1, "rows": 0, "width": 7168},
            **{"mean": None, "absmax": None, "nan": 0, "sum32": None},
        },
    ]


def test_nothing_is_read_while_a_graph_is_captured_and_that_is_said_once_for_each_kind(run: Run) -> None:
    code = """
capturing.append(1)
for mode in ("TARGET_VERIFY", "TARGET_VERIFY", "DECODE"):
    digest("target.aux", TARGET, [Tensor(6, 7168)], batch(mode))
assert measured == [] and copies == []
capturing.clear()
digest("target.aux", TARGET, [Tensor(6, 7168)], batch("TARGET_VERIFY"))
"""
    ends = [line.split("mode=")[1].rstrip("\n") for line in run(code, EAGLE3_DIGEST_FIRST="1")]
    assert ends[:2] == ["TARGET_VERIFY seq=1 capturing=yes", "DECODE seq=3 capturing=yes"]
    assert ends[2].startswith("TARGET_VERIFY seq=4 state=0 of=1 rows=6"), "captured calls use up no limit"


def test_without_cuda_no_one_asks_for_a_capture(run: Run) -> None:
    code = """
cuda.is_initialized = lambda: False
del cuda.is_current_stream_capturing
digest("target.aux", TARGET, [Tensor(6, 7168)])
"""
    assert len(run(code)) == 1


@pytest.mark.parametrize(
    ("owner", "value", "shapes"),
    [
        ("TARGET", "Tensor(6, 21504)", [(6, 7168)] * 3),
        ("TARGET", "[Tensor(6, 14336)]", [(6, 14336)]),
        ("TARGET", "Tensor(6, 10000)", [(6, 10000)]),
        ("TARGET", "Tensor(2, 3, 7168)", [(6, 7168)]),
        ("DRAFT", "Tensor(6, 14336)", [(6, 7168)] * 2),
        ("DRAFT", "Tensor(6, 4096)", [(6, 4096)]),
        ("Holder(config=Holder(text_config=Holder(hidden_size=8)))", "Tensor(1, 16)", [(1, 8)] * 2),
        ("Holder()", "Tensor(1, 16)", [(1, 16)]),
    ],
)
def test_a_packed_tensor_is_split_by_the_targets_hidden_size(
    run: Run, owner: str, value: str, shapes: list[tuple[int, int]]
) -> None:
    lines = run(f'digest("s", {owner}, {value})\nassert measured == {shapes}, measured')
    assert [line.split(" state=")[1][:6] for line in lines] == [f"{i} of={len(shapes)}" for i in range(len(shapes))]


def test_empty_states_take_no_ones_place(run: Run) -> None:
    lines = run('digest("s", TARGET, [Tensor(0, 8), Tensor(2, 8)])')
    assert [line.split("sum32=")[1] for line in lines] == ["-\n", "00000f01\n"]


def test_limits_sites_and_ranks_choose(run: Run) -> None:
    many = 'for _ in range(9):\n    digest("s", TARGET, Tensor(1, 8), batch("DECODE"))\n'
    lines = run(many, EAGLE3_DIGEST_FIRST="2", EAGLE3_DIGEST_EVERY="3")
    assert [line.split("seq=")[1][0] for line in lines] == ["1", "2", "5", "8"]
    assert run(many, EAGLE3_DIGEST_SITES="target.aux,draft.fc_in") == []
    assert run(many, EAGLE3_DIGEST_RANKS="1") == []
    assert len(run(many, EAGLE3_DIGEST_SITES="s", EAGLE3_DIGEST_RANKS="0")) == 9
    assert "read=3" in run('digest("s", TARGET, Tensor(4, 8))', EAGLE3_DIGEST_ROWS="3")[0]


def test_a_process_without_torch_is_told_once(run: Run) -> None:
    code = 'del sys.modules["torch"]\nfor _ in range(3):\n    digest("s", TARGET, Tensor(1, 8))'
    assert run(code) == ["[EAGLE3_DIGEST] site=s rank=0 error=KeyError\n"]
