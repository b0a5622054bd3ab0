"""`Load weight begin./end.`: twice on each rank with speculation, first the target, then the draft."""

import re

from console.logs.fields import amounts, assignments
from console.logs.parser import Fields, Parser

_LINE = re.compile(r"Load weight (begin|end)\. ?")


def _parse(message: str) -> Fields | None:
    line = _LINE.match(message)
    if line is None:
        return None
    rest = message[line.end() :]
    fields: Fields = {"edge": line[1]}
    named = assignments(rest)
    fields.update({name: named[name] for name in ("type", "dtype", "quant") if name in named})
    return fields | amounts(rest)


PARSER = Parser(kind="load_weight", starts=("Load weight ",), parse=_parse)
