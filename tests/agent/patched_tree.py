"""A small installed tree, patches of it, and the one question: is every file what the ledger says?"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from remote_agent.protocol import FileChange

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from console.remote.agent import Agent
    from remote_agent.protocol import LedgerEntry

ORIGINALS = {
    "srt/server.py": b"import os\r\n\r\nserve = 1\r\n",
    "srt/models/llama.py": b"import torch\nllama = 1\n",
    "srt/models/draft.py": b"draft = 1",
}
NEW = "srt/_probe.py"
MODE = 0o640
NO_ROOT_POWER = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search,-fowner,-chown")
"""Root without the right to pass over the modes and owners of files."""
TEMPORARY = re.compile(r"\.spec-console-[a-z0-9_]{8}|.*\.part|.*\.old")


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def patched(data: bytes, mark: str) -> bytes:
    return data + f"\n_patched_by_{mark}()\n".encode()


@dataclass(slots=True)
class PatchedTree:
    """A tree under `folder`, the agent's state beside it, and every text that a file may ever have."""

    folder: Path
    texts: dict[str, bytes] = field(default_factory=dict)
    """By hash."""

    def __post_init__(self) -> None:
        for path, data in ORIGINALS.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_bytes(data)
            (self.root / path).chmod(MODE)
            self.texts[sha(data)] = data

    @property
    def root(self) -> Path:
        return self.folder / "site" / "sglang"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def change(self, path: str, mark: str) -> tuple[FileChange, bytes]:
        """The patch `mark` of a file as it is now."""
        now = self.read(path)
        after = patched(now or b"", mark)
        self.texts[sha(after)] = after
        return FileChange(path, None if now is None else sha(now), sha(after), MODE), after

    async def put(self, agent: Agent, mark: str, paths: Sequence[str] = (*ORIGINALS, NEW)) -> list[FileChange]:
        """Bring the new texts of the patch `mark` to the node."""
        changes = [self.change(path, mark) for path in paths]
        for change, after in changes:
            await agent.put(change.sha256_after, after)
        return [change for change, _after in changes]

    async def apply(self, agent: Agent, mark: str, paths: Sequence[str] = (*ORIGINALS, NEW)) -> None:
        await agent.apply_files(str(self.root), [mark], await self.put(agent, mark, paths))

    def read(self, path: str) -> bytes | None:
        file = self.root / path
        return file.read_bytes() if file.exists() else None

    def write(self, path: str, data: bytes) -> None:
        """What a user or pip does."""
        self.texts[sha(data)] = data
        (self.root / path).write_bytes(data)

    def forbid_swap(self, path: str) -> None:
        """Sticky, and another's: anybody may write beside the file, and only its owner may replace it. Needs root."""
        file = self.root / path
        os.chown(file.parent, 1, -1)
        os.chown(file, 1, -1)
        file.parent.chmod(0o1777)

    def assert_whole(self) -> None:
        """Each file has a text that was its own at some step: never half of one, never another."""
        for path in (*ORIGINALS, NEW):
            now = self.read(path)
            assert (path == NEW and now is None) or (now is not None and sha(now) in self.texts), path

    def assert_is(self, ledger: Sequence[LedgerEntry]) -> None:
        """Each file is what the ledger says: the newest entry's text, or the original."""
        expected: dict[str, str | None] = {**{path: sha(data) for path, data in ORIGINALS.items()}, NEW: None}
        for entry in ledger:
            assert entry.state == "applied"
            expected.update({file.path: file.sha256_after for file in entry.files})
        now = {path: self.read(path) for path in expected}
        assert {path: None if data is None else sha(data) for path, data in now.items()} == expected
        for path in ORIGINALS:
            assert (self.root / path).stat().st_mode & 0o7777 == MODE, path

    def assert_original(self) -> None:
        """To the byte, and nothing more than there was."""
        self.assert_is([])
        files = {path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if path.is_file()}
        assert files == set(ORIGINALS)
        assert [path.name for path in self.root.parent.iterdir()] == ["sglang"], "no lock is left"

    def temporaries(self) -> list[str]:
        found = [*self.root.parent.rglob("*"), *self.state.rglob("*")]
        return [str(path.relative_to(self.folder)) for path in found if TEMPORARY.fullmatch(path.name)]
