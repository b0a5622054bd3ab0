"""Owns the last look before something is stored: secrets are masked, by their names and by their form. Pure."""

from __future__ import annotations

from typing import Any

from console.launch.secret_text import masked_text
from console.probe.fingerprint import is_secret_name, masked_argv

MASK = "***"


def scrubbed(value: Any) -> Any:
    """Return plain data with secrets masked, by key of a mapping, by flag of a command, and in text."""
    if isinstance(value, dict):
        return {key: MASK if is_secret_name(str(key)) and item else scrubbed(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        if all(isinstance(item, str) for item in value):
            return [masked_text(item) for item in masked_argv(value)]
        return [scrubbed(item) for item in value]
    return masked_text(value) if isinstance(value, str) else value
