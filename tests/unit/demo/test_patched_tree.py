"""Code put into the stand-in's tree runs where SGLang would run it: on every rank, and not in a replayed graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.demo.setup import prepare
from tests.unit.demo.standin_server import Standin, eagle, generate, memory_mib

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Launch = Callable[..., Standin]


def put_records_in(tree: Path) -> None:
    """By hand, what a patch does: a print after the anchors of target, logits and draft."""
    for name, after, what in (
        ("models/deepseek_v2.py", "hidden_states, aux_hidden_states = hidden_states\n", "aux_hidden_states"),
        ("models/llama_eagle3.py", "hidden_states = forward_batch.spec_info.hidden_states\n", "[hidden_states]"),
    ):
        path = tree / "srt" / name
        lines = path.read_text().splitlines(keepends=True)
        at = next(number for number, line in enumerate(lines) if line.endswith(after))
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        shapes = f"[tuple(x.shape) for x in {what}]"
        # One string for one write: print would write its arguments and the newline apart, mixed with other ranks'.
        line = f"f'[SEEN] {name} {{forward_batch.forward_mode.name}} {{{shapes}}}\\n'"
        words = f"print({line}, end='', flush=True)"
        lines.insert(at + 1, f"{indent}{words}\n")
        path.write_text("".join(lines))


def test_code_put_into_the_tree_runs_on_every_rank(tmp_path: Path, launch: Launch) -> None:
    node = prepare(tmp_path)
    put_records_in(node.home / "site" / "sglang")
    server = launch("--disable-cuda-graph", *eagle(node), at=node).wait_ready()
    generate(server, {"text": "one"}, 30)
    assert server.stop() == 0
    seen = server.text().count
    aux = "[SEEN] models/deepseek_v2.py TARGET_VERIFY [(6, 7168), (6, 7168), (6, 7168)]"
    cycles = seen(aux) // 8
    assert cycles >= 3
    assert seen(aux) == 8 * cycles
    assert seen("[SEEN] models/llama_eagle3.py DRAFT_EXTEND_V2 [(6, 21504)]") == 8 * cycles
    assert seen("[SEEN] models/llama_eagle3.py DECODE [(1, 7168)]") == 8 * 4 * cycles
    assert seen("[SEEN] models/llama_eagle3.py EXTEND [(7, 21504)]") == 8, "the warm-up's prefill"


def test_a_replayed_graph_runs_no_python(tmp_path: Path, launch: Launch) -> None:
    node = prepare(tmp_path)
    put_records_in(node.home / "site" / "sglang")
    server = launch(*eagle(node), at=node).wait_ready()
    captured = server.text().count("TARGET_VERIFY")
    assert captured == 8 * 4, "capture runs it once for each batch size"
    generate(server, {"text": "one"}, 30)
    assert server.text().count("TARGET_VERIFY") == captured
    assert server.stop() == 0
    assert "Capture draft extend cuda graph end. Time elapsed: " in server.text()


def test_gpus_chosen_by_cuda_visible_devices(tmp_path: Path, launch: Launch) -> None:
    node = prepare(tmp_path)
    server = launch("--tp-size", "2", at=node, env={"CUDA_VISIBLE_DEVICES": "5,6"}).wait_ready()
    assert [index for index, used in enumerate(memory_mib(node)) if used] == [5, 6]
    assert server.stop() == 0
    assert memory_mib(node) == [0] * 8
