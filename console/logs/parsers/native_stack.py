"""What a process prints when it dies below Python: torch's C++ stack and its advice, and the stacks of faulthandler.

Seen on a real server (0.5.12.post1, H200, an illegal memory access in a CUDA kernel). The cause stands above them, in a
line of another kind.
"""

import re

from console.logs.parser import Fields, Parser

_ADVICE = (
    "Search for `cuda",
    "CUDA kernel errors might be asynchronously reported",
    "For debugging consider passing CUDA_LAUNCH_BLOCKING",
    "Compile with `TORCH_USE_CUDA_DSA`",
)
_FRAME = re.compile(r"frame #(\d{1,4}): ")
_RAISED = re.compile(r"Exception raised from (\S{1,200}) at ([^ ]{1,1000}) \(most recent call first\):")
_THREAD = re.compile(r"(?:Current thread|Thread) 0x[0-9a-f]{1,16}[^(]{0,200}\(most recent call first\):$")


def _parse(message: str) -> Fields | None:
    if message.startswith(_ADVICE):
        return {"part": "advice"}
    if frame := _FRAME.match(message):
        return {"part": "frame", "number": int(frame[1])}
    if raised := _RAISED.match(message):
        return {"part": "raised", "function": raised[1], "source": raised[2]}
    if _THREAD.match(message):
        return {"part": "thread"}
    if message.startswith("Extension modules: "):
        return {"part": "modules"}
    return None


PARSER = Parser(
    kind="native_stack",
    starts=(
        *_ADVICE,
        "frame #",
        "Exception raised from",
        "Current thread 0x",
        "Thread 0x",
        "Extension modules: ",
    ),
    hints=(),
    parse=_parse,
)
