"""What rules on flags look at: each flag by its full name, what this SGLang makes of it, and what argparse refused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.launch import flag_reading, flag_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.launch.asked import Asked
    from console.launch.flag_reading import Reading, Standing
    from console.lint.context import Launch, LogContext
    from console.logs.record import Record


def full(launch: Launch) -> Asked:
    """The launch with abbreviated and renamed flags by their full names."""
    return flag_reading.meant(launch.asked, launch.version, launch.installed.flags)


def read_as(launch: Launch, *standings: Standing) -> Iterator[Reading]:
    """The flags that this SGLang reads so."""
    for each in flag_reading.readings(launch.asked, launch.version, launch.installed.flags):
        if each.standing in standings:
            yield each


def static_fraction(asked: Asked) -> float | None:
    """`--mem-fraction-static`, where it is given and a share."""
    try:
        value = float(asked.value("mem-fraction-static") or "")
    except ValueError:
        return None
    return value if 0 < value < 1 else None


_MOST, _LONGEST = 8, 100
"""Flags that are told of one refusal, and their characters: the line is the log's, and may hold anything."""


def refusal(log: LogContext) -> Record | None:
    """The line in which argparse says why it ended the launch."""
    return next((each for each in log.of_kind("argparse_error") if each.fields["part"] == "error"), None)


def refused(log: LogContext) -> tuple[Reading, ...]:
    """What argparse did not know, or could not tell apart, flag by flag: as the launch's release reads it.

    Where the release is not known, a flag that any release declares counts as declared.
    """
    record = refusal(log)
    if record is None:
        return ()
    version, installed = (log.launch.version, log.launch.installed.flags) if log.launch else (None, None)
    sentence, candidates = str(record.fields["sentence"]), record.fields["candidates"]
    if isinstance(candidates, tuple) and candidates:
        installed = frozenset(str(each).strip().lstrip("-") for each in candidates)
    elif not sentence.startswith("unrecognized"):
        return ()
    words = [word.partition("=")[0] for word in str(record.fields["option"]).split() if word.startswith("--")]
    flags = [word[2:] for word in dict.fromkeys(words) if 2 < len(word) < _LONGEST]
    known = flag_table.parsers(version, installed)
    return tuple(flag_reading.read(flag, known, version) for flag in flags[:_MOST])


def refused_as(log: LogContext, *standings: Standing) -> Iterator[tuple[Reading, Record]]:
    """The refused flags that the release reads so, each with the line that refused it."""
    record = refusal(log)
    if record is not None:
        yield from ((each, record) for each in refused(log) if each.standing in standings)


def refused_choice(record: Record, flag: str) -> tuple[str, str] | None:
    """The value of `flag` that argparse refused, and the ones it takes, as it printed both."""
    match = _CHOICE.match(str(record.fields["sentence"]))
    return (match["value"], match["choices"]) if match and f"--{flag}" in match["flags"].split("/") else None


_CHOICE = re.compile(
    r"argument (?P<flags>[^:]{1,200}): invalid choice: '(?P<value>[^']{1,100})' \(choose from (?P<choices>[^)]{1,500})"
)
