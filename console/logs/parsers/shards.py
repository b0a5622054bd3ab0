"""The bar of checkpoint shards: `Loading safetensors checkpoint shards`, `Multi-thread loading shards`."""

from console.logs.fields import bar
from console.logs.parser import Fields, Parser


def _parse(message: str) -> Fields | None:
    state = bar(message)
    if state is None or "shards" not in state.label:
        return None
    return {"label": state.label, "done": state.done, "total": state.total}


PARSER = Parser(kind="shards", hints=("shards",), parse=_parse)
