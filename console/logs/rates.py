"""The accept rate anew, and what the printed ones tell of the release.

`accept len` counts the bonus token in every release; 1.00 means that no draft token was accepted. `accept rate` had
three formulas (read in the releases): len / (steps + 1) in 0.5.4 and 0.5.5, len / draft_tokens from 0.5.6 to
0.5.10.post1, (len - 1) / (draft_tokens - 1) from 0.5.11. The first two are equal when topk is 1, and never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

DRAFT_TOKENS_LIMIT = 128
"""Draft tokens of the widest tree that is looked for."""
_ROUNDING = 0.0101
"""Both numbers are printed with two decimals: each is off by 0.005 at most, and so is the rate made of the length."""


@dataclass(frozen=True, slots=True)
class AcceptRate:
    """An accept rate beside the printed one."""

    printed: float | None
    strict: float | None
    """(accept_len - 1) / (draft_tokens - 1): accepted draft tokens of proposed ones, the formula from 0.5.11 on."""
    formula: str | None
    """The formula that gives the printed number: `strict`, `with_bonus`, `either`; None when neither does."""


def accept_rate(accept_len: float | None, printed: float | None, draft_tokens: int | None) -> AcceptRate:
    """Return the strict accept rate, and which release's formula the printed one follows."""
    if accept_len is None or draft_tokens is None or draft_tokens < 2:
        return AcceptRate(printed, None, None)
    strict = strict_rate(accept_len, draft_tokens)
    with_bonus = accept_len / draft_tokens
    fits = [
        name
        for name, rate in (("strict", strict), ("with_bonus", with_bonus))
        if printed is not None and abs(rate - printed) < _ROUNDING
    ]
    return AcceptRate(printed, strict, "either" if len(fits) == 2 else fits[0] if fits else None)


def strict_rate(accept_len: float, draft_tokens: int) -> float:
    """Accepted draft tokens of proposed ones; `draft_tokens` is 2 or more."""
    return round((accept_len - 1) / (draft_tokens - 1), 4)


@dataclass(frozen=True, slots=True)
class ToldByRates:
    """What printed lengths and rates say together; None where they leave more than one possibility."""

    formula: str | None = None
    """`strict` or `with_bonus`."""
    draft_tokens: int | None = None


def told_by_rates(pairs: Iterable[tuple[float, float]]) -> ToldByRates:
    """Find the formula and the number of draft tokens that give every (accept len, accept rate).

    2.3377 / 0.7795 = 3: up to 0.5.10.post1 the log itself gives the number. Both are printed with two decimals.
    """
    fits = [(name, d) for d in range(2, DRAFT_TOKENS_LIMIT + 1) for name in ("strict", "with_bonus")]
    seen = False
    for length, rate in pairs:
        seen = True
        fits = [fit for fit in fits if _gives(fit, length, rate)]
    formulas, numbers = {name for name, _ in fits}, {number for _, number in fits}
    if not seen or not fits:
        return ToldByRates()
    return ToldByRates(
        next(iter(formulas)) if len(formulas) == 1 else None, next(iter(numbers)) if len(numbers) == 1 else None
    )


def _gives(fit: tuple[str, int], length: float, rate: float) -> bool:
    name, number = fit
    exact, scale = (strict_rate(length, number), number - 1) if name == "strict" else (length / number, number)
    return abs(exact - rate) <= 0.00501 + 0.005 / scale
