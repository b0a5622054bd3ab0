"""The numbers of `eagle3-digest` on a real torch: what its runtime file makes of tensors whose values are known."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from console.patches import library
from tests.sglang_cpu import environment
from tests.unit.patches.served import LOAD, read_back

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    Digests = Callable[..., list[Mapping[str, Any]]]

pytestmark = [pytest.mark.sglang_cpu, pytest.mark.timeout(900)]

PRELUDE = """
load()
digest = module.digest
torch.manual_seed(7)
DRAFT = Holder(config=Holder(architectures=["LlamaForCausalLMEagle3"], hidden_size=8))
"""
FORKS = """
import os, sys
import torch
for line in sys.stdin:
    if os.fork() == 0:
        exec(eval(line))
        sys.exit()
    status = os.wait()[1]
    print("END", status, flush=True)
"""
"""Runs each line of its input, a Python literal, in a process of its own: torch takes seconds to import, once here."""


@pytest.fixture(scope="module")
def forks() -> Iterator[subprocess.Popen[str]]:
    try:
        python = str(environment.prepare().python)
    except environment.Unavailable as reason:
        pytest.skip(f"no torch for the CPU: {reason}")
    with subprocess.Popen(
        [python, "-c", FORKS, "runtime_file.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={key: value for key, value in os.environ.items() if not key.startswith("EAGLE3")},
    ) as process:
        yield process
        assert process.stdin
        process.stdin.close()


@pytest.fixture
def digests(forks: subprocess.Popen[str], tmp_path: Path) -> Digests:
    """`digests(code)`: the fields of the records that `code` made."""
    runtime = tmp_path / "runtime_file.py"
    runtime.write_bytes(library.patches()["eagle3-digest"].helper.text)

    def _digests(code: str) -> list[Mapping[str, Any]]:
        assert forks.stdin
        assert forks.stdout
        forks.stdin.write(repr(f"import sys\nsys.argv[1] = {str(runtime)!r}\n{LOAD}{PRELUDE}{code}") + "\n")
        forks.stdin.flush()
        told = []
        while not (line := forks.stdout.readline()).startswith("END "):
            assert line, "it ended"
            told.append(line)
        assert line == "END 0\n", "its traceback is in the captured stderr"
        return [one.fields for one in read_back(told)]

    return _digests


def test_mean_absmax_and_nans(digests: Digests) -> None:
    plain, spoilt = digests("""
digest("s", DRAFT, [torch.tensor([[1.0, -3.0], [2.0, 4.0]]), torch.tensor([[1.0, float("nan")], [float("-inf"), 0]])])
""")
    assert (plain["mean"], plain["absmax"], plain["nan"]) == (1.0, 4.0, 0)
    assert (spoilt["mean"], spoilt["absmax"], spoilt["nan"]) == (float("-inf"), float("inf"), 1)


def test_nans_are_left_out_of_the_mean_and_all_nans_make_none(digests: Digests) -> None:
    one, all_of_them = digests("""
nan = float("nan")
digest("s", DRAFT, [torch.tensor([[1.0, nan], [3.0, nan]]), torch.full((2, 2), nan)])
""")
    assert (one["mean"], one["absmax"], one["nan"]) == (2.0, 3.0, 2)
    assert (all_of_them["mean"], all_of_them["absmax"], all_of_them["nan"]) == (0.0, 0.0, 4)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64", "float8_e4m3fn"])
def test_a_packed_state_has_the_checksum_of_the_state_alone(digests: Digests, dtype: str) -> None:
    found = digests(f"""
states = [torch.randn(6, 8).to(torch.{dtype}) for _ in range(3)]
digest("target.aux", DRAFT, states)
packed = torch.cat([one.view(torch.int8) for one in states], dim=-1).view(torch.{dtype})
digest("draft.fc_in", DRAFT, packed)
""")
    sums = [one["sum32"] for one in found]
    assert sums[:3] == sums[3:]
    assert len(set(sums)) == 3
    assert [one["mean"] for one in found[:3]] == [one["mean"] for one in found[3:]]


def test_one_bit_or_two_columns_change_the_checksum(digests: Digests) -> None:
    found = digests("""
state = torch.randn(6, 8, dtype=torch.bfloat16)
flipped = state.clone()
flipped.view(torch.int16)[5, 7] ^= 1
digest("s", DRAFT, [state, flipped, state[:, [1, 0, 2, 3, 4, 5, 6, 7]], state.clone()])
""")
    sums = [one["sum32"] for one in found]
    assert len(set(sums[:3])) == 3
    assert sums[3] == sums[0]


def test_the_checksum_is_the_documented_one(digests: Digests) -> None:
    (one,) = digests('digest("s", DRAFT, torch.tensor([[1, -2], [3, 4]], dtype=torch.int16).view(torch.bfloat16))')
    assert one["sum32"] == f"{(1 - 2 * 2 + 3 + 4 * 2) % 2**32:08x}"
    (one,) = digests('digest("s", DRAFT, torch.tensor([[-9, 0]], dtype=torch.int16).view(torch.bfloat16))')
    assert one["sum32"] == "fffffff7"


def test_a_captured_embedding_is_seen_and_a_layer_is_not(digests: Digests) -> None:
    found = digests("""
table = torch.randn(50, 8, dtype=torch.bfloat16)
tokens = torch.arange(10, 17)
embedding, drafts = table[tokens[:6]], table[tokens[1:]]
digest("draft.fc_in", DRAFT, torch.cat([embedding, torch.randn(6, 8).bfloat16()], dim=-1), embeds=drafts)
digest("draft.fc_in", DRAFT, torch.randn(6, 8).bfloat16(), embeds=torch.randn(6, 4).bfloat16())
""")
    assert [one["embed"] for one in found] == [5, 0, 0]


def test_only_the_first_rows_are_read(digests: Digests) -> None:
    found = digests("""
state = torch.ones(5000, 8)
state[64:] = 9
digest("s", DRAFT, state)
digest("s", DRAFT, state[:64])
digest("s", DRAFT, state[:1], embeds=state[:1])
""")
    assert [(one["rows"], one.get("read"), one["absmax"]) for one in found] == [
        (5000, 64, 1.0),
        (64, None, 1.0),
        (1, None, 1.0),
    ]
    assert found[0]["sum32"] == found[1]["sum32"]


def test_it_works_under_inference_mode_and_on_views(digests: Digests) -> None:
    (one,) = digests("""
with torch.inference_mode():
    digest("s", DRAFT, torch.randn(8, 6, requires_grad=True).t()[::2])
""")
    assert (one["rows"], one["width"]) == (3, 8)
