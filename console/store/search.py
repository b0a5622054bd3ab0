"""Owns the search among stored runs: words over everything that is kept of a run as text, and tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

WORDS_LIMIT = 20

_JSON = "SELECT group_concat(coalesce(key, '') || '=' || atom, ' ') FROM json_tree({column}) WHERE atom IS NOT NULL"
_VALUES = f"CASE WHEN json_valid({{column}}) THEN ({_JSON}) END"
_TEXT = " || ' ' || ".join(
    [
        *("id", "node", "profile", "kind", "launch_id", "note"),
        *(f"coalesce({_VALUES.format(column=column)}, '')" for column in ("fingerprint", "result")),
        "coalesce((SELECT group_concat(tag, ' ') FROM run_tags WHERE run_id = runs.id), '')",
    ]
)
_TAGGED = "EXISTS (SELECT 1 FROM run_tags WHERE run_id = runs.id AND tag = :tag{number})"


def conditions(search: str, tags: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """Return SQL conditions on `runs` and their values: every word of `search` is found, every tag is there.

    A word is found anywhere in names, tags, note, command, environment, versions and notes of the measurement; letters
    of ASCII count as equal in both cases. The text is joined anew for each run: ten thousand take some tenths of a
    second.
    """
    words = search.split()[:WORDS_LIMIT]
    found = [f"instr(lower({_TEXT}), :word{number}) > 0" for number in range(len(words))]
    found += [_TAGGED.format(number=number) for number in range(len(tags))]
    values = {f"word{number}": _lower(word) for number, word in enumerate(words)}
    return found, {**values, **{f"tag{number}": tag for number, tag in enumerate(tags)}}


def _lower(word: str) -> str:
    """As SQLite's lower() does."""
    return "".join(char.lower() if char.isascii() else char for char in word)
