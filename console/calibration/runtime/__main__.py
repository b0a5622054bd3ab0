"""`python ZIP FOLDER ORDER`: write a pair into FOLDER, a draft wired as ORDER says, and what a server must accept.

ORDER is JSON: `pair` {arch, layers, trained, p, draft_vocab, looks_back, seed}, `draft` {folder, ids, slots, d2t,
use_aux, rope_factor} or null, `ask` {steps, tokens, last}. Written: FOLDER/target, FOLDER/draft (as trained),
FOLDER/<draft.folder>, FOLDER/expected-<steps>-<tokens>-<last>.json. What is there already is left:
everything follows from the order.
"""

from __future__ import annotations

import json
import os
import sys


def main(folder, order):
    ask, wired = order["ask"], order["draft"]
    table = os.path.join(folder, f"expected-{ask['steps']}-{ask['tokens']}-{ask['last']}.json")
    wanted = [table, *([os.path.join(folder, wired["folder"])] if wired else [])]
    if all(map(os.path.exists, wanted)):
        return
    import writer  # torch, which takes seconds

    if not os.path.isdir(folder):
        writer.write_pair(folder, order["pair"])
    if wired:
        writer.write_draft(wanted[-1], wired)
    if not os.path.exists(table):
        writer.write_table(table, order["pair"], ask)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
