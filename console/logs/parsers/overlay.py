"""What an overlay told of one process: the modules that it got patched, or one that it did not get, and why.

`[SPEC_CONSOLE_OVERLAY] pid=4711 served=3 of=3 modules=sglang.srt.models.llama,…` or `… pid=4711 refused=MODULE why=…`.
"""

from __future__ import annotations

import re

from console.logs.parser import Fields, Parser
from console.logs.parts import OVERLAY_MARKER

_SERVED = re.compile(r"pid=(\d{1,10}) served=(\d{1,6}) of=(\d{1,6}) modules=([\w.,]{1,8000})$")
_REFUSED = re.compile(r"pid=(\d{1,10}) refused=([\w.]{1,200}) why=([\w-]{1,80})$")


def _parse(message: str) -> Fields | None:
    if not message.startswith(OVERLAY_MARKER):
        return None
    told = message[len(OVERLAY_MARKER) :].rstrip()
    if served := _SERVED.match(told):
        pid, count, of = (int(each) for each in served.groups()[:3])
        return {"pid": pid, "served": count, "of": of, "modules": served[4].split(",")}
    if refused := _REFUSED.match(told):
        return {"pid": int(refused[1]), "refused": refused[2], "why": refused[3]}
    return None


PARSER = Parser(kind="overlay", starts=(OVERLAY_MARKER,), parse=_parse, marker=OVERLAY_MARKER)
