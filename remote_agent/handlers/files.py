"""Files of a patched tree: read, hash, compare-and-swap, restore, recover, compile.

The ledger tells what was changed and what was begun (remote_agent/ledger.py); a connection or agent that dies midway
leaves each file original or applied, and `recover` finishes or undoes it.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from typing import Any, Iterator, List

from remote_agent import ledger as changes_made
from remote_agent import lock, recovery, runs, swaps, tree
from remote_agent.node import Node
from remote_agent.protocol import (
    AgentError,
    Compiled,
    CompiledFiles,
    FileChange,
    FileContent,
    FileHash,
    FileHashes,
    FileOutcome,
    FileOutcomes,
    Ledger,
    LedgerEntry,
    LedgerFile,
    ProtocolError,
    Recoveries,
    Unfinished,
    from_base64,
    from_wire,
    to_base64,
)
from remote_agent.request import Request, method
from remote_agent.steps import reached

PART = 192 * 1024
COMPILE_TIMEOUT_S = 60.0

# Run by the serving Python, isolated: compiles in memory, writes no .pyc.
_COMPILE = """
import json, sys
out = []
for path in json.load(sys.stdin):
    try:
        with open(path, "rb") as f: compile(f.read(), path, "exec")
        out.append([path, True, ""])
    except Exception as e:
        out.append([path, False, "%s: %s" % (type(e).__name__, e)])
json.dump(out, sys.stdout)
"""


@method()
def read(node: Node, request: Request) -> FileContent:
    """One part of a file from `offset` on, with size and hash of the whole."""
    path, offset = request.get("path", str), request.get("offset", int, 0)
    data, mode = tree.read(path)
    return FileContent(path, to_base64(data[offset : offset + PART]), offset, len(data), tree.sha256_of(data), mode)


@method()
def head(node: Node, request: Request) -> FileContent:
    """The first `length` bytes of a file of any size (checkpoint headers); `sha256` is empty."""
    path = request.get("path", str)
    with tree.errors_of(path), open(path, "rb") as file:
        info = os.fstat(file.fileno())
        data = os.pread(file.fileno(), min(PART, request.get("length", int)), request.get("offset", int, 0))
    return FileContent(path, to_base64(data), request.get("offset", int, 0), info.st_size, "", info.st_mode & 0o7777)


@method()
def hash_(node: Node, request: Request) -> FileHashes:
    return FileHashes([tree.hash_of(str(path)) for path in request.get("paths", list)])


@method()
def ledger(node: Node, request: Request) -> Ledger:
    """Changes that are applied or were begun, oldest first; of one tree when `root` is given."""
    return Ledger(changes_made.entries(node.state, request.get("root", str, "")) if node.state_path else [])


@method()
def unfinished(node: Node, request: Request) -> Unfinished:
    """Changes that were cut short, each file as it is now; of one tree when `root` is given. Changes nothing."""
    return recovery.look(node.state, request.get("root", str, "")) if node.state_path else Unfinished()


@method(mutates=True)
def put(node: Node, request: Request) -> FileHash:
    """Keep content (in parts, the last one marked) on the node under its hash, to be swapped in by `apply`."""
    sha256 = request.get("sha256", str)
    partial = node.state.blob_path(sha256) + ".part"
    offset = request.get("offset", int)
    with tree.errors_of(partial), open(partial, "ab" if offset else "wb") as file:
        if file.tell() != offset:
            raise AgentError("invalid", f"part at {offset}, but {file.tell()} bytes are here")
        file.write(from_base64(request.get("data", str)))
    reached("put.part")
    if request.get("last", bool):
        with open(partial, "rb") as whole:
            content = whole.read()
        if tree.sha256_of(content) == sha256:
            _keep(node, content)
        reached("put.whole")
        os.unlink(partial)
        if tree.sha256_of(content) != sha256:
            raise AgentError("hash_mismatch", "the content that arrived is not what was announced")
    return FileHash(sha256, sha256, None)


@method(mutates=True)
def apply(node: Node, request: Request) -> FileOutcomes:
    """Swap files of the tree at `root`, each only if its hash is the planned one; all or, at the first no, none."""
    root = tree.root_of(request.get("root", str))
    changes = [_change(each) for each in request.get("changes", list)]
    with _tree_lock(root, request, "files.apply", swaps.IN_PLACE_HINT):
        for cut in changes_made.unfinished(node.state, root):
            raise AgentError(
                "refused",
                f"an earlier change of this tree, {', '.join(cut.patches)} by {cut.operator}, is not finished",
                "`patch revert` takes it back.",
            )
        entry = LedgerEntry(
            entry_id=runs.new_run_id(),
            root=root,
            patches=[str(each) for each in request.get("patches", list)],
            operator=request.get("operator", str),
            at=time.time(),
            state="intent",
            files=[_planned(node, root, change) for change in changes],
        )
        return FileOutcomes(swaps.begin(node.state, entry))


@method(mutates=True)
def restore(node: Node, request: Request) -> FileOutcomes:
    """Take back every ledger entry of the tree at `root`, newest first. A file that drifted is left and said."""
    root = tree.root_of(request.get("root", str))
    outcomes: List[FileOutcome] = []
    with _tree_lock(root, request, "files.restore"):
        # All are marked first: one that a crash kept from its turn is taken back too.
        entries = [swaps.mark(node.state, each) for each in reversed(changes_made.entries(node.state, root))]
        for entry in entries:
            swaps.remove_temporaries(entry)
            outcomes += swaps.put_back(node.state, entry)
    return FileOutcomes(outcomes)


@method(mutates=True)
def recover(node: Node, request: Request) -> Recoveries:
    """Finish or undo every change that was cut short; of one tree when `root` is given."""
    return recovery.recover(node.state, request.get("root", str, ""), request.get("operator", str))


@method()
def compile_(node: Node, request: Request) -> CompiledFiles:
    """Compile files with the serving Python, in memory."""
    python, paths = request.get("python", str), [str(path) for path in request.get("paths", list)]
    try:
        done = subprocess.run(
            [python, "-I", "-c", _COMPILE],
            input=json.dumps(paths).encode(),
            capture_output=True,
            timeout=COMPILE_TIMEOUT_S,
        )
        told = json.loads(done.stdout.decode("utf-8"))
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise AgentError("failed", f"{python} could not compile: {error}") from None
    return CompiledFiles(python, [Compiled(path, bool(ok), str(error)) for path, ok, error in told])


@contextlib.contextmanager
def _tree_lock(root: str, request: Request, doing: str, hint: str = "") -> Iterator[None]:
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(lock.hold(lock.tree_lock_path(root), request.get("operator", str), doing))
        except AgentError as error:
            if error.kind != "permission":
                raise
            raise AgentError(error.kind, f"nothing was changed: {error.message}", hint) from None
        yield


def _planned(node: Node, root: str, change: FileChange) -> LedgerFile:
    """A change that was found possible: the file is the planned one, its original is kept, the new text is here."""
    path = tree.inside(root, change.path)
    original = tree.read(path)[0] if os.path.lexists(path) else None
    if (None if original is None else tree.sha256_of(original)) != change.sha256_before:
        raise AgentError("hash_mismatch", f"{change.path} is not the file that was planned", "Plan again.")
    node.state.get_blob(change.sha256_after)
    if original is None:
        return LedgerFile(change.path, None, change.sha256_after, 0o644)
    return LedgerFile(change.path, _keep(node, original), change.sha256_after, change.mode)


def _keep(node: Node, content: bytes) -> str:
    with tree.errors_of(node.state.path):
        return node.state.put_blob(content)


def _change(value: Any) -> FileChange:
    try:
        return from_wire(FileChange, value)
    except ProtocolError as error:
        raise AgentError("invalid", str(error)) from None
