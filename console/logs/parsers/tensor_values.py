"""Value summaries that people print without a shape: `[Eagle3 DEBUG] Hidden States after FC: max=202.0, min=-102.0`."""

import re

from console.logs.parser import Fields, Parser
from console.logs.parsers.torch_error import torch_sentence
from console.logs.parsers.traceback import exception_line
from console.logs.parts import DIGEST_MARKER
from console.logs.prints import printed_rank, printed_tensors, printed_values

_HEAD = re.compile(
    r"(?:\[[^\]]{1,80}\][: ]{0,3}){0,3}([A-Za-z_][\w .-]{0,80}?)[: ]{1,4}(?=(?:abs)?(?:max|min|mean|std|nan|inf)=)"
)
_LEAST = 2
"""Values that make a summary: one alone may be anything."""


def _parse(message: str) -> Fields | None:
    head = _HEAD.match(message)
    if head is None or message.startswith(DIGEST_MARKER):
        return None
    values = printed_values(message[head.end() :])
    if len(values) < _LEAST or printed_tensors(message) or torch_sentence(message) or exception_line(message):
        return None
    return {"name": head[1], "rank": printed_rank(message), "values": values}


PARSER = Parser(kind="tensor_values", hints=("max=", "min=", "mean=", "std="), parse=_parse)
