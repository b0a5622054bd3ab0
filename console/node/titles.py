"""SGLang's process titles: which role a process has, by its own title or its argument list, never by a substring.

Titles (sglang.md 4.5, cases C02, C10, C11): `sglang::scheduler_TP0`, `sglang::detokenizer`, …, padded with blanks;
`comm` is cut to 15 characters and is never compared with a full title. The launcher keeps its command line.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remote_agent.protocol import ProcessInfo

WORDS = ("sglang::", "sglang.launch_server", "sglang")
"""What the agent looks for; the exact test is `role`."""

_TITLE = re.compile(
    r"sglang::(?P<role>scheduler|detokenizer(?:_router)?|data_parallel_controller|tokenizer_worker)"
    r"(?P<ranks>(?:_[A-Z_]*?[A-Z]\d+)*)(?::(?P<parent>\d+))?"
)
_MODULES = ("sglang.launch_server", "sglang.srt.entrypoints.http_server")


def role(process: ProcessInfo) -> str | None:
    """scheduler, detokenizer, …, launcher; None for what is no SGLang process.

    A shell whose command string names SGLang is none: only whole arguments count (case C04).
    """
    match = _TITLE.fullmatch(process.title.strip())
    if match:
        return match["role"]
    return "launcher" if _is_launcher(process.argv) else None


def ranks(process: ProcessInfo) -> str:
    """The rank part of a title, "TP0" or "DP1 TP3"; empty without one."""
    match = _TITLE.fullmatch(process.title.strip())
    return " ".join(match["ranks"].strip("_").split("_")) if match and match["ranks"] else ""


def _is_launcher(argv: Sequence[str]) -> bool:
    if any(flag == "-m" and module in _MODULES for flag, module in pairwise(argv)):
        return True
    program = argv[0].rpartition("/")[2] if argv else ""
    words = list(argv[1:3]) if program.startswith("python") else [program, *argv[1:2]]
    return len(words) == 2 and words[0].rpartition("/")[2] == "sglang" and words[1] == "serve"
