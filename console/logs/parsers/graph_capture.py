"""`Capture … graph begin` and `end`: `cuda graph` to 0.5.13, `target verify CUDA graph` from 0.5.14, `CPU graph`."""

import re

from console.logs.fields import amounts
from console.logs.parser import Fields, Parser

_LINE = re.compile(r"Capture (?:([\w ]{1,40}) )?(cuda|CUDA|cpu|CPU|npu|NPU|musa) graph (begin|end|bs)\b")
_SIZES = re.compile(r"\bbs[= ]\[([\d, ]{0,2000})\]")
_DETAIL = re.compile(r"\b(backend|num_tokens_per_req)=([\w.-]{1,40})")


def _parse(message: str) -> Fields | None:
    line = _LINE.match(message)
    if line is None:
        return None
    fields: Fields = {"what": line[1] or "", "device": line[2].lower(), "edge": line[3]}
    if sizes := _SIZES.search(message):
        fields["bs"] = tuple(int(size) for size in sizes[1].split(",") if size.strip())
    fields.update((name, int(text) if text.isdecimal() else text) for name, text in _DETAIL.findall(message))
    return fields | amounts(message)


PARSER = Parser(kind="graph_capture", starts=("Capture ",), parse=_parse)
