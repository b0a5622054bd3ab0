"""The exact form of a record: what the runtime file writes on fd 1, on 3.8 and on this Python."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from console.logs.classify import classify
from console.logs.split import RawLine
from console.patches import library
from tests.pythons import FOUND

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PYTHONS = sorted({FOUND[min(FOUND)], sys.executable})

FAKES = """
import importlib.util, sys
class Tensor:
    def __init__(self, *shape, dtype="torch.bfloat16", device="cuda:0"):
        self.shape, self.dtype, self.device = shape, dtype, device
    def __len__(self): raise AssertionError("no one may look into a tensor")
    __iter__ = __bool__ = item = tolist = __len__
class Holder:
    def __init__(self, **names): self.__dict__.update(names)
class LogitsProcessor: pass
def batch(mode): return Holder(forward_mode=Holder(name=mode))
def owner(*architectures): return Holder(config=Holder(architectures=list(architectures)))
spec = importlib.util.spec_from_file_location("_spec_console_eagle3", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
record = module.record
DRAFT, TARGET = owner("LlamaForCausalLMEagle3"), owner("DeepseekV3ForCausalLM")
"""


@pytest.fixture(params=PYTHONS, ids=lambda path: path.rsplit("/", 1)[-1])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., list[str]]:
    """`run(code, **env)`: the lines on fd 1 of a process that has the runtime file as `record`."""
    runtime = tmp_path / "_spec_console_eagle3.py"
    runtime.write_bytes(library.patches()["eagle3-shapes"].helper.text)

    def _run(code: str, **env: str) -> list[str]:
        done = subprocess.run(
            [request.param, "-c", FAKES + code, str(runtime)],
            capture_output=True,
            env={key: value for key, value in os.environ.items() if not key.startswith("EAGLE3")} | env,
            check=True,
            timeout=60,
        )
        assert done.stderr == b""
        return done.stdout.decode("ascii").splitlines(keepends=True)

    return _run


def test_one_tensor(run: Callable[..., list[str]]) -> None:
    lines = run('record("draft.fc_in", DRAFT, Tensor(6, 21504), batch("DRAFT_EXTEND_V2"))')
    assert lines == [
        "[EAGLE3_DEBUG] site=draft.fc_in rank=0 model=LlamaForCausalLMEagle3 mode=DRAFT_EXTEND_V2 seq=1"
        " shape=(6,21504) dtype=bfloat16 device=cuda:0\n"
    ]


def test_a_list_of_tensors(run: Callable[..., list[str]]) -> None:
    lines = run('record("target.aux", TARGET, [Tensor(6, 7168)] * 3, batch("TARGET_VERIFY"))')
    assert lines == [
        "[EAGLE3_DEBUG] site=target.aux rank=0 model=DeepseekV3ForCausalLM mode=TARGET_VERIFY seq=1"
        " shapes=(6,7168);(6,7168);(6,7168) dtype=bfloat16 device=cuda:0\n"
    ]


def test_the_parser_reads_back_what_was_written(run: Callable[..., list[str]]) -> None:
    code = """
record("target.aux", TARGET, [Tensor(6, 7168)] * 3, batch("EXTEND"))
record("draft.fc_in", DRAFT, Tensor(6, 21504, device="cpu"))
record("target.aux", DRAFT, [], batch("DECODE"))
"""
    records = [one for line in run(code) for one in classify(RawLine(0, len(line), line.rstrip("\n")))]
    assert [one.kind for one in records] == ["tensor_shape"] * 3
    assert [dict(one.fields) for one in records] == [
        {
            **{"site": "target.aux", "rank": 0, "model": "DeepseekV3ForCausalLM", "mode": "EXTEND", "seq": 1},
            **{"shapes": ((6, 7168),) * 3, "dtype": "bfloat16", "device": "cuda:0"},
        },
        {
            **{"site": "draft.fc_in", "rank": 0, "model": "LlamaForCausalLMEagle3", "mode": None, "seq": 2},
            **{"shape": (6, 21504), "dtype": "bfloat16", "device": "cpu"},
        },
        {
            **{"site": "target.aux", "rank": 0, "model": "LlamaForCausalLMEagle3", "mode": "DECODE", "seq": 3},
            **{"shapes": (), "dtype": None, "device": None},
        },
    ]


def test_tuples_subclasses_and_one_element_lists_are_lists(run: Callable[..., list[str]]) -> None:
    code = """
class AuxHiddenStateList(list): pass
record("target.aux", DRAFT, (Tensor(1, 8),), batch("DECODE"))
record("target.aux", DRAFT, AuxHiddenStateList([Tensor(1, 8), Tensor(1, 9)]), batch("DECODE"))
record("target.aux", DRAFT, [], batch("DECODE"))
"""
    shapes = [line.split("seq=")[1].split(" ", 1)[1] for line in run(code)]
    assert shapes == [
        "shapes=(1,8) dtype=bfloat16 device=cuda:0\n",
        "shapes=(1,8);(1,9) dtype=bfloat16 device=cuda:0\n",
        "shapes=[] dtype=? device=?\n",
    ]


def test_differing_types_are_all_named(run: Callable[..., list[str]]) -> None:
    (line,) = run('record("s", DRAFT, [Tensor(1), Tensor(1, dtype="torch.float32", device="cpu")], batch("DECODE"))')
    assert line.endswith("shapes=(1);(1) dtype=bfloat16;float32 device=cuda:0;cpu\n")


def test_no_tensor_is_no_record(run: Callable[..., list[str]]) -> None:
    assert run('record("logits.cat_in", DRAFT, None, batch("DECODE"))') == []


def test_the_model_is_the_class_where_the_config_names_none(run: Callable[..., list[str]]) -> None:
    code = """
record("s", LogitsProcessor(), Tensor(1), batch("DECODE"))
record("s", Holder(config=Holder(architectures=None)), Tensor(1), batch("DECODE"))
"""
    assert [line.split()[3] for line in run(code)] == ["model=LogitsProcessor", "model=Holder"]


def test_a_batch_without_a_mode_is_said(run: Callable[..., list[str]]) -> None:
    lines = run('record("s", DRAFT, Tensor(1))\nrecord("s", DRAFT, Tensor(1), Holder(forward_mode=7))')
    assert [line.split()[4] for line in lines] == ["mode=?", "mode=?"]


def test_names_cannot_break_the_line(run: Callable[..., list[str]]) -> None:
    (line,) = run('record("s", owner("a b\\nc=d\\x1b[0m" + "x" * 500), Tensor(1), batch("DECODE"))')
    assert line.split()[3].startswith("model=a_b_c_d__0mxxx")
    assert len(line) < 300


def test_the_rank_is_that_of_torch_distributed(run: Callable[..., list[str]]) -> None:
    code = """
distributed = Holder(is_available=lambda: True, is_initialized=lambda: False, get_rank=lambda: 5)
sys.modules["torch"] = Holder(distributed=distributed)
record("s", DRAFT, Tensor(1), batch("DECODE"))
distributed.is_initialized = lambda: True
record("s", DRAFT, Tensor(1), batch("DECODE"))
"""
    assert [line.split()[2] for line in run(code)] == ["rank=0", "rank=5"]


def test_before_that_it_is_the_one_in_the_process_title(run: Callable[..., list[str]]) -> None:
    code = """
import io
module.open = lambda *_: io.BytesIO(b"sglang::scheduler_DP0_TP3\\0")
record("s", DRAFT, Tensor(1), batch("DECODE"))
def unreadable(*_): raise OSError
module.open = unreadable
record("s", DRAFT, Tensor(1), batch("DECODE"))
"""
    assert [line.split()[2] for line in run(code)] == ["rank=3", "rank=0"]


MANY = 'for _ in range(12):\n    record("s", DRAFT, Tensor(1), batch("DECODE"))\n'


def test_the_first_are_written_then_every_so_many(run: Callable[..., list[str]]) -> None:
    lines = run(MANY, EAGLE3_DEBUG_FIRST="3", EAGLE3_DEBUG_EVERY="4")
    assert [line.split()[5] for line in lines] == ["seq=1", "seq=2", "seq=3", "seq=7", "seq=11"]
    assert len(run(MANY, EAGLE3_DEBUG_FIRST="3", EAGLE3_DEBUG_EVERY="0")) == 3
    assert len(run(MANY, EAGLE3_DEBUG_FIRST="many", EAGLE3_DEBUG_EVERY="-1")) == 12


def test_each_site_model_and_mode_has_its_own_limit(run: Callable[..., list[str]]) -> None:
    code = MANY + 'record("s", TARGET, Tensor(1), batch("DECODE"))\nrecord("s", DRAFT, Tensor(1), batch("EXTEND"))\n'
    lines = run(code, EAGLE3_DEBUG_FIRST="1", EAGLE3_DEBUG_EVERY="0")
    assert [line.split()[5] for line in lines] == ["seq=1", "seq=13", "seq=14"]


def test_ranks_can_be_restricted(run: Callable[..., list[str]]) -> None:
    assert run(MANY, EAGLE3_DEBUG_RANKS="1,2") == []
    assert len(run(MANY, EAGLE3_DEBUG_RANKS="0,2")) == 12
    assert len(run(MANY, EAGLE3_DEBUG_RANKS="")) == 12


def test_a_failure_is_reported_once_and_never_raised(run: Callable[..., list[str]]) -> None:
    code = """
for value in (object(), 3, [None], [Tensor(1), "x"]):
    record("target.aux", DRAFT, value, batch("DECODE"))
record("draft.fc_in", DRAFT, [Tensor(1)] * 5000, batch("DECODE"))
record("target.aux", DRAFT, Tensor(1), batch("DECODE"))
"""
    lines = run(code)
    assert lines[:2] == [
        "[EAGLE3_DEBUG] site=target.aux rank=0 error=TypeError\n",
        "[EAGLE3_DEBUG] site=draft.fc_in rank=0 error=ValueError\n",
    ]
    assert [line.split()[6] for line in lines[2:]] == ["shape=(1)"]


def test_each_record_is_one_write(run: Callable[..., list[str]]) -> None:
    code = """
sizes, write = [], module.os.write
def spy(fd, data):
    sizes.append((fd, bytes(data).count(b"\\n"), data[-1:]))
    return write(fd, data)
module.os.write = spy
record("target.aux", TARGET, [Tensor(6, 7168)] * 3, batch("EXTEND"))
assert sizes == [(1, 1, b"\\n")], sizes
"""
    assert len(run(code)) == 1


def test_a_closed_or_full_output_does_not_stop_the_server(run: Callable[..., list[str]]) -> None:
    code = """
import os
read, full = os.pipe()
os.set_blocking(full, False)
saved = os.dup(1)
os.dup2(full, 1)
try:
    while os.write(1, b"x" * 65536): pass
except BlockingIOError: pass
record("s", DRAFT, Tensor(1), batch("DECODE"))
os.close(read)
record("s", DRAFT, Tensor(1), batch("DECODE"))
os.close(1)
record("s", DRAFT, Tensor(1), batch("DECODE"))
os.dup2(saved, 1)
record("s", DRAFT, Tensor(1), batch("DECODE"))
"""
    assert [line.split()[5] for line in run(code)] == ["seq=4"]


def test_a_slow_reader_is_waited_for_a_moment(run: Callable[..., list[str]]) -> None:
    code = """
write, refused = module.os.write, [1, 2]
def slow(fd, data):
    if refused:
        refused.pop()
        raise BlockingIOError
    return write(fd, data)
module.os.write = slow
record("s", DRAFT, Tensor(1), batch("DECODE"))
"""
    assert [line.split()[6] for line in run(code)] == ["shape=(1)"]


def test_a_short_write_is_completed(run: Callable[..., list[str]]) -> None:
    code = """
write = module.os.write
module.os.write = lambda fd, data: write(fd, data[:100])
record("s", DRAFT, Tensor(1), batch("DECODE"))
"""
    assert run(code)[0].endswith("device=cuda:0\n")


def test_torch_compile_is_told_not_to_trace_it(run: Callable[..., list[str]]) -> None:
    code = """
seen = []
sys.modules["torch._dynamo"] = Holder(disable=lambda function: seen.append(function.__name__) or function)
spec.loader.exec_module(module)
assert seen == ["record"], seen
sys.modules["torch._dynamo"] = Holder()
spec.loader.exec_module(module)
"""
    assert run(code) == []
