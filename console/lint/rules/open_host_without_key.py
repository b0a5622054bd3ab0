"""The server is open to the network without a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.lint import asks
from console.lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch
    from console.lint.finding import Finding

RULE = Rule(
    id="open-host-without-key",
    title="The server is open to the network without a key",
    why="Whoever reaches the port can use it, flush its cache and load other weights into it.",
    source="srt/entrypoints/http_server.py up to 0.5.7, utils/auth.py from 0.5.8 on: --api-key guards the routes "
    "where it is given; the default host is 127.0.0.1",
)


def check(launch: Launch) -> Iterator[Finding]:
    asked = asks.full(launch)
    host = asked.value("host")
    if host is None or host == "localhost" or host.startswith("127.") or host in ("::1", "[::1]"):
        return
    keyed = launch.profile is not None and launch.profile.api_key is not None
    if not (keyed or asked.has("api-key") or asked.has("config")):
        hint = "Set api_key by reference, or host 127.0.0.1 and reach it through SSH."
        yield RULE.warn(f"host {host}: open to the network, without an API key", hint)
