"""Any other tqdm bar, such as `Capturing batches (bs=2 avail_mem=96.48 GB):`, with or without a label."""

import re

from console.logs.fields import amounts, bar
from console.logs.parser import Fields, Parser

_BATCH_SIZE = re.compile(r"\(bs=(\d{1,9})\b")


def _parse(message: str) -> Fields | None:
    state = bar(message)
    if state is None or "shards" in state.label:
        return None
    fields: Fields = {"label": state.label.partition(" (")[0], "done": state.done, "total": state.total}
    if batch_size := _BATCH_SIZE.search(state.label):
        fields["bs"] = int(batch_size[1])
    return fields | amounts(state.label)


PARSER = Parser(kind="progress", hints=("%|", "% Completed |"), parse=_parse)
