"""Resolved layer outputs: of which layers a release captures the output for the ids of a draft's config, and back.

`eagle_aux_hidden_state_layer_ids` means different layers in different releases and targets, with the same shapes and no
word about it: [2, 30, 58] captured the outputs of 2, 30, 58 up to 0.5.12.post1 and of 1, 29, 57 from 0.5.13 on
(deepseek_v2, https://github.com/sgl-project/sglang/pull/25454). Outputs are 0-based; -1 is the embedding.

SGLang captures in the order of layers, whatever the order of ids. It reads ids only in the draft's `eagle_config`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from console.launch.releases import release
from console.wiring import targets
from console.wiring.checkpoint import facts_from_configs

if TYPE_CHECKING:
    from console.launch.releases import Release
    from console.wiring.checkpoint import Config
    from console.wiring.setter import SetterForm
    from console.wiring.targets import Rule

KEY = "eagle_aux_hidden_state_layer_ids"
SECTION = "eagle_config"
EMBEDDING = -1

USE_AUX_SINCE = (0, 5, 8, 0)
"""`eagle_config.use_aux_hidden_state` is read from this release on; before it, captures are always made."""
GRAPHS_READ_IDS_SINCE = (0, 5, 11, 0)
"""Before it the CUDA graphs of a verify are captured with the default ids, whatever the config says."""

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Captures:
    """What is captured with some ids."""

    outputs: Ids
    """Layers whose outputs are captured, in the order in which they are concatenated."""
    faults: tuple[str, ...] = ()
    """Why fewer states than ids are captured, or none: a launch that fails, not a silent one."""


@dataclass(frozen=True, slots=True)
class DraftIds:
    """What a draft's config says of captures."""

    ids: Ids | None
    """Ids as SGLang reads them; None: it takes its default."""
    uses_aux: bool = True
    top_level: bool = False
    """True: there are ids at the top level, where SGLang does not look for captures."""
    unreadable: str = ""
    """Why the ids are nothing that SGLang could be told to do with."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a release captures for a pair; None is unknown, and `unknown` says why."""

    architecture: str | None
    layers: int | None
    """n, the target's layers."""
    draft: DraftIds
    rule: Rule | None
    eager: Captures | None
    """A prefill, and every forward without CUDA graphs."""
    replay: Captures | None
    """A verify that is replayed from a CUDA graph."""
    unknown: str = ""
    source: str = ""
    """Where the rule was read."""

    @property
    def differs_in_replay(self) -> bool:
        return self.eager != self.replay


def draft_ids(draft: Config) -> DraftIds:
    """Read ids as SGLang does: from the nested key, anything unreadable on the way there is "none given"."""
    eagle = draft.get(SECTION)
    top = KEY in draft
    if not isinstance(eagle, Mapping):
        return DraftIds(None, top_level=top)
    uses_aux = bool(eagle.get("use_aux_hidden_state", True))
    value = eagle.get(KEY)
    if value is None:
        return DraftIds(None, uses_aux, top)
    if isinstance(value, (list, tuple)) and all(type(each) is int for each in value):
        return DraftIds(tuple(value), uses_aux, top)
    return DraftIds(None, uses_aux, top, f"{KEY} is no list of whole numbers: what SGLang makes of it is not known")


def resolve(
    version: str | None, target: Config, draft: Config, installed: SetterForm | str | None = None
) -> Resolution:
    """What the release captures for this target and draft.

    `installed` is the rule of the node's own model file, or why it could not be read from it; None: nobody looked.
    """
    facts = facts_from_configs(target)
    ids = draft_ids(draft)
    rule, source, unknown = _rule(version, facts.target_architecture, installed)
    blank = Resolution(facts.target_architecture, facts.target_layers, ids, rule, None, None, unknown, source)
    if rule is None or facts.target_layers is None:
        return replace(blank, unknown=unknown or "the target's config gives no num_hidden_layers")
    if ids.unreadable:
        return replace(blank, unknown=ids.unreadable)
    at = release(version)
    if not ids.uses_aux and at is None:
        return replace(blank, unknown="use_aux_hidden_state is false, and whether this version reads it is not known")
    if not ids.uses_aux and at is not None and at >= USE_AUX_SINCE:
        none = Captures((), ("use_aux_hidden_state is false: nothing is captured",))
        return replace(blank, eager=none, replay=none)
    return _with_captures(blank, rule, facts.target_layers, at)


def _with_captures(blank: Resolution, rule: Rule, layers: int, at: Release | None) -> Resolution:
    ids = blank.draft.ids
    eager = captures(rule, layers, ids)
    if isinstance(eager, str):
        return replace(blank, unknown=eager)
    if at is None:
        return replace(blank, eager=eager, unknown="whether CUDA graphs read ids is not known for this version")
    if at >= GRAPHS_READ_IDS_SINCE:
        return replace(blank, eager=eager, replay=eager)
    default = captures(rule, layers, None)
    if isinstance(default, str):
        return replace(blank, eager=eager, unknown=default)
    if rule.marks and eager != default:
        # The default's marks stay on the layers when the config's ids are set after the graphs are captured.
        why = "this target keeps the marks of the default's layers beside those of the ids: a prefill may capture both"
        return replace(blank, replay=default, unknown=why)
    return replace(blank, eager=eager, replay=default)


def _rule(version: str | None, name: str | None, installed: SetterForm | str | None) -> tuple[Rule | None, str, str]:
    """Rule, where it was read, why it is not known. The installed file is believed before the table of releases."""
    known = targets.target(name)
    if known is None:
        return None, "", f"no rule is known for a target {name!r}" if name else "the target names no architecture"
    by_release = targets.rule_at(known, version)
    if isinstance(installed, str):
        return None, "", installed
    if isinstance(by_release, str):
        if installed is None or targets.is_before(known, version):
            return None, "", by_release
        by_release = targets.Rule(installed.shift)
    if installed is None:
        return by_release, f"SGLang {version}", ""
    rule = replace(by_release, shift=installed.shift, default_plus=installed.default_plus)
    return rule, f"the installed srt/models/{known.file}.py", ""


def values_of(rule: Rule, layers: int, ids: Ids | list[int] | None) -> Ids:
    """`layers_to_capture`: the layers whose input is captured."""
    if ids is None or rule.shift == "fixed":
        return tuple(value + rule.default_plus for value in (2, layers // 2, layers - 3))
    as_it_is = (rule.shift == "plus-one-if-first-is-1" and (not ids or ids[0] != 1)) or (
        rule.shift == "plus-one-unless-last-is-n" and bool(ids) and max(ids) == layers
    )
    return tuple(ids) if as_it_is else tuple(value + 1 for value in ids)


def captures(rule: Rule, layers: int, ids: Ids | None) -> Captures | str:
    """What is captured, or why that is not known."""
    values = values_of(rule, layers, ids)
    if 0 in values and rule.embedding == "unknown":
        return "whether this target can capture the embedding in this version is not known"
    highest = layers if rule.has_last else layers - 1
    lowest = 0 if rule.embedding == "captured" else 1
    faults = []
    if 0 in values and rule.embedding == "fails":
        faults.append("the embedding cannot be captured here: the first forward fails with a TypeError")
    faults += [f"the output of layer {v - 1} is never captured (n = {layers})" for v in values if not 0 <= v <= highest]
    if len(set(values)) < len(values):
        faults.append("an id stands twice, its layer is captured once")
    if not values:
        faults.append("the list of ids is empty: nothing is captured")
    return Captures(tuple(sorted({value - 1 for value in values if lowest <= value <= highest})), tuple(faults))


def ids_for(rule: Rule, layers: int, outputs: Ids) -> Ids | str:
    """The ids that make this rule capture exactly these outputs, in this order; or why there are none."""
    why = _impossible(outputs)
    if why:
        return why
    wanted = tuple(output + 1 for output in outputs)
    # The first works alike before and after 0.5.13 where it works at all; the last uses that the order of ids is free.
    for ids in (outputs, wanted, wanted[-1:] + wanted[:-1]):
        made = captures(rule, layers, ids)
        if isinstance(made, Captures) and made == Captures(outputs):
            return ids
    if rule.shift == "fixed":
        return "this version does not read ids from the draft's config"
    made = captures(rule, layers, wanted if rule.shift == "plus-one-if-first-is-1" else outputs)
    if isinstance(made, str):
        return made
    return "; ".join(made.faults) or "no ids make this version capture these outputs"


def _impossible(outputs: Ids) -> str:
    if not outputs:
        return "no layer outputs are named"
    if len(set(outputs)) < len(outputs):
        return "an output stands twice: SGLang captures a layer once"
    if list(outputs) != sorted(outputs):
        return "SGLang concatenates in the order of layers: no ids give another order, only another fc does"
    if outputs[0] < EMBEDDING:
        return f"there is no layer {outputs[0]}"
    return ""
