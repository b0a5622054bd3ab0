"""An installed tree as a whole: how it differs from the wheel's RECORD or from the commit, and the texts it came from.

Nothing is changed. Files are found by walking the tree without following links, so no path that RECORD or git names is
ever opened: it is only compared with what was found.
"""

from __future__ import annotations

import hashlib
import os
import stat
from typing import Dict, Iterator, List, Optional, Tuple

from remote_agent import git, record
from remote_agent.node import Node
from remote_agent.protocol import AgentError, FileContent, TreeComparison, TreeFile, to_base64
from remote_agent.request import Request, method

PART = 192 * 1024
CHUNK = 1024 * 1024
MAX_FILE = 8 * 1024 * 1024
MAX_RECORD = 32 * 1024 * 1024
MAX_WALK = 200_000
MAX_LISTED = 400
_ORDER = ("modified", "missing", "extra", "unread")
_LINK = "a link: links are not followed"


@method()
def compare(node: Node, request: Request) -> TreeComparison:
    """Compare the package at `root` with the RECORD that lists it, else with the commit of its checkout."""
    given = request.get("root", str)
    root = _package(given)
    reasons: List[str] = []
    compared = _with_record(root, root, request, reasons) or _with_git(root, reasons)
    if compared is None and os.path.dirname(os.path.abspath(given)) != os.path.dirname(root):
        compared = _with_record(root, os.path.abspath(given), request, reasons)
    none = "no RECORD lists this tree, and no git checkout has it committed"
    return compared or TreeComparison(root, "none", "; ".join(reasons) or none)


@method()
def committed(node: Node, request: Request) -> FileContent:
    """One part, from `offset` on, of a file of the package as the checkout's HEAD has it."""
    root, path = _package(request.get("root", str)), request.get("path", str)
    top = git.checkout_of(root)
    if top is None or not _is_plain(path):
        raise AgentError("invalid", f"{path[:200]!r} is no committed file of {root}")
    try:
        data = git.ask(top, "cat-file", "blob", f"HEAD:{git.inside(top, root)}/{path}")
    except git.GitError as error:
        raise AgentError("not_found", str(error)) from None
    return _part(path, data, request.get("offset", int, 0))


@method()
def kept(node: Node, request: Request) -> FileContent:
    """One part, from `offset` on, of an original that this account's patches put aside, by its SHA-256."""
    sha256 = request.get("sha256", str)
    return _part(sha256, node.state.get_blob(sha256), request.get("offset", int, 0))


def _package(root: str) -> str:
    if not os.path.isabs(root) or not os.path.isdir(root):
        raise AgentError("invalid", f"{root[:200]!r} is not the folder of an installed package")
    return os.path.realpath(root)


def _with_record(root: str, beside: str, request: Request, reasons: List[str]) -> Optional[TreeComparison]:
    """Compare with the RECORD in a dist-info folder beside `beside`, the newest that lists the package."""
    owners = list(_owners(os.path.dirname(beside), os.path.basename(beside), reasons))
    if not owners:
        return None
    folder, listed = owners[-1]
    if len(owners) > 1:
        names = ", ".join(os.path.basename(each) for each, _files in owners)
        reasons.append(f"several distributions list this tree ({names}); the newest is meant")
    found = _differing(root, listed, request, reasons)
    version = record.version(_read(os.path.join(folder, "METADATA"), MAX_FILE) or b"")
    return TreeComparison(
        root=root,
        basis="record",
        reason="; ".join(reasons),
        source=os.path.join(folder, "RECORD"),
        version=version,
        checked=len(listed),
        files=found[:MAX_LISTED],
        left_off=max(0, len(found) - MAX_LISTED),
    )


def _owners(site: str, package: str, reasons: List[str]) -> Iterator[Tuple[str, Dict[str, Optional[str]]]]:
    try:
        names = [name for name in os.listdir(site) if name.startswith(f"{package}-") and name.endswith(".dist-info")]
    except OSError as error:
        reasons.append(f"{site}: {error.strerror}")
        return
    folders = [os.path.join(site, name) for name in names]
    for folder in sorted(folders, key=os.path.getmtime):
        data = _read(os.path.join(folder, "RECORD"), MAX_RECORD)
        try:
            listed = record.sources(data or b"", package)
        except record.RecordError as error:
            reasons.append(f"{folder}/RECORD: {error}")
            continue
        if listed:
            yield folder, listed


def _differing(root: str, listed: Dict[str, Optional[str]], request: Request, reasons: List[str]) -> List[TreeFile]:
    links: List[str] = []
    there = set(_sources(root, links, reasons))
    linked = tuple(f"{link}/" for link in links)
    found: List[TreeFile] = []
    for path, recorded in listed.items():
        if request.is_stopped:
            raise AgentError("cancelled", "the console took the call back")
        if path in there:
            found += _judged(root, path, recorded)
        elif path in links or path.startswith(linked):
            found.append(TreeFile(path, "unread", recorded, None, 0, _LINK))
        else:
            found.append(TreeFile(path, "missing", recorded, None))
    found += [_extra(root, path) for path in sorted(there - set(listed))]
    return sorted(found, key=lambda file: (_ORDER.index(file.state), file.path))


def _judged(root: str, path: str, recorded: Optional[str]) -> List[TreeFile]:
    """Empty for a file that is as recorded."""
    now, size, why = _hash(os.path.join(root, path))
    if recorded is None or now is None:
        return [TreeFile(path, "unread", recorded, now, size, why or "RECORD holds no SHA-256 of it")]
    return [] if now == recorded else [TreeFile(path, "modified", recorded, now, size)]


def _extra(root: str, path: str) -> TreeFile:
    now, size, why = _hash(os.path.join(root, path))
    return TreeFile(path, "extra", None, now, size, why)


def _sources(root: str, links: List[str], reasons: List[str]) -> Iterator[str]:
    """Paths of the Python files below `root`; links go to `links`, unread."""
    folders, seen = [""], 0
    while folders:
        folder = folders.pop()
        try:
            entries = list(os.scandir(os.path.join(root, folder)))
        except OSError as error:
            reasons.append(f"{folder or '.'}: {error.strerror}")
            continue
        seen += len(entries)
        if seen > MAX_WALK:
            raise AgentError("failed", f"{root} has more than {MAX_WALK} files: it is no SGLang")
        for entry in entries:
            path = folder + entry.name
            if entry.is_symlink():
                links.append(path)
            elif entry.is_dir(follow_symlinks=False):
                folders += [path + "/"] if entry.name != "__pycache__" else []
            elif entry.name.endswith(".py") and _is_text(path):
                yield path


def _with_git(root: str, reasons: List[str]) -> Optional[TreeComparison]:
    top = git.checkout_of(root)
    try:
        if top is None or not git.tracks(top, root):
            return None
        commit = git.ask(top, "rev-parse", "HEAD").decode().strip()
        branch = git.ask(top, "rev-parse", "--abbrev-ref", "HEAD").decode("utf-8", "replace").strip()
        told = git.ask(top, "status", "--porcelain", "-z", "--untracked-files=all", "--", git.inside(top, root))
    except git.GitError as error:
        reasons.append(str(error))
        return None
    prefix = "" if top == root else git.inside(top, root) + "/"
    found = sorted(_dirty(root, prefix, told), key=lambda file: (_ORDER.index(file.state), file.path))
    return TreeComparison(
        root=root,
        basis="git",
        reason="; ".join(reasons),
        source=top,
        commit=commit,
        branch="" if branch == "HEAD" else branch,
        files=found[:MAX_LISTED],
        left_off=max(0, len(found) - MAX_LISTED),
    )


def _dirty(root: str, prefix: str, told: bytes) -> Iterator[TreeFile]:
    """Of `git status --porcelain -z` without renames: two letters, a space, the path from the top (git-status(1))."""
    seen = set()
    for entry in told.decode("utf-8", "replace").split("\0"):
        letters, path = entry[:2], entry[3:]
        path = path[len(prefix) :] if path.startswith(prefix) else ""
        if path in seen or not _is_plain(path):
            continue
        seen.add(path)
        full = os.path.join(root, path)
        if os.path.realpath(full) != full:
            yield TreeFile(path, "unread", None, None, 0, _LINK)
            continue
        now, size, why = _hash(full)
        state = "extra" if letters in ("??", "A ", "AM") else "modified"
        if not os.path.lexists(full):
            yield TreeFile(path, "missing", None, None)
        else:
            yield TreeFile(path, state if now else "unread", None, now, size, why)


def _hash(path: str) -> Tuple[Optional[str], int, str]:
    """SHA-256 and size of a plain file, and why not."""
    digest, size = hashlib.sha256(), 0
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb", buffering=0) as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_FILE:
                return None, info.st_size, f"no plain file of at most {MAX_FILE} bytes"
            while size <= MAX_FILE:  # it may grow meanwhile
                data = file.read(CHUNK)
                if not data:
                    return digest.hexdigest(), size, ""
                digest.update(data)
                size += len(data)
            return None, size, "it grows while it is read"
    except OSError as error:
        return None, 0, error.strerror or str(error)


def _read(path: str, limit: int) -> Optional[bytes]:
    """A small file that belongs to the installation; None when it cannot be read, or is larger than `limit`."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            data = file.read(limit + 1)
    except OSError:
        return None
    return data if len(data) <= limit else None


def _part(path: str, data: bytes, offset: int) -> FileContent:
    sha256 = hashlib.sha256(data).hexdigest()
    return FileContent(path, to_base64(data[offset : offset + PART]), offset, len(data), sha256, 0o644)


def _is_plain(path: str) -> bool:
    parts = path.split("/")
    return not os.path.isabs(path) and ".." not in parts and "" not in parts and _is_text(path)


def _is_text(path: str) -> bool:
    """A name that is no UTF-8 cannot travel; no release has one."""
    return path.isprintable()
