"""`Capture … graph begin` and `end`: `cuda graph` to 0.5.13, `target verify CUDA graph` from 0.5.14, `CPU graph`.

Between them the sizes (`bs`, of piecewise graphs `num tokens`) and how many addresses a custom all-reduce registered.
"""

import re

from console.logs.fields import amounts
from console.logs.parser import Fields, Parser

_LINE = re.compile(r"Capture (?:([\w ]{1,40}) )?(cuda|CUDA|cpu|CPU|npu|NPU|musa) graph (begin|end|bs|num tokens)\b")
_REGISTERED = re.compile(r"Registering (\d{1,9}) (cuda|cpu|npu|musa) graph addresses")
_SIZES = re.compile(r"\bbs[= ]\[([\d, ]{0,2000})\]")
_DETAIL = re.compile(r"\b(backend|num_tokens_per_req)=([\w.-]{1,40})")


def _parse(message: str) -> Fields | None:
    if registered := _REGISTERED.match(message):
        return {"what": "", "device": registered[2], "edge": "registered", "addresses": int(registered[1])}
    line = _LINE.match(message)
    if line is None:
        return None
    fields: Fields = {"what": line[1] or "", "device": line[2].lower(), "edge": line[3].replace(" ", "_")}
    if sizes := _SIZES.search(message):
        fields["bs"] = tuple(int(size) for size in sizes[1].split(",") if size.strip())
    fields.update((name, int(text) if text.isdecimal() else text) for name, text in _DETAIL.findall(message))
    return fields | amounts(message)


PARSER = Parser(kind="graph_capture", starts=("Capture ", "Registering "), parse=_parse)
