"""What is typed to search a log: one meaning for the pane, the verb, and the node that searches."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

from console.errors import UsageError


@dataclass(frozen=True, slots=True)
class SearchPattern:
    """A regular expression, or plain text; `inverse`: lines that do not match."""

    text: str
    regex: bool = True
    inverse: bool = False
    ignore_case: bool = False

    def matches(self, text: str) -> bool:
        """Does a line match? For lines that are here; on the node the same pattern meets the line's bytes."""
        return bool(self._compiled().search(text)) != self.inverse

    def _compiled(self) -> re.Pattern[str]:
        text = self.text if self.regex else re.escape(self.text)
        return re.compile(text, re.IGNORECASE if self.ignore_case else 0)  # `re` keeps what it compiled


def parse(typed: str, *, regex: bool = True, inverse: bool = False) -> SearchPattern:
    """Read what was typed: a leading `!` inverts, case is ignored unless there is a capital (smart case).

    Raises UsageError for nothing, and for what is no regular expression.
    """
    inverse, text = inverse != typed.startswith("!"), typed.removeprefix("!")
    if not text or "\n" in text:
        raise UsageError("nothing to search for", "Give a text or a regular expression of one line.")
    letters = re.sub(r"\\.", "", text) if regex else text  # `\S` is no capital
    pattern = SearchPattern(text, regex, inverse, ignore_case=letters == letters.lower())
    try:
        with warnings.catch_warnings():  # `[[a]` may mean more in some later Python
            warnings.simplefilter("ignore", FutureWarning)
            pattern.matches("")
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(f"{text!r} is no regular expression: {error}", "Escape it with `\\`: `\\[`, `\\(`.") from None
    return pattern
