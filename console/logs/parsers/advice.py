"""The numbered ways out that SGLang prints behind a failed graph capture: they name the flags of that release.

`2. set --cuda-graph-max-bs to a smaller value (e.g., 16)`; from 0.5.23 `--cuda-graph-max-bs-decode`.
"""

import re

from console.logs.parser import Fields, Parser

_LINE = re.compile(r"\d\. (?:set|disable|use|reduce|increase|try) ")
_FLAG = re.compile(r"--[a-z][a-z0-9-]{1,80}(?:=\w{1,40})?")


def _parse(message: str) -> Fields | None:
    if message.startswith("Possible solutions:"):
        return {"flags": (), "sentence": message.strip()}
    if _LINE.match(message) is None:
        return None
    return {"flags": tuple(_FLAG.findall(message[:2000])), "sentence": message.strip()}


PARSER = Parser(
    kind="advice",
    starts=(
        "Possible solutions:",
        *(f"{n}. {verb} " for n in range(1, 10) for verb in ("set", "disable", "use", "reduce", "increase", "try")),
    ),
    parse=_parse,
)
