"""A profile as plain data for storing, showing and hashing. It holds no secret: those stand by reference or masked."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from console.launch.secrets import masked_env

if TYPE_CHECKING:
    from console.launch.profile import Profile

PROSE = {"description", "extends"}
"""Keys that say nothing about what runs, and so are left out of the hash."""


def profile_record(profile: Profile) -> dict[str, Any]:
    """Return the profile as JSON data, without what is unset, environment values that look secret masked."""
    data = profile.model_dump(mode="json", exclude_none=True)
    data["env"] = masked_env(profile.env)
    return data


def canonical_json(data: Any) -> str:
    """Write data in the one form that is hashed: keys sorted, no spaces, ASCII."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def profile_sha256(profile: Profile) -> str:
    """Return the hash of what the profile runs and measures; a changed secret or description does not change it."""
    data = {key: value for key, value in profile_record(profile).items() if key not in PROSE}
    return hashlib.sha256(canonical_json(data).encode("ascii")).hexdigest()
