"""Owns files that are written anew: nothing that is there already is written over, and no link is followed."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, BinaryIO

from console.errors import Refused, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ANOTHER = "Nothing is written over: choose another name."


def there_already(path: Path, hint: str = ANOTHER) -> Refused:
    return Refused(f"{path} is there already", hint)


def in_the_way(path: Path, hint: str = ANOTHER) -> Refused | None:
    """Why `create` would refuse the path; None where nothing is there, not even a link to nowhere."""
    return there_already(path, hint) if os.path.lexists(path) else None


def require_free(path: Path, hint: str = ANOTHER) -> None:
    """Raises Refused when there is something at the path: better before the work than after it."""
    if refusal := in_the_way(path, hint):
        raise refusal


def create(path: Path, hint: str = ANOTHER, mode: int = 0o666) -> BinaryIO:
    """Open a new file for writing. Raises Refused where something is there, UsageError where none can be made."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except FileExistsError:
        raise there_already(path, hint) from None
    except OSError as error:
        raise _unwritable(path, error) from None
    return os.fdopen(descriptor, "wb")


@contextlib.contextmanager
def created(path: Path, hint: str = ANOTHER, mode: int = 0o666) -> Iterator[BinaryIO]:
    """`create`, closed at the end; what fails while it is written is a UsageError too."""
    try:
        with create(path, hint, mode) as file:
            yield file
    except OSError as error:
        raise _unwritable(path, error) from None


def write(path: Path, text: str, hint: str = ANOTHER, mode: int = 0o666) -> None:
    """Write a whole new file. Raises as `create` does."""
    with created(path, hint, mode) as file:
        file.write(text.encode())


def write_own(path: Path, text: str, hint: str = ANOTHER) -> None:
    """Write a whole new file among the user's own, whose folder is made where there is none yet. Raises as `write`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from None
    write(path, text, hint)


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path} cannot be written: {error.strerror}", "Name a file in a folder that you may write to.")
