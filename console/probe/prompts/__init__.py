"""The shipped prompt sets: a folder of texts, read by name. The one place of `console.probe` that reads files.

A set is `<name>.txt`: three prompts of about 1 k tokens, parted by a line `---`. Real text, written for this project:
random tokens and foreign prompts give another acceptance. No line is said twice: what repeats is easy to draft, and
raises acceptance. `long` is composed (see `long`) and repeats its turns of phrase: its acceptance is no measure for the
other sets. To add a set, add its file. An edited set has another hash, and its runs are not compared with older ones.
"""

from __future__ import annotations

from importlib import resources

from console.errors import UsageError
from console.probe.prompts import long

LONG = "long"


def prompt_set_names() -> tuple[str, ...]:
    """Return the names of the shipped sets, sorted."""
    folder = resources.files(__name__)
    return tuple(sorted([LONG, *(entry.name[:-4] for entry in folder.iterdir() if entry.name.endswith(".txt"))]))


def load_prompt_set(name: str) -> tuple[str, ...]:
    """Read the prompts of a shipped set. Raises UsageError where there is none of that name."""
    if name not in prompt_set_names():
        raise UsageError(f"There is no prompt set {name!r}.", f"Sets: {', '.join(prompt_set_names())}.")
    if name == LONG:
        return long.compose()
    text = resources.files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8")
    return tuple(part.strip() + "\n" for part in text.split("\n---\n"))
