"""SIMULATED: a fault that SPEC_CONSOLE_DEMO_FAULT asks for, to see what it leaves in a log.

`rankN:widths`: the target of rank N captures one layer alone. Its state is then as wide as the draft's embedding, so
that the draft skips `fc` without a word and the server goes on: nothing but the shapes tells of it.
"""

import os
import re

NAME = "SPEC_CONSOLE_DEMO_FAULT"
_WIDTHS = re.compile(r"rank(\d{1,3}):widths")


def rank_of_widths():
    """The rank that is wired wrong; None without a fault. Raises ValueError."""
    asked = os.environ.get(NAME, "")
    if not asked:
        return None
    found = _WIDTHS.fullmatch(asked)
    if found is None:
        raise ValueError("%s=%s: no such fault; rank5:widths is one, with any rank" % (NAME, asked))
    return int(found.group(1))


def told(tp_size):
    """A sentence for the log; empty without a fault. Raises ValueError."""
    rank = rank_of_widths()
    if rank is None:
        return ""
    if rank >= tp_size:
        raise ValueError("%s: there is no rank %d of %d" % (NAME, rank, tp_size))
    return "[spec-console] SIMULATED fault: rank %d captures one layer alone" % rank
