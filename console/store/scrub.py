"""Owns the last look before something is stored: values under names that hold secrets are masked. Pure."""

from __future__ import annotations

from typing import Any

from console.probe.fingerprint import is_secret_name, masked_argv

MASK = "***"


def scrubbed(value: Any) -> Any:
    """Return plain data with secrets masked, by key of a mapping and by flag of a command."""
    if isinstance(value, dict):
        return {key: MASK if is_secret_name(str(key)) and item else scrubbed(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        if all(isinstance(item, str) for item in value):
            return list(masked_argv(value))
        return [scrubbed(item) for item in value]
    return value
