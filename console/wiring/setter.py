"""The rule of layer ids as an installed model file has it, by AST: an edited checkout is read, not guessed.

Only the forms that `set_eagle3_layers_to_capture` has in the 28 releases of `console.wiring.targets` are understood.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.wiring.targets import Shift

SETTER = "set_eagle3_layers_to_capture"
MAX_BYTES = 2 << 20
_DEFAULT = "[2, num_layers // 2, num_layers - 3]"
_PLUS_ONE = "[val + 1 for val in layer_ids]"
_AS_IT_IS = "list(layer_ids)"
_HARMLESS = {
    "layer_ids is None",
    "not self.pp_group.is_last_rank",
    "not get_pp_group().is_last_rank",
    "not get_parallel().pp_group.is_last_rank",
    "0 <= layer_id < len(self.model.layers)",
    f"hasattr(self.model, '{SETTER}')",
}
_SHIFTS: dict[str, tuple[Shift, str, str]] = {
    "layer_ids and layer_ids[0] == 1": ("plus-one-if-first-is-1", _PLUS_ONE, _AS_IT_IS),
    "layer_ids and max(layer_ids) == num_layers": ("plus-one-unless-last-is-n", _AS_IT_IS, _PLUS_ONE),
}
"""Test → shift, what its branch and what its else sets."""


@dataclass(frozen=True, slots=True)
class SetterForm:
    """What a setter does with ids."""

    shift: Shift
    default_plus: int


def read(text: bytes) -> SetterForm | None:
    """The form of the setters in a model file; None where there is none, several that differ, or one not understood."""
    if len(text) > MAX_BYTES:
        return None
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == SETTER]
    forms = {_form(function) for function in found if _has_default(function)}
    return forms.pop() if len(forms) == 1 else None


def _has_default(function: ast.FunctionDef) -> bool:
    """True where the defaults are made: the others hand ids on, to a language model or to layers."""
    return any(isinstance(node, ast.List) and len(node.elts) == 3 for node in ast.walk(function))


def _form(function: ast.FunctionDef) -> SetterForm | None:
    nodes = list(ast.walk(function))
    tests = {ast.unparse(node.test): node for node in nodes if isinstance(node, ast.If)}
    lists = {ast.unparse(node) for node in nodes if isinstance(node, (ast.List, ast.ListComp))}
    special = set(tests) - _HARMLESS
    if lists - {_DEFAULT, _PLUS_ONE} or _DEFAULT not in lists or len(special) > 1:
        return None
    takes_ids = "layer_ids" in {argument.arg for argument in function.args.args}
    if not takes_ids or _PLUS_ONE not in lists:
        return SetterForm("fixed", 0) if not takes_ids and lists == {_DEFAULT} and not special else None
    plus = int(any(ast.unparse(node) == f"layer_ids = {_DEFAULT}" for node in nodes if isinstance(node, ast.Assign)))
    for test in special:
        shift, then, other = _SHIFTS.get(test, (None, "", ""))
        branch = tests[test]
        return SetterForm(shift, plus) if shift and (_set(branch.body), _set(branch.orelse)) == (then, other) else None
    return SetterForm("plus-one", plus)


def _set(body: list[ast.stmt]) -> str:
    (only,) = body if len(body) == 1 else [None]
    return ast.unparse(only.value) if isinstance(only, ast.Assign) else ""
