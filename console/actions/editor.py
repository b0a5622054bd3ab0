"""The user's own editor on a file: $VISUAL, $EDITOR, else one that is there. Words by shlex, never a shell."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
from typing import TYPE_CHECKING

from console.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

VARIABLES = ("VISUAL", "EDITOR")
FALLBACKS = ("sensible-editor", "nano", "vi")
_HINT = "For instance: export EDITOR=vim, or EDITOR='code --wait'."


def find_editor(environ: Mapping[str, str] | None = None, *, on_terminal: bool = True) -> tuple[str, ...]:
    """Return the words that start the editor; without a terminal only one that the user has set.

    Raises UsageError when there is none, or what is set is no command.
    """
    environ = os.environ if environ is None else environ
    for name in VARIABLES:
        if environ.get(name, "").strip():
            return _words(name, environ[name], environ.get("PATH"))
    if not on_terminal:
        raise UsageError("there is no terminal for an editor", "`profiles edit NAME --set KEY=VALUE` needs none.")
    found = next((each for each in FALLBACKS if shutil.which(each, path=environ.get("PATH"))), None)
    if found is None:
        raise UsageError("no editor: neither $VISUAL nor $EDITOR is set", _HINT)
    return (found,)


def _words(name: str, text: str, path: str | None) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"${name} cannot be read as words: {error}", _HINT) from None
    if not words or shutil.which(words[0], path=path) is None:
        raise UsageError(f"${name} names no program that is there: {text}", _HINT)
    return words


def edit(words: tuple[str, ...], path: Path, *, stdout: int | None = None) -> bool:
    """Run the editor on `path` and wait for it; False where it says that it failed (vi: `:cq`).

    Raises UsageError when it cannot be started.
    """
    try:
        return subprocess.run([*words, str(path)], check=False, stdout=stdout).returncode == 0
    except OSError as error:
        raise UsageError(f"the editor {words[0]} cannot be started: {error.strerror}", _HINT) from None


@contextlib.contextmanager
def waiting_for_it() -> Iterator[None]:
    """Ctrl-C is the editor's while it runs: the terminal sends it to both, and both mean to live on.

    For the main thread, around `edit`.
    """
    # A function, not SIG_IGN: that one the editor would inherit.
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
