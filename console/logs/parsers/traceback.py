"""Python tracebacks: where one begins, its frames, and the exception that ends it.

Only the first line of a logged traceback has a head; the rest is bare, and eight ranks interleave.
"""

import re

from console.logs.parser import Fields, Parser
from console.logs.parsers.failure import failure_sentence
from console.logs.parsers.torch_error import torch_sentence

_START = "Traceback (most recent call last):"
_FRAME = re.compile(r"\s{1,40}File \"([^\"]{1,1000})\", line (\d{1,9})")
_CARETS = re.compile(r"\s{1,400}[~^]{1,1000}\s{0,40}$")
_EXCEPTION = re.compile(
    r"((?:[A-Za-z_]\w{0,60}\.){0,8}(?:[A-Z]\w{0,60})?(?:Error|Exception|Interrupt|Exit|Timeout|Refused))"
    r"(?:: (.{0,4000})|\(['\"](.{0,4000})['\"],?\)$|:?$)"
)


_CHAINS = {
    "During handling of the above exception, another exception occurred:": "during",
    "The above exception was the direct cause of the following exception:": "direct",
}


def exception_line(message: str) -> tuple[str, str] | None:
    """Return the name and the text of the exception in a traceback's last line, or None."""
    match = _EXCEPTION.match(message)
    return (match[1], match[2] or match[3] or "") if match else None


def _parse(message: str) -> Fields | None:
    if message.startswith(_START):
        return {"part": "start"}
    if message.rstrip() in _CHAINS:
        return {"part": "chain", "link": _CHAINS[message.rstrip()]}
    if frame := _FRAME.match(message):
        return {"part": "frame", "path": frame[1], "line": int(frame[2])}
    if _CARETS.match(message):
        return {"part": "carets"}
    exception = exception_line(message)
    if exception is None or torch_sentence(message) or failure_sentence(message):
        return None
    return {"part": "exception", "name": exception[0], "said": exception[1], "sentence": message.strip()}


PARSER = Parser(
    kind="traceback",
    starts=(_START, *_CHAINS),
    hints=("Error", "Exception", 'File "', "^", "~", "Interrupt", "Exit", "Timeout", "Refused"),
    parse=_parse,
)
