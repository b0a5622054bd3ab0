"""What an overlay told of a server's processes, counted against its ranks."""

from __future__ import annotations

from console.logs.history import LogHistory

MODULES = "sglang.srt.layers.logits_processor,sglang.srt.models.llama"
WORKER = "sglang.srt.speculative.eagle_worker_v2"


def history(*lines: str) -> LogHistory:
    made = LogHistory()
    made.feed(0, "".join(f"{line}\n" for line in lines).encode())
    return made


def served(pid: int, count: int = 2, modules: str = MODULES) -> str:
    return f"[SPEC_CONSOLE_OVERLAY] pid={pid} served={count} of=3 modules={modules}"


def test_each_rank_counts_once_and_the_launcher_does_not():
    overlay = history(served(1), served(7), served(8)).overlay
    assert overlay.served(launcher=1) == 2
    assert overlay.wrong(launcher=1, ranks=2) == ""


def test_a_rank_that_told_less_than_the_others_is_missed():
    more = f"{MODULES},{WORKER}"
    overlay = history(served(7), served(8), served(7, 3, more)).overlay
    assert overlay.served(None) == 1
    assert overlay.wrong(None, 2) == "1 of 2 ranks told that they run the patched modules"
    both = history(served(7), served(8), served(7, 3, more), served(8, 3, more)).overlay
    assert both.wrong(None, 2) == ""


def test_silence_and_a_refusal_are_wrong():
    assert history("Loading").overlay.wrong(None, 8) == "0 of 8 ranks told that they run the patched modules"
    refused = "[SPEC_CONSOLE_OVERLAY] pid=7 refused=sglang.srt.models.llama why=original-changed"
    overlay = history(served(7), served(8), refused).overlay
    assert overlay.wrong(None, 2) == "sglang.srt.models.llama was not served: original-changed"


def test_a_line_glued_behind_a_bar_is_found():
    glued = f"Loading:  50%|#####     | 1/2 [00:01<00:01]{served(7)}"
    assert history(glued, served(8)).overlay.served(None) == 2
