"""The stand-in has the statements that patches are anchored at, each once, in the classes of the real tree."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import console.demo

SRT = Path(console.demo.__file__).parent / "standin" / "sglang" / "srt"


def method(path: str, cls: str, name: str) -> ast.FunctionDef:
    tree = ast.parse((SRT / path).read_text())
    found = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == cls)
    return next(node for node in found.body if isinstance(node, ast.FunctionDef) and node.name == name)


@pytest.mark.parametrize(
    ("path", "cls", "name", "kind", "text"),
    [
        ("models/deepseek_v2.py", "DeepseekV2ForCausalLM", "forward", ast.If, "self.capture_aux_hidden_states"),
        ("models/llama.py", "LlamaForCausalLM", "forward", ast.If, "self.capture_aux_hidden_states"),
        (
            "models/llama_eagle3.py",
            "LlamaModel",
            "forward",
            ast.Assign,
            "hidden_states = forward_batch.spec_info.hidden_states",
        ),
        ("models/llama_eagle3.py", "LlamaModel", "forward", ast.If, "hidden_states.shape[-1] != embeds.shape[-1]"),
        (
            "layers/logits_processor.py",
            "LogitsProcessor",
            "_get_hidden_states_to_store",
            ast.If,
            "logits_metadata.capture_hidden_mode.need_capture()",
        ),
    ],
)
def test_anchor(path: str, cls: str, name: str, kind: type[ast.stmt], text: str) -> None:
    body = method(path, cls, name).body
    same = [each for each in body if isinstance(each, kind) and ast.unparse(getattr(each, "test", each)) == text]
    assert len(same) == 1


def test_the_wrapper_and_the_draft_inherit_as_in_sglang() -> None:
    deepseek, eagle3 = ((SRT / "models" / name).read_text() for name in ("deepseek_v2.py", "llama_eagle3.py"))
    assert "class DeepseekV3ForCausalLM(DeepseekV2ForCausalLM):" in deepseek
    assert "class LlamaForCausalLMEagle3(LlamaForCausalLM):" in eagle3
