"""What ninja and nvcc say when kernels are compiled at start: the cause stands here, not in the exception above it."""

from console.logs.parser import Fields, Parser

_STARTS = ("ninja: ", "FAILED: ", "nvcc fatal", "nvcc error")


def _parse(message: str) -> Fields | None:
    if not message.startswith(_STARTS):
        return None
    is_error = not message.startswith("ninja: ") or message.startswith("ninja: error: ")
    return {"part": "error" if is_error else "state", "sentence": message.strip()}


PARSER = Parser(kind="kernel_build", starts=_STARTS, parse=_parse)
