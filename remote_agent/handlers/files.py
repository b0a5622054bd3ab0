"""Files of a patched tree: read, hash, compare-and-swap, restore, compile. Every path is checked to lie in the tree.

The ledger tells what was changed. An entry is written as an intent before the first file is touched, so a connection
or agent that dies midway leaves each file original or applied, and `restore` can take all back.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import stat
import subprocess
import time
from typing import Any, List, Optional

from remote_agent import lock, runs
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
    from_base64,
    from_wire,
    to_base64,
    to_wire,
)
from remote_agent.request import Request, method
from remote_agent.state_dir import read_json, write_atomic, write_json

PART = 192 * 1024
MAX_FILE = 8 * 1024 * 1024
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
    data, mode = _read(path)
    return FileContent(path, to_base64(data[offset : offset + PART]), offset, len(data), _sha256(data), mode)


@method()
def head(node: Node, request: Request) -> FileContent:
    """The first `length` bytes of a file of any size (checkpoint headers); `sha256` is empty."""
    path = request.get("path", str)
    try:
        with open(path, "rb") as file:
            info = os.fstat(file.fileno())
            data = os.pread(file.fileno(), min(PART, request.get("length", int)), request.get("offset", int, 0))
    except OSError as error:
        raise _os_error(path, error) from None
    return FileContent(path, to_base64(data), request.get("offset", int, 0), info.st_size, "", info.st_mode & 0o7777)


@method()
def hash_(node: Node, request: Request) -> FileHashes:
    return FileHashes([_hash(str(path)) for path in request.get("paths", list)])


@method()
def ledger(node: Node, request: Request) -> Ledger:
    """Changes that are applied or were begun, oldest first; of one tree when `root` is given."""
    root = request.get("root", str, "")
    entries = [_entry(node, name) for name in node.state.names("ledger")] if node.state_path else []
    return Ledger([entry for entry in entries if entry and (not root or entry.root == root)])


@method(mutates=True)
def put(node: Node, request: Request) -> FileHash:
    """Keep content (in parts, the last one marked) on the node under its hash, to be swapped in by `apply`."""
    sha256 = request.get("sha256", str)
    partial = node.state.blob_path(sha256) + ".part"
    offset = request.get("offset", int)
    with open(partial, "ab" if offset else "wb") as file:
        if file.tell() != offset:
            raise AgentError("invalid", f"part at {offset}, but {file.tell()} bytes are here")
        file.write(from_base64(request.get("data", str)))
    if request.get("last", bool):
        with open(partial, "rb") as whole:
            content = whole.read()
        os.unlink(partial)
        if _sha256(content) != sha256:
            raise AgentError("hash_mismatch", "the content that arrived is not what was announced")
        node.state.put_blob(content)
    return FileHash(sha256, sha256, None)


@method(mutates=True)
def apply(node: Node, request: Request) -> FileOutcomes:
    """Swap files of the tree at `root`, each only if its hash is the planned one; all or, at the first no, none."""
    root = _tree(request.get("root", str))
    changes = [_change(each) for each in request.get("changes", list)]
    patches = [str(each) for each in request.get("patches", list)]
    operator = request.get("operator", str)
    with lock.hold(lock.tree_lock_path(root), operator, "files.apply"):
        originals = {change.path: _checked_original(root, change) for change in changes}
        entry = LedgerEntry(
            entry_id=runs.new_run_id(),
            root=root,
            patches=patches,
            operator=operator,
            at=time.time(),
            state="intent",
            files=[_ledger_file(node, change, originals[change.path]) for change in changes],
        )
        for change in changes:
            node.state.get_blob(change.sha256_after)
        _write_entry(node, entry)
        outcomes = _swap_all(node, root, entry)
        _write_entry(node, LedgerEntry(**dict(vars(entry), state="applied")))
    return FileOutcomes(outcomes)


@method(mutates=True)
def restore(node: Node, request: Request) -> FileOutcomes:
    """Take back every ledger entry of the tree at `root`, newest first. A file that drifted is left and said."""
    root = _tree(request.get("root", str))
    outcomes: List[FileOutcome] = []
    with lock.hold(lock.tree_lock_path(root), request.get("operator", str), "files.restore"):
        for name in reversed(node.state.names("ledger")):
            entry = _entry(node, name)
            if entry is None or entry.root != root:
                continue
            done = [_restore_file(node, root, file) for file in entry.files]
            outcomes += done
            if all(each.outcome != "drifted" for each in done):
                os.unlink(node.state.join("ledger", name))
    return FileOutcomes(outcomes)


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


def _swap_all(node: Node, root: str, entry: LedgerEntry) -> List[FileOutcome]:
    done: List[LedgerFile] = []
    try:
        for file in entry.files:
            write_atomic(_inside(root, file.path), node.state.get_blob(file.sha256_after), file.mode)
            done.append(file)
    except OSError as error:
        for file in reversed(done):
            _restore_file(node, root, file)
        os.unlink(node.state.join("ledger", entry.entry_id + ".json"))
        raise _os_error(file.path, error) from None
    return [FileOutcome(file.path, "swapped", file.sha256_after) for file in entry.files]


def _restore_file(node: Node, root: str, file: LedgerFile) -> FileOutcome:
    path = _inside(root, file.path)
    now = _hash(path).sha256
    if now == file.sha256_before:
        return FileOutcome(file.path, "original", now)
    if now != file.sha256_after:
        return FileOutcome(file.path, "drifted", now, "it was changed after the patch; it is left as it is")
    if file.sha256_before is None:
        _remove_created(path)
        return FileOutcome(file.path, "removed", None)
    write_atomic(path, node.state.get_blob(file.sha256_before), file.mode)
    return FileOutcome(file.path, "restored", _hash(path).sha256)


def _remove_created(path: str) -> None:
    """Remove a file we made, and what Python compiled from it."""
    os.unlink(path)
    folder, name = os.path.split(path)
    for compiled in glob.glob(os.path.join(glob.escape(folder), "__pycache__", name[:-3] + ".*.pyc")):
        os.unlink(compiled)


def _checked_original(root: str, change: FileChange) -> Optional[bytes]:
    path = _inside(root, change.path)
    now = _hash(path)
    if now.sha256 != change.sha256_before:
        raise AgentError("hash_mismatch", f"{change.path} is not the file that was planned", "Plan again.")
    return None if now.sha256 is None else _read(path)[0]


def _ledger_file(node: Node, change: FileChange, original: Optional[bytes]) -> LedgerFile:
    if original is None:
        return LedgerFile(change.path, None, change.sha256_after, 0o644)
    return LedgerFile(change.path, node.state.put_blob(original), change.sha256_after, change.mode)


def _write_entry(node: Node, entry: LedgerEntry) -> None:
    write_json(os.path.join(node.state.make("ledger"), entry.entry_id + ".json"), to_wire(entry))


def _entry(node: Node, name: str) -> Optional[LedgerEntry]:
    try:
        return from_wire(LedgerEntry, read_json(node.state.join("ledger", name)))
    except ProtocolError:
        return None


def _change(value: Any) -> FileChange:
    try:
        return from_wire(FileChange, value)
    except ProtocolError as error:
        raise AgentError("invalid", str(error)) from None


def _tree(root: str) -> str:
    if not os.path.isabs(root) or not os.path.isdir(os.path.join(root, "srt")):
        raise AgentError("invalid", f"{root[:200]!r} is not the folder of an installed sglang")
    return os.path.realpath(root)


def _inside(root: str, path: str) -> str:
    full = os.path.join(root, path)
    parts = path.split("/")
    if os.path.isabs(path) or ".." in parts or "" in parts or os.path.realpath(full) != full:
        raise AgentError("refused", f"{path[:200]!r} leads out of the tree, or is a link")
    return full


def _read(path: str) -> Any:
    try:
        with open(path, "rb") as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_FILE:
                raise AgentError("refused", f"{path} is no plain file of at most {MAX_FILE} bytes")
            return file.read(), info.st_mode & 0o7777
    except OSError as error:
        raise _os_error(path, error) from None


def _hash(path: str) -> FileHash:
    if not os.path.lexists(path):
        return FileHash(path, None, None)
    data, mode = _read(path)
    return FileHash(path, _sha256(data), mode)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _os_error(path: str, error: OSError) -> AgentError:
    kind = "not_found" if isinstance(error, FileNotFoundError) else "permission"
    return AgentError(kind, f"{path}: {error.strerror}")
