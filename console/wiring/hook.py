"""Does the installed target have `set_eagle3_layers_to_capture`? Read from its files by their syntax trees.

A class that only inherits it has it, so bases are followed through the files at hand.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from console.wiring import targets
from console.wiring.setter import MAX_BYTES, SETTER

if TYPE_CHECKING:
    from collections.abc import Iterable

_ELSEWHERE = {
    "Llama4ForCausalLM": "llama4",
    "Llama4ForConditionalGeneration": "mllama4",
    "MistralForCausalLM": "mistral",
    "Ministral3ForCausalLM": "ministral3",
    "TeleFLMForCausalLM": "teleflm",
    "MistralLarge3ForCausalLM": "mistral_large_3",
    "GlmMoeDsaForCausalLM": "glm4_moe",
    "KimiK25ForConditionalGeneration": "kimi_k25",
    "SarvamMoEForCausalLM": "sarvam_moe",
    "Qwen3VLMoeForConditionalGeneration": "qwen3_vl_moe",
    "Qwen3_5ForConditionalGeneration": "qwen3_5",
    "Qwen3_5MoeForConditionalGeneration": "qwen3_5",
    "Gemma3ForConditionalGeneration": "gemma3_mm",
}
"""Classes that do not stand in the file of their setter's rule (0.5.12.post1 and 0.5.20)."""
_WITHOUT = {"nn.Module", "torch.nn.Module", "torch.Module", "object", "PreTrainedModel", "ABC"}
"""Bases from elsewhere that do not have it."""


def files(architecture: str | None) -> tuple[str, ...]:
    """Files of the tree in which the class and its bases are looked for; empty where none is known."""
    known = targets.target(architecture)
    if known is None:
        return ()
    names = dict.fromkeys((_ELSEWHERE.get(architecture or "", known.file), known.file))
    return tuple(f"srt/models/{name}.py" for name in names)


def has_hook(architecture: str, texts: Iterable[bytes]) -> bool | None:
    """Does this class have the hook, itself or by a base? None where that cannot be seen."""
    classes: dict[str, ast.ClassDef] = {}
    for text in texts:
        tree = _parsed(text)
        if tree is None:
            return None
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, node)
    return _has(architecture, classes, set())


def _has(name: str, classes: dict[str, ast.ClassDef], seen: set[str]) -> bool | None:
    if name in _WITHOUT or name in seen:
        return False
    if name not in classes:
        return None
    seen.add(name)
    own = {each for statement in classes[name].body for each in _names(statement)}
    if SETTER in own:
        return True
    bases = [_has(ast.unparse(base), classes, seen) for base in classes[name].bases]
    if True in bases:
        return True
    return None if None in bases or "__getattr__" in own else False


def _names(statement: ast.stmt) -> list[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [statement.name]
    if isinstance(statement, ast.Assign):
        return [target.id for target in statement.targets if isinstance(target, ast.Name)]
    return []


def _parsed(text: bytes) -> ast.Module | None:
    if len(text) > MAX_BYTES:
        return None
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
