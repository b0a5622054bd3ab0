"""A secret stands in the profile as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.launch.secrets import is_secret_value, looks_secret
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch
    from console.lint.finding import Finding

RULE = Rule(
    id="secret-in-profile",
    title="A secret stands in the profile as text",
    why="Flags are read by every account of the node (ps), and a profile is copied and shared.",
    source="proc(5): cmdline is readable by all",
)


def check(launch: Launch) -> Iterator[Finding]:
    if launch.profile is None:
        return
    for flag, value in launch.profile.args.items():
        if any(is_secret_value(str(each)) for each in (value if isinstance(value, list) else [value])):
            yield RULE.error(f"the value of --{flag} looks like a secret", "A flag is read by everyone on the node.")
    for name, value in launch.profile.env.items():
        if looks_secret(name) or is_secret_value(value):
            hint = f"Write secret_env: {{{name}: ${{{name}}}}}, and export it where the console runs."
            yield RULE.warn(f"env.{name} looks like a secret, and stands in the profile as text", hint)
