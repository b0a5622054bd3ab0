"""torch's C++ lines, `[rank2]:[W525 06:00:01.12 TCPStore.cpp:125] …`: mostly teardown, thousands after a death."""

import re

from console.logs.parser import Fields, Parser
from console.logs.parsers.torch_error import torch_sentence

_LINE = re.compile(r"\[([IWEF])\d{3,4} [\d:.]{8,20} ([\w.]{1,80}):\d{1,6}\] ")


def glog_line(message: str) -> Fields | None:
    """Return level, source file and whether a collective timed out, of a line with glog's head."""
    line = _LINE.match(message)
    if line is None or torch_sentence(message):
        return None
    return {
        "level": line[1],
        "source": line[2],
        "collective_timeout": "Watchdog caught collective operation timeout" in message,
        "sentence": message[line.end() :].strip(),
    }


PARSER = Parser(kind="glog", hints=(".cpp:", ".cc:", ".hpp:", ".cu:"), parse=glog_line)
