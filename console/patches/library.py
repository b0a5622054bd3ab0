"""What a patch is, and which patches there are: the folder `catalog`, one module each.

The only place that reads the text of a runtime file, from this package's own data.
"""

from __future__ import annotations

import functools
import importlib.resources
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from console import registry
from console.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.patches.anchor import Anchor
    from console.patches.edit import Where

Role = Literal["always", "target", "draft"]


@dataclass(frozen=True, slots=True)
class RuntimeFile:
    """The one new file that a patch puts into the tree: what its inserted calls call."""

    path: str
    """Relative to the root of the `sglang` package, with forward slashes."""
    text: bytes

    @property
    def module(self) -> str:
        """The dotted name under which the server imports it."""
        return "sglang." + self.path.removesuffix(".py").replace("/", ".")

    @property
    def heading(self) -> bytes:
        """Its first line, which tells an older copy of ours from a stranger's file of the same name."""
        return self.text.split(b"\n", 1)[0]


@dataclass(frozen=True, slots=True)
class Insert:
    """One call put in before or after an anchored statement."""

    site: str
    anchor: Anchor
    where: Where
    call: str
    """A call of a function of the runtime file, as an expression."""
    assumes: frozenset[str] = frozenset()
    """Names that the call reads only under the very condition under which the next statement reads them."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """All inserts of one file; a file takes all of them or none."""

    path: str
    """Relative to the root of the `sglang` package, with forward slashes."""
    inserts: tuple[Insert, ...]
    role: Role = "always"
    architectures: frozenset[str] = frozenset()
    """Model architectures (of the config named by `role`) that run this file's code."""


@dataclass(frozen=True, slots=True)
class Patch:
    """A named set of inserted calls that do nothing unless `env` is "1" in the server's environment."""

    id: str
    title: str
    env: str
    helper: RuntimeFile
    edits: tuple[FileEdit, ...]

    @property
    def mark(self) -> str:
        """The comment at the end of every inserted line."""
        return f"  # spec-console {self.id}"

    def code(self, insert: Insert) -> str:
        """Return the inserted line, without indentation and line end.

        `import os` as a statement and not `__import__("os")`: torch.compile cannot trace the latter and would break
        the graph there even while `env` is unset.
        """
        function = insert.call.split("(", 1)[0]
        guard = f'import os as _spec_console; _spec_console.environ.get("{self.env}") == "1"'
        return f'{guard} and __import__("{self.helper.module}", fromlist=["{function}"]).{insert.call}{self.mark}'


def runtime_file(name: str, path: str) -> RuntimeFile:
    """Return the file `runtime/<name>` of this package, to be put at `path` in the tree."""
    text = importlib.resources.files("console.patches").joinpath("runtime", name).read_bytes()
    return RuntimeFile(path, text)


@functools.cache
def patches() -> Mapping[str, Patch]:
    """Return every patch of the catalog, by id."""
    from console.patches import catalog  # here, because the catalog imports this module

    found: list[Patch] = [module.PATCH for module in registry.modules(catalog).values()]
    return {patch.id: patch for patch in found}


def patch(patch_id: str) -> Patch:
    """Return the patch of that id; raise UsageError naming those there are."""
    try:
        return patches()[patch_id]
    except KeyError:
        raise UsageError(f"there is no patch {patch_id!r}", hint=f"patches: {', '.join(sorted(patches()))}") from None
