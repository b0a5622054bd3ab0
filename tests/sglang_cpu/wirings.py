"""Wirings of the crafted pairs, right ones and faults: what the doctor must say of each, and what SGLang then does.

Accept lengths and histograms are computed from the weights (400 tokens, greedy, 5 steps); a right wiring of the pairs
has 4.6512, of a draft that speaks 384 of 512 tokens 2.6667. Both pairs were trained on the outputs of layers 2, 3, 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tests.sglang_cpu import crafted
from tests.sglang_cpu.crafted import EditConfig, EditTensors, ids, said

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Accepts:
    """It runs: mean accepted length, and how often 0, 1, … draft tokens were accepted."""

    accept_len: float
    hist: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.accept_len:.4f} {list(self.hist)}"


@dataclass(frozen=True, slots=True)
class Dies:
    """The launch fails, and `explain` tells it by this rule first."""

    rule: str

    def __str__(self) -> str:
        return f"dies: {self.rule}"


@dataclass(frozen=True, slots=True)
class Wiring:
    """One draft under one launch."""

    id: str
    finds: tuple[str, ...]
    """Rules that must say an error or a warning before the launch; none for a right wiring."""
    then: Accepts | Dies
    config: EditConfig | None = None
    tensors: EditTensors | None = None
    files: Callable[[Path], None] | None = None
    """What is done to the draft's folder at the end."""
    pair: Literal["deepseek", "llama"] = "deepseek"
    worker: Literal["v1", "v2"] = "v2"
    small: bool = False
    """Made from the draft that speaks 384 tokens."""
    sets: tuple[str, ...] = ()
    right: float = 4.6512
    """The accept length that the pair has when it is wired right."""

    @property
    def profile(self) -> str:
        return "cpu-deepseek-v1" if self.worker == "v1" else "cpu-deepseek-eagle3"

    @property
    def folder(self) -> str:
        return self.id.translate(str.maketrans(" ,", "--", ":'"))


RIGHT = Accepts(4.6512, (8, 10, 7, 4, 5, 52))
EARLY = Accepts(1.7778, (186, 3, 2, 1, 1, 32))
DEFAULT = Accepts(1.6598, (205, 2, 2, 2, 0, 30))
NONE = Accepts(1.0025, (399,))
SWAPPED = Accepts(2.6144, (90, 9, 5, 4, 5, 40))
SMALL = Accepts(2.6667, (60, 30, 18, 9, 9, 24))

LAYERS = ("layer-outputs",)
RANGE = ("ids-out-of-range",)
CAPTURES = ("captures-mismatch",)
NUMBER = (*CAPTURES, *LAYERS)

WIRINGS = (
    Wiring("deepseek 3,4,7: as trained", (), RIGHT),
    Wiring("deepseek 2,3,6: one layer early", LAYERS, EARLY, ids(2, 3, 6)),
    Wiring("deepseek no ids: the default", LAYERS, DEFAULT, ids()),
    Wiring("deepseek 1,3,6: one of three wrong", LAYERS, Accepts(2.7972, (81, 6, 6, 3, 2, 45)), ids(1, 3, 6)),
    Wiring("deepseek 0,4,7: the embedding", LAYERS, Accepts(1.8433, (170, 6, 5, 3, 4, 29)), ids(0, 4, 7)),
    Wiring("deepseek 4,3,7: another order", (), RIGHT, ids(4, 3, 7)),
    Wiring("deepseek 4,5,8: a layer too late", RANGE, Dies("captures-mismatch"), ids(4, 5, 8)),
    Wiring("deepseek 3,3,7: one twice", RANGE, Dies("captures-mismatch"), ids(3, 3, 7)),
    Wiring("deepseek four ids", NUMBER, Dies("captures-mismatch"), ids(2, 3, 4, 7)),
    Wiring("deepseek two ids", NUMBER, Dies("captures-mismatch"), ids(4, 7)),
    Wiring(
        "deepseek two ids of three",
        NUMBER,
        Dies("captures-mismatch"),
        lambda c: (ids(4, 7)(c), said(num_aux_hidden_states=3)(c)),
    ),
    Wiring("deepseek ids at top level", ("layer-outputs", "ids-ignored"), DEFAULT, crafted.ids_at_top_level),
    Wiring("deepseek use_aux_hidden_state false", CAPTURES, NONE, said(eagle_use_aux_hidden_state=False)),
    Wiring("deepseek num_aux_hidden_states 4", CAPTURES, Dies("captures-mismatch"), said(num_aux_hidden_states=4)),
    Wiring(
        "deepseek fc trained in another order",
        LAYERS,
        SWAPPED,
        tensors=crafted.fc_slots_swapped,
        sets=("training.capture_layer_outputs=[3,2,6]",),
    ),
    Wiring("deepseek EAGLE flag", ("algorithm-for-eagle3",), NONE, sets=("speculative.algorithm=EAGLE",)),
    Wiring("deepseek NEXTN flag", ("algorithm-for-eagle3",), NONE, sets=("speculative.algorithm=NEXTN",)),
    Wiring(
        "deepseek EAGLE3 flag, EAGLE-1 draft",
        ("algorithm-for-eagle3",),
        Dies("algorithm-for-eagle3"),
        said(architectures=["LlamaForCausalLMEagle"]),
        crafted.eagle_1,
    ),
    Wiring("deepseek target_hidden_size 2048", CAPTURES, Dies("captures-mismatch"), said(target_hidden_size=2048)),
    Wiring("deepseek hidden_size 512", ("hidden-size",), Dies("hidden-size"), said(hidden_size=512)),
    Wiring("deepseek no target_hidden_size", (), RIGHT, said(target_hidden_size=None)),
    Wiring("deepseek draft in float16", ("draft-dtype",), Dies("draft-dtype"), said(torch_dtype="float16")),
    Wiring("deepseek vocab_size 600", ("draft-vocab",), Dies("draft-vocab"), said(vocab_size=600)),
    Wiring("deepseek draft_vocab_size 384 of 512", ("draft-vocab",), Dies("draft-vocab"), said(draft_vocab_size=384)),
    Wiring("deepseek no draft_vocab_size", ("draft-vocab",), Dies("draft-vocab"), said(draft_vocab_size=None)),
    Wiring("deepseek fc.bias", (), RIGHT, said(bias=True), crafted.fc_with_bias),
    Wiring("deepseek fc.bias that is not said", ("tensor-names-need-release",), NONE, None, crafted.fc_with_bias),
    Wiring("deepseek 384 tokens", (), SMALL, small=True, right=2.6667),
    Wiring("deepseek 384 tokens, no t2d", (), SMALL, None, crafted.without("t2d"), small=True, right=2.6667),
    Wiring(
        "deepseek 384 tokens, no d2t", ("draft-vocab",), NONE, None, crafted.without("d2t"), small=True, right=2.6667
    ),
    Wiring(
        "deepseek 384 tokens, d2t holds ids",
        ("draft-vocab",),
        Accepts(1.005, (397, 1)),
        None,
        crafted.d2t_holds_ids,
        small=True,
        right=2.6667,
    ),
    Wiring(
        "deepseek 384 tokens, another draft's d2t",
        ("draft-vocab",),
        Accepts(1.9417, (99, 57, 27, 13, 7, 3)),
        None,
        crafted.d2t_of_another_draft,
        small=True,
        right=2.6667,
    ),
    Wiring(
        "deepseek 384 tokens, d2t one late",
        ("draft-vocab",),
        NONE,
        None,
        crafted.d2t_one_late,
        small=True,
        right=2.6667,
    ),
    Wiring(
        "deepseek 384 tokens said to be 512",
        ("draft-vocab",),
        Dies("draft-vocab"),
        said(draft_vocab_size=512),
        small=True,
        right=2.6667,
    ),
    Wiring("deepseek no draft", ("draft-missing",), Dies("draft-missing"), sets=("speculative.draft_model_path=",)),
    Wiring(
        "deepseek draft that is not there",
        ("path-missing",),
        Dies("path-missing"),
        sets=("speculative.draft_model_path=/nowhere/draft",),
    ),
    Wiring(
        "deepseek draft without weights",
        ("checkpoint-unreadable",),
        Dies("checkpoint-unreadable"),
        files=crafted.without_weights,
    ),
    Wiring(
        "deepseek draft cut short", ("checkpoint-unreadable",), Dies("checkpoint-unreadable"), files=crafted.cut_short
    ),
    Wiring(
        "deepseek draft without config",
        ("checkpoint-unreadable",),
        Dies("checkpoint-unreadable"),
        files=crafted.without_config,
    ),
    Wiring("llama 2,3,6: as trained", (), RIGHT, pair="llama"),
    Wiring("llama 3,2,6: another order", (), RIGHT, ids(3, 2, 6), pair="llama"),
    Wiring("llama 1,2,5: one layer early", LAYERS, EARLY, ids(1, 2, 5), pair="llama"),
    Wiring(
        "llama 2,4,6: one of three wrong", LAYERS, Accepts(4.0404, (25, 8, 6, 6, 5, 49)), ids(2, 4, 6), pair="llama"
    ),
    Wiring("llama no ids: the default", LAYERS, DEFAULT, ids(), pair="llama"),
    Wiring("llama ids at top level", ("layer-outputs", "ids-ignored"), DEFAULT, crafted.ids_at_top_level, pair="llama"),
    Wiring("llama 3,4,7: a layer too late", RANGE, Dies("captures-mismatch"), ids(3, 4, 7), pair="llama"),
    Wiring("llama 2,2,6: one twice", RANGE, Dies("captures-mismatch"), ids(2, 2, 6), pair="llama"),
    Wiring("llama -1,3,6: the embedding", RANGE, Dies("ids-out-of-range"), ids(-1, 3, 6), pair="llama"),
    Wiring("llama four ids", NUMBER, Dies("captures-mismatch"), ids(1, 2, 3, 6), pair="llama"),
    Wiring(
        "llama fc trained in another order",
        LAYERS,
        SWAPPED,
        tensors=crafted.fc_slots_swapped,
        pair="llama",
        sets=("training.capture_layer_outputs=[3,2,6]",),
    ),
    Wiring(
        "llama no draft",
        ("draft-missing",),
        Dies("draft-missing"),
        pair="llama",
        sets=("speculative.draft_model_path=",),
    ),
    Wiring("llama EAGLE flag", ("algorithm-for-eagle3",), NONE, pair="llama", sets=("speculative.algorithm=EAGLE",)),
    Wiring("llama 384 tokens", (), SMALL, small=True, pair="llama", right=2.6667),
    Wiring("v1 deepseek 2,3,6: as trained", (), RIGHT, ids(2, 3, 6), worker="v1"),
    Wiring("v1 deepseek 1,2,5: one layer early", LAYERS, EARLY, ids(1, 2, 5), worker="v1"),
    Wiring("v1 deepseek 3,4,7: a layer too late", RANGE, Dies("captures-mismatch"), worker="v1"),
    Wiring(
        "v1 deepseek EAGLE flag",
        ("algorithm-for-eagle3",),
        NONE,
        ids(2, 3, 6),
        worker="v1",
        sets=("speculative.algorithm=EAGLE",),
    ),
    Wiring("v1 deepseek four ids", NUMBER, Dies("captures-mismatch"), ids(1, 2, 3, 6), worker="v1"),
)

_FEW = ("deepseek 0,4,7: the embedding", "deepseek four ids")
FEW = tuple(each for each in WIRINGS if each.id in _FEW)
"""A silent fault and a loud one."""
