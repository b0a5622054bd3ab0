"""What a command line asks of SGLang: its flags as argparse would read them, and the environment beside them.

A profile's rendered command and a pasted launch line come to the same thing here, so one set of rules reads both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.launch.flags import ALIASES, flag_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TRUE = frozenset({"1", "true", "yes", "y", "t"})
"""SGLang's `get_bool_env_var`: "true" and "1" (srt/utils, all releases read); the others by newer `EnvBool`."""


@dataclass(frozen=True, slots=True)
class Given:
    """One flag as it was written."""

    spelled: str
    """With its dashes, as in the line; an abbreviation or an underscore form stays one."""
    values: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        """Without dashes, as written."""
        return self.spelled.lstrip("-")

    @property
    def value(self) -> str | None:
        return self.values[0] if self.values else None


@dataclass(frozen=True, slots=True)
class Asked:
    """Flags and environment of one launch."""

    given: tuple[Given, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    """True values: never shown whole."""
    positional: tuple[str, ...] = ()
    """Words that belong to no flag."""

    def has(self, flag: str) -> bool:
        """Was `flag` (a full name without dashes) given, by that name or another that SGLang declares for it?"""
        return any(_full(each.flag) == flag for each in self.given)

    def value(self, flag: str) -> str | None:
        """The last value given for `flag`; None where it was not given."""
        return next((each.value for each in reversed(self.given) if _full(each.flag) == flag), None)

    def number(self, flag: str) -> int | None:
        """The value as a whole number; None where it is none."""
        value = self.value(flag)
        return int(value) if value is not None and value.strip().lstrip("-").isdecimal() else None

    def switched_on(self, name: str) -> bool:
        """Is this environment variable set to what SGLang takes for true?"""
        return self.env.get(name, "").strip().lower() in _TRUE

    @property
    def algorithm(self) -> str | None:
        """`--speculative-algorithm` in capitals, as SGLang compares it."""
        value = self.value("speculative-algorithm")
        return value.upper() if value else None


def read(words: Sequence[str], env: Mapping[str, str] | None = None) -> Asked:
    """Read the words behind the module (`--flag value`, `--flag=value`, `--switch`); a flag takes all words up to the
    next one, for whether it wants any is the release's to know.
    """
    given: list[Given] = []
    positional: list[str] = []
    for word in words:
        if word.startswith("--") and len(word) > 2:
            spelled, equals, value = word.partition("=")
            given.append(Given(spelled, (value,) if equals else ()))
        elif given:
            last = given[-1]
            given[-1] = Given(last.spelled, (*last.values, word))
        else:
            positional.append(word)
    return Asked(tuple(given), dict(env or {}), tuple(positional))


def _full(flag: str) -> str:
    """The flag's full name where SGLang declares a second one for it."""
    return flag_of(ALIASES[flag]) if flag in ALIASES else flag
