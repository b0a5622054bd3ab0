"""What Python's `warnings` prints: `/path/module.py:124: UserWarning: text`; its source line follows, indented."""

import re

from console.logs.parser import Fields, Parser

_LINE = re.compile(r"(/[^:\n]{1,1000}|<[\w .-]{1,80}>):(\d{1,7}): ([A-Z]\w{0,60}Warning): ")


def _parse(message: str) -> Fields | None:
    line = _LINE.match(message)
    if line is None:
        return None
    return {"part": "warning", "path": line[1], "line": int(line[2]), "name": line[3], "said": message[line.end() :]}


PARSER = Parser(kind="python_warning", hints=("Warning: ",), parse=_parse)
