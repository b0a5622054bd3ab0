"""`max_total_num_tokens=N, …, context_len=N`, printed by the first rank when its engine stands: all releases."""

from console.logs.fields import amounts, assignments
from console.logs.parser import Fields, Parser


def _parse(message: str) -> Fields | None:
    if not message.startswith("max_total_num_tokens="):
        return None
    fields = assignments(message)
    fields.pop("available_gpu_mem", None)
    return fields | amounts(message)


PARSER = Parser(kind="pool", starts=("max_total_num_tokens=",), parse=_parse)
