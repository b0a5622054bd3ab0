"""`python ZIP FOLDER ORDER`: write a pair into FOLDER, a draft wired as ORDER says, and what a server must accept.

ORDER is JSON: `pair` {arch, layers, trained, p, draft_vocab, looks_back, seed}, `draft` {folder, ids, slots, d2t,
use_aux, rope_factor, target} or null, `ask` {steps, tokens, last}. Written: FOLDER/target, FOLDER/draft (as trained),
FOLDER/<draft.folder>, FOLDER/<draft.target>, FOLDER/expected-<steps>-<tokens>-<last>.json. What is there already is
left: everything follows from the order.
"""

from __future__ import annotations

import json
import os
import sys


def main(folder, order):
    ask, wired = order["ask"], order["draft"]
    table = os.path.join(folder, f"expected-{ask['steps']}-{ask['tokens']}-{ask['last']}.json")
    draft, target = (os.path.join(folder, wired[key]) for key in ("folder", "target")) if wired else (folder, folder)
    if all(map(os.path.exists, (table, draft, target))):
        return
    import writer  # torch, which takes seconds

    if not os.path.isdir(folder):
        writer.write_pair(folder, order["pair"])
    if not os.path.exists(target):
        writer.write_scaled_target(target)
    if not os.path.exists(draft):
        writer.write_draft(draft, wired)
    if not os.path.exists(table):
        writer.write_table(table, order["pair"], ask)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
