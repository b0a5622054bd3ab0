"""Owns click's own errors (an unknown verb or option, a missing word) as JSON, where --json is among the words."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NO_VERB = "usage"
"""Stands for the verb in `schema` where no verb was recognised."""


@contextlib.contextmanager
def told_as_json(words: Sequence[str]) -> Iterator[None]:
    """Tell an error of click's on stdout too; it goes on, so that click tells it on stderr and ends with its code."""
    try:
        yield
    except click.ClickException as error:
        is_asked = "--json" in words[: words.index("--")] if "--" in words else "--json" in words
        if is_asked:
            _emit(error)
        raise


def _emit(error: click.ClickException) -> None:
    from console.cli._shared import Options, emit

    context = getattr(error, "ctx", None)
    path = context.command_path if context else ""
    verb = "-".join(path.split()[1:]) or NO_VERB
    options = Options(verb, as_json=True, yes=False, dry_run=False, readonly=False, accept_new_host_key=False)
    told = {
        "message": error.format_message(),
        "hint": f"`{path} --help` says what it takes." if path else "",
        "detail": "",
        "exit_code": error.exit_code,
    }
    emit(options, False, context.params.get("node") if context else None, {"error": told})
