"""Secrets: held by reference in profiles, by value only in a resolved launch, and masked wherever they are shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

MASK = "***"

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET_NAME = re.compile(r"(^|_)(TOKEN|API_?KEY|ACCESS_?KEY|KEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_SECRET_VALUE = re.compile(r"(sk-|hf_|gh[pousr]_|github_pat_|xox[abp]-|AKIA|nvapi-)[A-Za-z0-9_-]{16,}")


class Secrets(Mapping[str, str]):
    """Values by the name of the environment variable that they came from; its repr shows names only."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(f'{name}={MASK}' for name in self._values)})"

    def masked(self) -> dict[str, str]:
        """Return the names with masked values."""
        return dict.fromkeys(self._values, MASK)


def reference(text: str) -> str:
    """Return the variable that "${NAME}" refers to, or "" when the text is anything else."""
    match = _REFERENCE.fullmatch(text)
    return match.group(1) if match else ""


def looks_secret(name: str) -> bool:
    """Tell whether an environment variable's name says that its value is a secret (HF_TOKEN, X_API_KEY)."""
    return _SECRET_NAME.search(name) is not None


def is_secret_value(text: str) -> bool:
    """Tell whether a text has the form of a well-known service's key, whatever its name says."""
    return _SECRET_VALUE.fullmatch(text) is not None


def masked_env(env: Mapping[str, str], secret: tuple[str, ...] = ()) -> dict[str, str]:
    """Return `env` with the named values, and those that look secret, masked."""
    return {name: MASK if name in secret or looks_secret(name) else value for name, value in env.items()}
