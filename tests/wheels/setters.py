"""What a released target does with layer ids: its own `set_eagle3_layers_to_capture`, run on a stand-in model."""

from __future__ import annotations

import ast
import functools
import zipfile
from types import SimpleNamespace
from typing import Any

from tests.wheels import released

SETTER = "set_eagle3_layers_to_capture"
_MODELS = "sglang/srt/models/"
_WRAPS = {
    "KimiK25ForConditionalGeneration": "DeepseekV3ForCausalLM",
    "Llama4ForConditionalGeneration": "Llama4ForCausalLM",
    "Gemma3ForConditionalGeneration": "Gemma3ForCausalLM",
}
"""Wrappers that hand the ids on, and the language model that they build."""


class _Recorder:
    """Stands for the inner model: remembers what it is told to capture."""

    def __init__(self, layers: int) -> None:
        self.layers = [SimpleNamespace() for _ in range(layers)]
        self.layers_to_capture: list[int] | None = None


@functools.lru_cache(maxsize=2)
def _classes(version: str) -> dict[str, dict[str, ast.ClassDef]]:
    """Class name → file stem → the class."""
    found: dict[str, dict[str, ast.ClassDef]] = {}
    with zipfile.ZipFile(released.excerpt(version)) as archive:
        for name in archive.namelist():
            if name.startswith(_MODELS):
                for node in ast.parse(archive.read(name)).body:
                    if isinstance(node, ast.ClassDef):
                        found.setdefault(node.name, {})[name.removeprefix(_MODELS)[:-3]] = node
    return found


def setter(version: str, architecture: str, beside: str = "") -> tuple[str, ast.FunctionDef] | None:
    """File stem and function of the setter that an architecture has, perhaps by inheritance."""
    places = _classes(version).get(architecture, {})
    for file in [beside] if beside in places else sorted(places):
        own = [node for node in places[file].body if isinstance(node, ast.FunctionDef) and node.name == SETTER]
        if own:
            return file, own[0]
        for base in places[file].bases:
            inherited = setter(version, ast.unparse(base), file) if isinstance(base, ast.Name) else None
            if inherited:
                return inherited
    return None


def captured(version: str, architecture: str, layers: int, ids: list[int] | None) -> tuple[str, list[int]] | None:
    """File stem of the rule, and `layers_to_capture` as the release computes it; None where it has no EAGLE-3."""
    found = setter(version, architecture)
    if found is None:
        return None
    file, function = found
    if architecture in _WRAPS and "language_model.set_eagle3" in ast.unparse(function):
        return captured(version, _WRAPS[architecture], layers, ids)
    model = _Recorder(layers)
    vars(model)[SETTER] = lambda values: setattr(model, "layers_to_capture", values)
    config = SimpleNamespace(num_hidden_layers=layers, text_config=SimpleNamespace(num_hidden_layers=layers))
    group = SimpleNamespace(is_last_rank=True)
    me = SimpleNamespace(config=config, model=model, language_model=model, pp_group=group)
    function = ast.parse(ast.unparse(function)).body[0]  # type: ignore[assignment]
    function.returns = None
    for argument in function.args.args:
        argument.annotation = None
    names: dict[str, Any] = {
        "get_pp_group": lambda: group,
        "get_parallel": lambda: SimpleNamespace(pp_group=group),
    }
    exec(compile(ast.Module([function], []), file, "exec"), names)
    names[SETTER](me, *([ids] if len(function.args.args) > 1 else []))
    assert model.layers_to_capture is not None, (version, architecture)
    return file, model.layers_to_capture


def architectures(version: str) -> list[str]:
    """Classes of that release that have the setter and are servable: their name says ForCausalLM or the like."""
    return sorted(name for name in _classes(version) if "For" in name and setter(version, name))
