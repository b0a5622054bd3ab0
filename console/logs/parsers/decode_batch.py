"""`Decode batch`: one line each 40 decode iterations, by the first rank of each data-parallel group."""

from console.logs.fields import batch_pairs
from console.logs.parser import Fields, Parser


def _parse(message: str) -> Fields | None:
    return batch_pairs(message, "Decode")


PARSER = Parser(kind="decode_batch", starts=("Decode batch",), parse=_parse)
