"""Where a crash during a change of files would matter: every such place is named here and says that it was reached.

For tests: with SPEC_CONSOLE_FAULT=STEP or STEP:N in the agent's own environment the agent kills itself (SIGKILL) when
it reaches STEP (for the N-th time). Nothing else reads that variable, and no console sets it.
"""

from __future__ import annotations

import os
import signal
from collections import Counter

FAULT = "SPEC_CONSOLE_FAULT"

STEPS = (
    "put.part",  # a part of a content is here
    "put.whole",  # the content is kept; its part file is not yet removed
    "write.opened",  # an empty temporary file lies beside the file that is to be written
    "write.staged",  # it is whole and on the disk
    "write.renamed",  # it has the file's name; the folder is not yet on the disk
    "apply.kept",  # all originals are kept, and nothing says yet what for
    "apply.intent",  # the ledger says what is about to be done
    "apply.staged",  # one new text lies beside its file
    "apply.swapping",  # the next file is about to be swapped
    "apply.swapped",  # one more file is its new text
    "apply.done",  # all are; the ledger still says intent
    "apply.applied",  # the ledger says applied
    "restore.marked",  # one more entry says reverting; no file is touched yet
    "restore.swapping",  # the next file is about to be put back
    "restore.swapped",  # one more file is its original
    "restore.removed",  # a file that we made is gone
    "restore.aside",  # the original of a file that was replaced since lies aside
    "restore.done",  # all files of an entry are dealt with; the entry still says reverting
    "restore.closed",  # the entry is gone, or says drifted
    "recover.swept",  # temporary files are removed; no entry is dealt with yet
    "recover.entry",  # one more entry is dealt with
    "overlay.copied",  # one more copy lies in the half-made overlay
    "overlay.cleared",  # the overlay of that name, if there was one, is out of the way
    "overlay.placed",  # the new one has its name
    "overlay.removing",  # an overlay that is to be removed has lost its name
)

_reached: Counter[str] = Counter()


def reached(step: str) -> None:
    """Say that the agent is at `step`, one of STEPS."""
    wanted = os.environ.get(FAULT)
    if not wanted:
        return
    name, _, nth = wanted.partition(":")
    _reached[step] += 1
    if step == name and _reached[step] == int(nth or 1):
        os.kill(os.getpid(), signal.SIGKILL)
