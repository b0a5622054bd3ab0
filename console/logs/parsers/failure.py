"""Lines by which SGLang's processes tell that something ended: a rank, a child, the whole server, on purpose or not.

`fatal` is True where the server does not live on. Read in scheduler.py, engine.py and tokenizer_manager.py of 0.4.6 to
0.5.23; some sentences exist in older or newer releases only.
"""

from console.logs.parser import Fields, Parser
from console.logs.parsers.glog import glog_line
from console.logs.parsers.torch_error import torch_sentence
from console.logs.sentences import HOLDER, sentence

_FATAL = (
    ("exception", sentence("hit an exception", r"<process:word> hit an exception")),
    ("child_sigquit", sentence("Received sigquit from a child process")),
    ("sigquit", sentence("SIGQUIT received.")),
    (
        "child_crashed",
        sentence(
            "crashed with exit code",
            r"Subprocess <process:word> \(pid=<pid:int>\) crashed with exit code <exit_code:int>",
        ),
    ),
    ("rank_dead", sentence("scheduler is dead", r"Rank <rank:int> scheduler is dead")),
    (
        "rank_dead",
        sentence(
            "scheduler died during init",
            r"Rank <rank:int> scheduler died during initialization(?: \(exit code: <exit_code:int>\))?",
        ),
    ),
    (
        "watchdog",
        sentence("atchdog timeout (self", r"\(self\.watchdog_timeout=<timeout_s:int>(?!.{0,40}self\.soft=True)"),
    ),
    ("graph_capture", sentence("graph failed", r"Capture [\w ]{1,40} graph failed")),
    ("not_enough_memory", sentence("Not enough memory. Please try to increase --mem-fraction-static")),
    ("not_started", sentence("Initialization failed.")),
    ("port_in_use", sentence("Address already in use")),
    (
        "port_in_use",
        sentence(
            "is not available in",
            rf"<what:word> at <port:int> is not available in \d{{1,6}} seconds\.?{HOLDER}",
        ),
    ),
    ("nccl", sentence("NCCL error")),
    (
        "custom_all_reduce",
        sentence("custom_all_reduce.cuh", r"Cuda error [^ ]{0,400}custom_all_reduce\.cuh:\d{1,6} '<said:text>'"),
    ),
    ("aborted", sentence("Fatal Python error: ")),
    ("aborted", sentence("terminate called after throwing")),
)
_SURVIVED = (
    ("sigterm", sentence("SIGTERM received.")),
    ("drained", sentence("Gracefully exiting")),
    ("exit_code", sentence("Exit code: ", r"Exit code: <exit_code:int>$")),
    ("soft_watchdog", sentence("self.soft=True", r"\(self\.watchdog_timeout=<timeout_s:int>.{0,40}self\.soft=True")),
    ("unhealthy", sentence("Health check failed.")),
    ("retracted", sentence("KV cache pool is full. Retract requests")),
    ("unbalanced_memory", sentence("The memory capacity is unbalanced.")),
)
_CAUSES = tuple((cause, True, known) for cause, known in _FATAL) + tuple(
    (cause, False, known) for cause, known in _SURVIVED
)


def failure_sentence(message: str) -> Fields | None:
    """Return `cause`, `fatal`, `sentence` and the numbers that the sentence names."""
    for cause, fatal, known in _CAUSES:
        numbers = known.read(message)
        if numbers is not None and torch_sentence(message) is None and glog_line(message) is None:
            return {"cause": cause, "fatal": fatal, "sentence": message.strip(), **numbers}
    return None


PARSER = Parser(
    kind="failure",
    starts=(
        "SIGTERM received",
        "SIGQUIT received",
        "Received sigquit",
        "Gracefully exiting",
        "Fatal Python",
        "terminate called",
    ),
    hints=(
        *(
            "Error",
            "Exception",
            "exception",
            "exit code",
            "Exit code",
            "scheduler is dead",
            "scheduler died",
            "timeout",
            " failed",
        ),
        *("Not enough memory", "in use", "not available in", "is full. Retract", "is unbalanced", "NCCL error"),
        "custom_all_reduce",
    ),
    parse=failure_sentence,
)
