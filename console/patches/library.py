"""What a patch is, and which patches there are: the folder `catalog`, one module each.

The only place that reads the text of a runtime file, from this package's own data.
"""

from __future__ import annotations

import functools
import importlib.resources
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from console import registry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from console.patches.anchor import Anchor
    from console.patches.edit import Where

Role = Literal["always", "target", "draft"]
_OWN = "srt/_spec_console_user_"
"""How the path of a user's own runtime file begins: its id has only hyphens, and the file's name only low lines."""
_OUR_IMPORT = re.compile(rb"^from console\.patches\.runtime\.records import [^\n]*\n", re.MULTILINE)


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
class Option:
    """What a patch reads from the server's environment besides its switch."""

    name: str
    env: str
    default: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Insert:
    """One call put in before or after an anchored statement, or one decorator put above an anchored function."""

    site: str
    anchor: Anchor
    where: Where
    call: str
    """A call of a function of the runtime file, as an expression; to decorate, the name of that function."""
    assumes: frozenset[str] = frozenset()
    """Names that the call reads only under the very condition under which the next statement reads them."""
    optional: bool = False
    """The file takes the patch without it where its anchor does not apply."""

    @property
    def function(self) -> str:
        """The function of the runtime file that is called."""
        return self.call.split("(", 1)[0]


@dataclass(frozen=True, slots=True)
class FileEdit:
    """All inserts of one file; a file takes all of them or none."""

    path: str
    """Relative to the root of the `sglang` package, with forward slashes."""
    inserts: tuple[Insert, ...]
    role: Role = "always"
    architectures: frozenset[str] = frozenset()
    """Model architectures (of the config named by `role`) that run this file's code."""
    lazy: bool = False
    """A server may never import it: SGLang chooses between it and another file when it starts."""


@dataclass(frozen=True, slots=True)
class Patch:
    """A named set of inserted calls that do nothing unless `env` is "1" in the server's environment."""

    id: str
    title: str
    env: str
    helper: RuntimeFile
    edits: tuple[FileEdit, ...]
    options: tuple[Option, ...] = ()

    @property
    def mark(self) -> str:
        """The comment at the end of every inserted line."""
        return f"  # spec-console {self.id}"

    def code(self, insert: Insert) -> str:
        """Return the inserted line, without indentation and line end.

        `import os` as a statement and not `__import__("os")`: torch.compile cannot trace the latter and would break
        the graph there even while `env` is unset. A decorator runs once, at import, and has the one form that Python
        3.8 takes, a call; while `env` is unset it gives back the function itself.
        """
        module = f'__import__("{self.helper.module}", fromlist=["{insert.function}"])'
        if insert.where == "decorate":
            chosen = f'{module} if __import__("os").environ.get("{self.env}") == "1" else None'
            return f'@getattr({chosen}, "{insert.function}", lambda function: function){self.mark}'
        guard = f'import os as _spec_console; _spec_console.environ.get("{self.env}") == "1"'
        return f"{guard} and {module}.{insert.call}{self.mark}"


def runtime_file(name: str, path: str) -> RuntimeFile:
    """Return the file `runtime/<name>` of this package, to be put at `path` in the tree."""
    return RuntimeFile(path, whole(_runtime_text(name)))


def whole(text: bytes) -> bytes:
    """Return a runtime file's text with its one import of this package, of `runtime/records.py`, replaced by that text:
    one file goes to the node.
    """
    _, _, shared = _runtime_text("records.py").partition(b'"""\n\n')
    return _OUR_IMPORT.sub(lambda _: shared, text)


def _runtime_text(name: str) -> bytes:
    return importlib.resources.files("console.patches").joinpath("runtime", name).read_bytes()


def options(patch: Patch) -> tuple[Option, ...]:
    """Return what the patch reads from the server's environment, its switch first."""
    return (Option("on", patch.env, "0", "1: records are written"), *patch.options)


def record_options(env: str, *, first: int, every: int, sites: str = "") -> tuple[Option, ...]:
    """Return the options that `runtime/records.py` reads for records of `env`; `sites` as a list for the user."""
    common = (
        Option("ranks", f"{env}_RANKS", "", "ranks that write, as 0,3; empty: all"),
        Option("first", f"{env}_FIRST", str(first), "so many records are written of each kind"),
        Option("every", f"{env}_EVERY", str(every), "then every so many; 0: none"),
    )
    chosen = Option("sites", f"{env}_SITES", "", f"sites that write, of {sites}; empty: all")
    return (*common, chosen) if sites else common


def own_path(patch_id: str) -> str:
    """Return where the runtime file of a user's own patch goes."""
    return f"{_OWN}{patch_id.replace('-', '_')}.py"


def of_runtime_file(name: str) -> str | None:
    """Return the id of the patch whose runtime file is called so: of the catalog, or a user's own."""
    path = f"srt/{name}"
    found = next((patch.id for patch in patches().values() if patch.helper.path == path), None)
    if found is None and path.startswith(_OWN):
        return path.removeprefix(_OWN).removesuffix(".py").replace("_", "-")
    return found


@functools.cache
def patches() -> Mapping[str, Patch]:
    """Return every patch of the catalog, by id."""
    from console.patches import catalog  # here, because the catalog imports this module

    found: list[Patch] = [module.PATCH for module in registry.modules(catalog).values()]
    return {patch.id: patch for patch in found}
