"""Cycle records of an instrumented tree: how long draft, verify and draft extend of one speculative cycle took.

`[EAGLE3_CYCLE] rank=0 seq=12 worker=EAGLEWorkerV2 bs=1 draft_ms=3.125 verify_ms=9.500 target_ms=9.125 extend_ms=1.250
cycle_ms=14.000 gap_ms=- clock=cuda`. A time is None where that stage did not run; `target_ms` lies within `verify_ms`;
`clock` is host where no CUDA event could be taken. With `error` the instrument failed, and there is no time.
"""

from __future__ import annotations

import re

from console.logs.fields import value
from console.logs.parser import Fields, Parser
from console.logs.parts import CYCLE_MARKER

_PAIR = re.compile(r"(\w{1,40})=([\w.+-]{1,100})(?= |$)")
_NAMES = frozenset({"worker", "clock", "site", "error"})


def _parse(message: str) -> Fields | None:
    if not message.startswith(CYCLE_MARKER):
        return None
    fields = {name: _value(name, text) for name, text in _PAIR.findall(message, len(CYCLE_MARKER))}
    return fields if "error" in fields or isinstance(fields.get("cycle_ms"), float) else None


def _value(name: str, text: str) -> object:
    return text if name in _NAMES else None if text == "-" else value(text)


PARSER = Parser(kind="eagle3_cycle", starts=(CYCLE_MARKER,), parse=_parse, marker=CYCLE_MARKER)
