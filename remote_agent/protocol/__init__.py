"""The contract between console and agent: version, methods, messages, error kinds, encode and decode. Pure.

One JSON object a line, UTF-8, JSON-RPC 2.0 without batches. The agent speaks first (`agent.hello`). A request is
`{"jsonrpc": "2.0", "id": 1, "method": "gpus.processes", "params": {...}}`; its answer carries `result`, or `error`
with `data.kind` from KINDS. An answer longer than MAX_LINE comes as lines `{"id": 1, "part": "…", "more": true}`, whose
texts together are the answer; the last has `more` false. Notifications of the agent have no id. Bytes (logs, files)
travel as base64.

This file is imported by the agent on Python 3.8 and by the console: annotations stay `List` and `Optional`.
"""

from __future__ import annotations

from remote_agent.protocol.codec import (
    MAX_ANSWER,
    MAX_LINE,
    ProtocolError,
    decode_line,
    encode_answer,
    encode_line,
    from_base64,
    from_wire,
    to_base64,
    to_wire,
)
from remote_agent.protocol.files import (
    Compiled,
    CompiledFiles,
    CutShort,
    FileChange,
    FileContent,
    FileHash,
    FileHashes,
    FileOutcome,
    FileOutcomes,
    Ledger,
    LedgerEntry,
    LedgerFile,
    OverlayInfo,
    OverlayList,
    Recovered,
    Recoveries,
    Unfinished,
)
from remote_agent.protocol.logs import LogBatch, LogHits, LogPlace, LogReset, LogSource, LogSources, LogTail
from remote_agent.protocol.node import (
    GpuHolder,
    GpuProcesses,
    GpuSample,
    Hello,
    Identity,
    NodeFacts,
    PathFacts,
    PortFacts,
    ProcessInfo,
    ServerFlags,
    SGLangFacts,
    TelemetrySample,
    Terminated,
    Terminations,
)
from remote_agent.protocol.preflight import GpuHardware, GpuLink, Hardware, HubFacts, Preflight
from remote_agent.protocol.runs import (
    HttpReply,
    LaunchRequest,
    ProbeRun,
    ProbeRuns,
    ProcessEnviron,
    RunEnviron,
    ServerRun,
    ServerRuns,
)
from remote_agent.protocol.storage import Footprint, PairFolder, ShmEntry, ShmList, StoredItem, Swept, SweptList
from remote_agent.protocol.trees import TreeComparison, TreeFile

__all__ = [
    "CHUNK",
    "EXIT_CRASHED",
    "EXIT_NOT_UPLOADED",
    "EXIT_NO_PYTHON",
    "EXIT_PYTHON_TOO_OLD",
    "KINDS",
    "MAGIC",
    "MAX_ANSWER",
    "MAX_LINE",
    "PROTOCOL",
    "AgentError",
    "Compiled",
    "CompiledFiles",
    "CutShort",
    "FileChange",
    "FileContent",
    "FileHash",
    "FileHashes",
    "FileOutcome",
    "FileOutcomes",
    "Footprint",
    "GpuHardware",
    "GpuHolder",
    "GpuLink",
    "GpuProcesses",
    "GpuSample",
    "Hardware",
    "Hello",
    "HttpReply",
    "HubFacts",
    "Identity",
    "LaunchRequest",
    "Ledger",
    "LedgerEntry",
    "LedgerFile",
    "LogBatch",
    "LogHits",
    "LogPlace",
    "LogReset",
    "LogSource",
    "LogSources",
    "LogTail",
    "NodeFacts",
    "OverlayInfo",
    "OverlayList",
    "PairFolder",
    "PathFacts",
    "PortFacts",
    "Preflight",
    "ProbeRun",
    "ProbeRuns",
    "ProcessEnviron",
    "ProcessInfo",
    "ProtocolError",
    "Recovered",
    "Recoveries",
    "RunEnviron",
    "SGLangFacts",
    "ServerFlags",
    "ServerRun",
    "ServerRuns",
    "ShmEntry",
    "ShmList",
    "StoredItem",
    "Swept",
    "SweptList",
    "TelemetrySample",
    "Terminated",
    "Terminations",
    "TreeComparison",
    "TreeFile",
    "Unfinished",
    "decode_line",
    "encode_answer",
    "encode_line",
    "from_base64",
    "from_wire",
    "to_base64",
    "to_wire",
]

MAGIC = "spec-console-agent"
PROTOCOL = 1
CHUNK = 64 * 1024
"""Payload bytes of one log batch or file part."""

EXIT_NOT_UPLOADED = 96
EXIT_NO_PYTHON = 97
EXIT_PYTHON_TOO_OLD = 98
EXIT_CRASHED = 99

KINDS = (
    "invalid",  # the request is not understood
    "not_found",  # no such file, run or process
    "readonly",  # a change was asked of a read-only agent
    "locked",  # another console is changing this node or tree
    "identity_mismatch",  # the pid belongs to another process now
    "hash_mismatch",  # the file is not the one that was planned
    "permission",  # the operating system said no
    "refused",  # the agent will not do this
    "failed",  # it was tried and did not work
    "cancelled",  # the console took the request back
    "internal",  # a bug in the agent
)


class AgentError(Exception):
    """A request failed on the node; `kind` is one of KINDS."""

    def __init__(self, kind: str, message: str, hint: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint
        self.detail = detail
