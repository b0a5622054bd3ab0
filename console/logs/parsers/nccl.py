"""NCCL's own lines under NCCL_DEBUG: `host:4711:4712 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM`.

`via` tells the transport of a channel (P2P, SHM, NET/IB, NET/Socket), the one thing of them that explains a speed.
Under torch's DistBackendError stand NCCL's name of the error, `Last error:` and its last warning, bare.
"""

import re

from console.logs.parser import Fields, Parser
from console.logs.parsers.failure import failure_sentence
from console.logs.parsers.torch_error import torch_sentence

_LINE = re.compile(r"(?:([\w.-]{1,255}):(\d{1,10})(?::\d{1,10})? \[(\d{1,4})\] )?NCCL (INFO|WARN|TRACE|ABORT) ")
_VERSION = re.compile(r"NCCL version (\d[\w.+]{1,40})")
_ERROR = re.compile(r"(nccl[A-Z]\w{1,40}): (.{0,1000})")
_ERRORS = ("ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError", "ncclInvalid", "ncclRemoteError")
_LAST = "Last error:"
_WARNINGS = ("Failed to CUDA ",)
_CHANNEL = re.compile(
    r"Channel \d{1,4}/\d{1,4} : (\d{1,6})\[\w{1,12}\] -> (\d{1,6})\[\w{1,12}\] .{0,40}?via (\S{1,80})"
)


def _parse(message: str) -> Fields | None:
    if version := _VERSION.match(message):
        return {"level": "INFO", "version": version[1]}
    if error := _ERROR.match(message):
        return {"level": "WARN", "error": error[1], "sentence": error[2].strip()}
    if message.rstrip() == _LAST or message.startswith(_WARNINGS):
        return {"level": "WARN", "sentence": message.strip()}
    line = _LINE.match(message)
    if line is None or failure_sentence(message) or torch_sentence(message):
        return None
    fields: Fields = {"level": line[4], "host": line[1], "sentence": message[line.end() :].strip()}
    if line[2]:
        fields["pid"], fields["device"] = int(line[2]), int(line[3])
    if channel := _CHANNEL.match(message, line.end()):
        fields |= {"from": int(channel[1]), "to": int(channel[2]), "via": channel[3]}
    return fields


PARSER = Parser(kind="nccl", starts=("NCCL version ", *_ERRORS, _LAST, *_WARNINGS), hints=("NCCL ",), parse=_parse)
