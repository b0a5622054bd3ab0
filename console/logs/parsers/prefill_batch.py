"""`Prefill batch`, of a request or of the warm-up."""

from console.logs.fields import batch_pairs
from console.logs.parser import Fields, Parser


def _parse(message: str) -> Fields | None:
    return batch_pairs(message, "Prefill")


PARSER = Parser(kind="prefill_batch", starts=("Prefill batch",), parse=_parse)
