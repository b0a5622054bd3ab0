"""What may stand next on a command line: verbs and flags as click knows them, names from the user's files.

It imports the one verb that is typed, and nothing that takes long: a Tab is waited for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from console.paths import Paths

COMPLETE = "complete"
"""The verb that shells call; it is not offered itself."""
_PLAIN = re.compile(r"[\w@.:/+-]+", re.ASCII)
"""What needs no quoting in any shell: names come from files and ssh configurations."""
_HOST = re.compile(r"^\s*host[\s=]+(.*)$", re.IGNORECASE | re.MULTILINE)
_MAX_SSH_CONFIG = 1_000_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A word, and what it means."""

    word: str
    note: str = ""


def candidates(words: Sequence[str], here: Paths) -> list[Candidate]:
    """Return what the last of `words` (the program's name left out) may become; none: a file, or nothing is known."""
    *before, typed = words or ("",)
    command, waiting, position = _walk(before)
    if command is None:
        return []
    if waiting is not None:
        found = _values(waiting, here)
    elif typed.startswith("-"):
        found = _options(command)
    elif isinstance(command, click.Group):
        found = map(Candidate, _sub_verbs(command))
    else:
        argument = _argument(command, position)
        found = _values(argument, here) if argument else iter(())
    fitting = (each for each in found if each.word.startswith(typed) and _PLAIN.fullmatch(each.word))
    return list({each.word: each for each in fitting}.values())


def _walk(before: Sequence[str]) -> tuple[click.Command | None, click.Option | None, int]:
    """The command that is typed, the option that waits for its value, and how many arguments stand already."""
    from console.cli import main

    command: click.Command | None = main
    waiting: click.Option | None = None
    position = 0
    for word in before:
        if waiting is not None:
            waiting = None
        elif word.startswith("-") and word != "-":
            option = _option(command, word)
            waiting = option if option and not (option.is_flag or option.count or "=" in word) else None
        elif isinstance(command, click.Group):
            command = command.get_command(click.Context(command), word)
        else:
            position += 1
        if command is None:
            break
    return command, waiting, position


def _option(command: click.Command | None, word: str) -> click.Option | None:
    name = word.partition("=")[0]
    options = (each for each in command.params if isinstance(each, click.Option)) if command else ()
    return next((each for each in options if name in (*each.opts, *each.secondary_opts)), None)


def _options(command: click.Command) -> Iterator[Candidate]:
    for each in command.get_params(click.Context(command)):
        if isinstance(each, click.Option) and not each.hidden:
            yield from (Candidate(word, each.help or "") for word in each.opts if word.startswith("--"))


def _sub_verbs(group: click.Group) -> Iterator[str]:
    return (name for name in group.list_commands(click.Context(group)) if name != COMPLETE)


def _argument(command: click.Command, position: int) -> click.Parameter | None:
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    if position < len(arguments):
        return arguments[position]
    return arguments[-1] if arguments and arguments[-1].nargs == -1 else None


def _values(parameter: click.Parameter, here: Paths) -> Iterator[Candidate]:
    if isinstance(parameter.type, click.Choice):
        return (Candidate(str(choice)) for choice in parameter.type.choices)
    source = _SOURCES.get(parameter.name or "")
    return (Candidate(word) for word in source(here)) if source else iter(())


def _nodes(here: Paths) -> Iterator[str]:
    yield from ("demo", "local")
    if here.nodes_file.is_file():
        from console import yaml_file

        data = yaml_file.load_file(here.nodes_file).data
        yield from data if isinstance(data, dict) else ()
    config = Path("~/.ssh/config").expanduser()
    if config.is_file():
        with config.open(encoding="utf-8", errors="replace") as file:
            hosts = _HOST.findall(file.read(_MAX_SSH_CONFIG))
        yield from (name for line in hosts for name in line.split() if not set(name) & set('*?!"'))


def _profiles(here: Paths) -> Iterator[str]:
    from console.launch.library import Library

    yield from Library(here.profiles).names()


def _runs(here: Paths) -> Iterator[str]:
    from console.store.newest import newest_ids

    yield from newest_ids(here.database)


def _rules(_here: Paths) -> Iterator[str]:
    folder = Path(__file__).parents[1] / "lint" / "rules"
    yield from sorted(each.stem.replace("_", "-") for each in folder.glob("[a-z]*.py"))


def _patches(here: Paths) -> Iterator[str]:
    catalog = Path(__file__).parents[1] / "patches" / "catalog"
    yield from sorted(each.stem.replace("_", "-") for each in catalog.glob("[a-z]*.py"))
    yield from (each.name for each in sorted(here.patches.iterdir()) if each.is_dir()) if here.patches.is_dir() else ()


def _keys(_here: Paths) -> Iterator[str]:
    from console.launch.flags import SERVER_KEYS, SPECULATIVE_KEYS

    yield from (*SERVER_KEYS, *(f"speculative.{key}" for key in SPECULATIVE_KEYS))


_SOURCES: dict[str, Callable[[Paths], Iterator[str]]] = {
    **dict.fromkeys(("node", "nodes", "names", "of_node", "variables_of"), _nodes),
    **dict.fromkeys(("profile", "profiles", "a", "b"), _profiles),
    **dict.fromkeys(("run", "runs", "baseline", "candidate"), _runs),
    **dict.fromkeys(("rule_id", "allow"), _rules),
    **dict.fromkeys(("ids", "patch_id"), _patches),
    "key": _keys,
}
"""By the name of an argument or option, over all verbs."""
