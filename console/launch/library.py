"""Finds and reads profile files; the only module of this package that touches the disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from console.errors import UsageError

if TYPE_CHECKING:
    from console.yaml_file import Located

SUFFIXES = (".yaml", ".yml")


class NoSuchProfile(UsageError):
    """There is no file for the name that was asked for."""

    nearest = ""
    """The name that may have been meant; empty where none is close, and for a path."""


@dataclass(frozen=True, slots=True)
class Found:
    """A profile file: `name` is its stem, `source` its path."""

    name: str
    source: str
    located: Located


@dataclass(frozen=True, slots=True)
class Library:
    """Profiles by name, in folders; the first folder that has a name wins."""

    folders: tuple[Path, ...]

    def names(self) -> dict[str, Path]:
        """Return every profile's file by name, sorted by name."""
        found: dict[str, Path] = {}
        for folder in self.folders:
            for path in sorted(folder.iterdir()) if folder.is_dir() else ():
                if path.suffix in SUFFIXES and path.is_file():
                    found.setdefault(path.stem, path)
        return dict(sorted(found.items()))

    def read(self, name: str, beside: str = "") -> Found:
        """Read the profile called `name`, or at the path `name` (which may be relative to the file `beside`).

        Raises:
            NoSuchProfile: there is none.
            UsageError: it cannot be read or parsed.
        """
        from console import yaml_file  # a name is completed without it, while somebody waits

        path = self.path(name, beside)
        return Found(path.stem, str(path), yaml_file.load_file(path))

    def path(self, name: str, beside: str = "") -> Path:
        """Return the file of the profile `name`, or at the path `name`. Raises NoSuchProfile."""
        if "/" in name or name.endswith(SUFFIXES):
            path = Path(name).expanduser()
            path = Path(beside).parent / path if beside else path
            if not path.is_file():
                raise _no_file(path)
            return path.resolve()
        known = self.names()
        if name not in known:
            from console.validation import nearest  # pydantic: the same

            near = nearest(name, known)
            hint = f"Nearest: {near}." if near else f"Known: {', '.join(known) or 'none'}."
            error = NoSuchProfile(f"no profile is called {name!r}", hint, self._looked())
            error.nearest = near
            raise error
        return known[name]

    def _looked(self) -> str:
        return "looked in:\n" + "\n".join(str(folder) for folder in self.folders)


def _no_file(path: Path) -> NoSuchProfile:
    from console.validation import nearest

    folder = path.parent
    beside = [each.name for each in folder.iterdir() if each.suffix in SUFFIXES] if folder.is_dir() else []
    near = nearest(path.name, beside)
    error = NoSuchProfile(f"there is no file {path}", f"Nearest: {folder / near}." if near else "")
    error.nearest = str(folder / near) if near else ""
    return error
