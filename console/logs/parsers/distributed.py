"""The process group: `Init torch distributed begin.` and `ends.` of each rank (to 0.5.20), NCCL's version.

`ends. mem usage=1.05 GB` to 0.5.8.post1, `ends. elapsed=11.07 s, mem usage=1.05 GB` from 0.5.9.
"""

import re

from console.logs.fields import amounts
from console.logs.parser import Fields, Parser

_EDGE = re.compile(r"Init torch distributed (begin|ends)\.")
_NCCL = re.compile(r"sglang is using nccl==([\d.]{1,20})")


def _parse(message: str) -> Fields | None:
    if edge := _EDGE.match(message):
        return {"edge": "begin" if edge[1] == "begin" else "end", **amounts(message)}
    nccl = _NCCL.match(message)
    return {"edge": None, "nccl": nccl[1].rstrip(".")} if nccl else None


PARSER = Parser(kind="distributed", starts=("Init torch distributed ", "sglang is using nccl=="), parse=_parse)
