"""A record: one claimed part of a log line."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

UNCLAIMED = "unclaimed"
"""The kind of a line that no parser knows."""
BLANK = "blank"
"""The kind of a line without text; not counted as unclaimed."""

GAP_KIND = "log_gap"
"""The kind of what the console itself says in a log: the file began anew, bytes of it are lost."""

NO_FIELDS: Mapping[str, object] = MappingProxyType({})
NO_RANKS: Mapping[str, int] = MappingProxyType({})


class Record(NamedTuple):
    """A part of a log line, and which parser claimed it. The texts of a line's records join to the line."""

    kind: str
    offset: int
    """Byte offset of the line; records of one line share it."""
    text: str
    """The part as it stands in the log, its head included: hostile plain text."""
    ts: str | None = None
    """Local time of the server as printed, `2026-02-20 10:02:11`, sometimes with milliseconds."""
    ranks: Mapping[str, int] = NO_RANKS
    """Rank parts of the head as printed, such as `{"DP": 0, "TP": 3}`; torch's own `[rank3]:` is `{"rank": 3}`."""
    fields: Mapping[str, object] = NO_FIELDS
    """What the parser read, by the field's own words."""

    @property
    def rank(self) -> int | None:
        """The rank that the line itself names, never a guessed one."""
        own = self.fields.get("rank")
        if isinstance(own, int):
            return own
        return self.ranks.get("TP", self.ranks.get("rank"))

    def to_json(self) -> dict[str, object]:
        """Return plain data for `logs --follow --json`; secrets masked."""
        from console.logs.highlight import without_secrets

        return {
            "kind": self.kind,
            "offset": self.offset,
            "text": without_secrets(self.text),
            "ts": self.ts,
            "ranks": dict(self.ranks),
            "fields": {key: _plain(value) for key, value in self.fields.items()},
        }


def _plain(value: object) -> object:
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    return dict(value) if isinstance(value, dict) else str(value)
