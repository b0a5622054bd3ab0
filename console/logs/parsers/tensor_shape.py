"""Shape lines: the records of an instrumented tree, and the prints of people who did it by hand.

Ours, one write each: `[EAGLE3_DEBUG] site=draft.fc_in rank=0 model=LlamaForCausalLMEagle3 mode=DRAFT_EXTEND_V2 seq=12
shape=(6,21504) dtype=bfloat16 device=cuda:0`, a list as `shapes=(6,7168);(6,7168);(6,7168)`. An older form of the same
sites has no rank and no model: `[EAGLE3_DEBUG] target.aux aux=[(6, 1024), …] hidden=(6, 1024) … mode=5`; its mode is a
number of that release, kept as printed.

Fields: site, model, mode, rank, seq, shape or shapes, dtype, device; with prints, `tensors` holds all of the line; with
`error` the instrument failed at that site, and there is no shape.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from console.logs.fields import dims, value
from console.logs.parser import Fields, Parser
from console.logs.parsers.torch_error import torch_sentence
from console.logs.parsers.traceback import exception_line
from console.logs.parts import MARKER
from console.logs.prints import printed_rank, printed_tensors

_PAIR_LIMIT = 2000
"""Characters of one `key=value`; a list of sixty captures has 1000."""
KNOWN_LENGTH = 1000
"""Characters of a record that is remembered."""
_SEQ = " seq="
_SEQ_DIGITS = 18
_PAIR = re.compile(r"\w{1,40}=(?:\[[^\]]{0,2000}\]|\([^)]{0,200}\)(?:;\([^)]{0,200}\)){0,64}|[^\s=]{1,200})(?= |$)")
_OLD_SITE = re.compile(r"((?:target|logits|draft)\.\w{1,40}) (?=\w{1,40}=)")
_TUPLE = re.compile(r"\([^)]{0,200}\)")
_SITES = {"logits.hidden": "logits.stored"}
"""The older form's names of our sites."""
_UNKNOWN: Fields = dict.fromkeys(("site", "model", "mode", "rank", "seq", "dtype", "device"))
_NOTHING = frozenset({"none", "None", "UNKNOWN", "-", "?", ""})
_SHAPE_KEYS = frozenset({"shape", "shapes", "aux", "hidden_states_to_store"})
_OURS = "tensors"
"""The field for prints: a line may not name it."""
_TEXT_KEYS = frozenset({"site", "model", "mode", "dtype", "device"})


def _parse(message: str) -> Fields | None:
    if len(message) > KNOWN_LENGTH or not message.startswith(MARKER):
        return _form(message)
    begins = message.find(_SEQ)
    ends = message.find(" ", begins + len(_SEQ))
    number = message[begins + len(_SEQ) : ends]
    if begins < 0 or ends < 0 or not number.isdecimal() or len(number) > _SEQ_DIGITS or _SEQ in message[ends:]:
        known = _known_form(message)
        return known.copy() if known else None
    known = _known_form(message[:begins] + message[ends:])
    return {**known, "seq": int(number)} if known else None


def _form(message: str) -> Fields | None:
    if message.startswith(MARKER):
        if message.startswith("site=", len(MARKER)):
            return _site(message[len(MARKER) :].split(" "))
        if old := _OLD_SITE.match(message, len(MARKER)):
            site = _SITES.get(old[1], old[1])
            return _site([f"site={site}", *_PAIR.findall(message, old.end())])
    return _prints(message)


_known_form = lru_cache(maxsize=4096)(_form)
"""Records repeat but for their `seq`: site, rank, mode and shape make some hundred forms."""


def _site(pairs: Iterable[str]) -> Fields | None:
    fields = _UNKNOWN.copy()
    for pair in pairs:
        if len(pair) <= _PAIR_LIMIT:
            name, read = _read(pair)
            fields[name] = read
    fields.pop("", None)
    return fields if "shape" in fields or "shapes" in fields or "error" in fields else None


@lru_cache(maxsize=4096)
def _read(pair: str) -> tuple[str, object]:
    """Return name and value of `key=value`; no name when it cannot be read. Pairs repeat from record to record."""
    name, _, text = pair.partition("=")
    if name == _OURS:
        return "", None
    if name in _TEXT_KEYS:
        return name, None if text in _NOTHING else text.removeprefix("torch.")
    if name == "shapes" or text.startswith("["):
        return "shapes" if name in _SHAPE_KEYS else name, _shapes(text)
    if text.startswith("("):
        shape = dims(text)
        return "" if shape is None else "shape" if name in _SHAPE_KEYS else name, shape
    if name in _SHAPE_KEYS:
        return "", None
    number = value(text)
    return name, None if name == "rank" and not isinstance(number, int) else number


def _shapes(text: str) -> tuple[tuple[int, ...], ...]:
    return tuple(shape for one in _TUPLE.findall(text) if (shape := dims(one)) is not None)


def _prints(message: str) -> Fields | None:
    tensors = printed_tensors(message)
    if not tensors or exception_line(message) or torch_sentence(message):
        return None
    first = tensors[0]
    return {
        "site": first.name,
        "model": None,
        "mode": None,
        "rank": printed_rank(message),
        "seq": None,
        "shape": first.shape,
        "dtype": first.dtype,
        "device": first.device,
        "tensors": tensors,
    }


PARSER = Parser(kind="tensor_shape", starts=(MARKER,), hints=("shape", "torch.Size("), parse=_parse, marker=MARKER)
