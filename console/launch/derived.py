"""Writes a profile that extends another one by some keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from console import yaml_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def derived_yaml(
    base: str, description: str, values: Mapping[str, Any], baseline: str | None, varies: Sequence[str]
) -> str:
    """The text of a profile that extends `base`; keys are dotted, a None takes an inherited key away.

    With a baseline, `varies` is written too, so that a comparison with it does not call the new keys undeclared.
    """
    data: dict[str, Any] = {"description": description, "extends": base}
    for key, value in values.items():
        *parents, last = key.split(".")
        inner = data
        for part in parents:
            inner = inner.setdefault(part, {})
        inner[last] = value
    if baseline is not None:
        data["baseline"] = {"profile": baseline, "varies": list(varies)}
    return yaml_file.dump(data)
