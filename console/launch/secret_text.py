"""Secrets in running text (a log, a command line, a note): found by the names before them and by their form. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.launch.secrets import MASK, looks_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

LEAST_KNOWN = 8
"""Characters from which a known value is masked wherever it stands: a shorter one is a word like any other."""

_CORE = (
    r"(?:[Aa][Pp][Ii][_-]?[Kk][Ee][Yy]|[Aa]ccess[_-]?[Kk]ey|ACCESS_?KEY|[Ss]ecret(?:[_-]?[Kk]ey)?|SECRET(?:_?KEY)?"
    r"|[Pp]assword|PASSWORD|passwd|PASSWD|[Cc]redentials?|CREDENTIALS?|TOKEN"
    r"|(?:hf|auth|access|refresh|session|secret|github|bearer)[_-]?token)"
)
"""How a name of a secret ends. What stands before that is not looked at: this is sought in every line of a log."""
_VALUE = r"(?!(?:None|null|True|False|true|false)\b|\*\*\*|[\d.]+(?![\w]))[^\s'\",;)}\]&]{4,4096}"
_SECRET = re.compile(
    rf"{_CORE}['\"]?\s{{0,2}}[:=]\s{{0,2}}['\"]?({_VALUE})"
    rf"|--(?:[a-z0-9]{{1,20}}-){{0,3}}(?:key|token|secret|password)[ =]{{1,3}}['\"]?(?![A-Z_]+\])({_VALUE})"
    r"|\b((?:hf_|gh[pousr]_)[A-Za-z0-9]{16,512}"
    r"|(?:sk-|github_pat_|xox[abp]-|nvapi-)[A-Za-z0-9_-]{16,512}|AKIA[A-Z0-9]{16})"
    r"|\b(?:[Bb]earer|[Bb]asic) ([A-Za-z0-9._~+/=-]{8,4096})"
    r"|://[^\s/@:]{1,100}:([^\s/@]{1,200})@"
)


_SIGNS = (
    *("key", "secret", "passw", "credential", "token=", "token:", "token =", "token'", 'token"', "-token "),
    *("bearer ", "basic ", "://", "sk-", "hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "xox", "akia"),
    "nvapi-",
)
"""Each secret has one of them on its line, in small letters; what has none is not looked at closer: logs are long."""


def masked_text(text: str, known: Iterable[str] = ()) -> str:
    """Return text with "***" for each secret in it: values behind names of secrets, keys of well-known services,
    passwords of URLs, and every value of `known`."""
    return _masked(text, known, lambda secret: MASK)


def masked_bytes(data: bytes, known: Iterable[str] = ()) -> bytes:
    """Return bytes of the same length: as `masked_text`, an asterisk for each byte, so that offsets stay true."""
    told = (value.encode("utf-8", "surrogateescape").decode("latin-1") for value in known)
    return _masked(data.decode("latin-1"), told, lambda secret: "*" * len(secret)).encode("latin-1")


def known_secrets(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of an environment that are secrets by their names, the longest first."""
    found = {value for name, value in environ.items() if looks_secret(name) and len(value) >= LEAST_KNOWN}
    return tuple(sorted(found, key=lambda value: (-len(value), value)))


def _masked(text: str, known: Iterable[str], mask: Callable[[str], str]) -> str:
    for value in known:
        text = text.replace(value, mask(value))
    small = text.lower()
    signs = [sign for sign in _SIGNS if sign in small]
    if not signs:
        return text

    def hidden(match: re.Match[str]) -> str:
        start, end = match.span(match.lastindex or 0)
        whole, begin = match.group(), match.start()
        return whole[: start - begin] + mask(whole[start - begin : end - begin]) + whole[end - begin :]

    lines = zip(text.split("\n"), small.split("\n"), strict=True)
    return "\n".join(_SECRET.sub(hidden, line) if any(sign in low for sign in signs) else line for line, low in lines)
