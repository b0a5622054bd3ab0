"""How large the KV cache came out, on each rank, target and draft: all releases.

`KV Cache is allocated. #tokens: N, K size: X GB, V size: X GB`, for MLA `… KV size: X GB`; `dtype: D, ` from 0.5.13.
"""

import re

from console.logs.fields import amounts
from console.logs.parser import Fields, Parser

_TOKENS = re.compile(r"#tokens: (\d{1,15})")
_DTYPE = re.compile(r"dtype: (?:torch\.)?(\w{1,30})")
_SIZE = re.compile(r"\b(KV|K|V) size: (\d{1,9}(?:\.\d{1,9})?) GB")
_PARTS = {
    "KV Cache is allocated.": "allocated",
    "Using KV cache dtype: ": "dtype",
    "Memory pool end.": "end",
    "Post-capture KV sizing:": "resized",
}
_STARTS = tuple(_PARTS)


def _parse(message: str) -> Fields | None:
    if not message.startswith(_STARTS):
        return None
    part = next(part for start, part in _PARTS.items() if message.startswith(start))
    fields: Fields = {"part": part, **amounts(message)}
    if tokens := _TOKENS.search(message):
        fields["tokens"] = int(tokens[1])
    if dtype := _DTYPE.search(message):
        fields["dtype"] = dtype[1]
    fields.update({f"{name.lower()}_size_gb": float(size) for name, size in _SIZE.findall(message, 0, 1000)})
    return fields


PARSER = Parser(kind="kv_cache", starts=_STARTS, parse=_parse)
