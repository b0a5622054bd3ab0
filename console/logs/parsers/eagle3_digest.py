"""Digest records of an instrumented tree: what one captured state holds, or that a graph was being captured.

`[EAGLE3_DIGEST] site=target.aux rank=0 model=LlamaForCausalLM mode=EXTEND seq=7 state=0 of=3 rows=6 width=1024
mean=0.0123 absmax=3.5 nan=0 sum32=0f3a9c01`, one for each state of a call: they share `seq`. Equal `sum32` are equal
states. `read`: of the rows only the first so many; `embed`: rows that are the embedding; `capturing` is True where no
value could be read; with `error` the instrument failed at that site.
"""

from __future__ import annotations

from console.logs.parser import Fields, Parser
from console.logs.parts import DIGEST_MARKER

_TEXT = frozenset({"site", "model", "mode", "sum32", "error"})
_COUNTS = frozenset({"rank", "seq", "state", "of", "rows", "width", "read", "nan", "embed"})
_NUMBERS = frozenset({"mean", "absmax"})
_NOTHING = frozenset({"-", "?", ""})
_VALUE_LIMIT = 100


def _parse(message: str) -> Fields | None:
    if not message.startswith("site=", len(DIGEST_MARKER)) or not message.startswith(DIGEST_MARKER):
        return None
    pairs = (pair.partition("=") for pair in message[len(DIGEST_MARKER) :].split(" "))
    fields = {name: _value(name, text) for name, sign, text in pairs if sign and len(text) <= _VALUE_LIMIT}
    return fields if fields.keys() & {"sum32", "capturing", "error"} else None


def _value(name: str, text: str) -> object:
    if text in _NOTHING:
        return None
    if name == "capturing":
        return text == "yes"
    if name in _COUNTS:
        return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
    return text if name in _TEXT or name not in _NUMBERS else _number(text)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


PARSER = Parser(kind="eagle3_digest", starts=(DIGEST_MARKER,), parse=_parse, marker=DIGEST_MARKER)
