"""What two profiles differ in, field by field, as they resolve. Values that are secrets are compared, never shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from console.launch.secrets import MASK, is_secret_value, looks_secret

if TYPE_CHECKING:
    from console.launch.loader import ResolvedProfile
    from console.launch.profile import Profile

_OWN = ("name", "description", "extends")
"""Keys that say nothing of what runs."""


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """One field that is not the same on both sides; None: it is not set there."""

    key: str
    a: Any
    b: Any
    a_from: str
    """Where the value comes from, "file:line:column"; empty: it is the default."""
    b_from: str

    def to_json(self) -> dict[str, Any]:
        return {"key": self.key, "a": self.a, "b": self.b, "a_from": self.a_from, "b_from": self.b_from}


def differences(a: ResolvedProfile, b: ResolvedProfile) -> tuple[FieldDifference, ...]:
    """Return the fields that differ, in the order of the profile's form; what each extends is in it."""
    left, right = fields(a.profile), fields(b.profile)
    keys = [*left, *(key for key in right if key not in left)]
    return tuple(
        FieldDifference(key, shown(key, left.get(key)), shown(key, right.get(key)), *_places(key, a, b))
        for key in keys
        if left.get(key) != right.get(key)
    )


def fields(profile: Profile) -> dict[str, Any]:
    """Return what is set, by dotted key; secret values stand in it as they are, so `shown` is for showing."""
    return dict(_flat(profile.model_dump(mode="json", exclude_none=True, exclude=set(_OWN)), ""))


def shown(key: str, value: Any) -> Any:
    """Return the value as it may be shown."""
    first, _, name = key.partition(".")
    if isinstance(value, str) and ((first == "env" and looks_secret(name)) or is_secret_value(value)):
        return MASK
    return value


def _places(key: str, a: ResolvedProfile, b: ResolvedProfile) -> tuple[str, str]:
    return a.places.get(key, ""), b.places.get(key, "")


def _flat(value: Any, key: str) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        return [(key, value)]
    return [pair for name, each in value.items() for pair in _flat(each, f"{key}.{name}" if key else str(name))]
