"""Probe any endpoint from the console, over the network: the events, metrics and record of a probe on a node."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from console.actions.follow_probe import Ending, Telling
from console.actions.probe_outcome import ProbeOutcome
from console.actions.probe_record import StopRule
from console.actions.run_probe import workload_lines
from console.actions.url_course import UrlCourse
from console.errors import UsageError
from console.probe.client import Client, Endpoint, endpoint_of
from console.probe.fingerprint import Fingerprint
from console.probe.metrics import measure
from console.probe.stored import StoredRun
from console.probe.trace import parse_event, read_spool
from console.probe.workload import Workload, workload_from_profile
from console.units import format_seconds, plain
from remote_agent.protocol.probe.load import Stopped
from remote_agent.protocol.probe.spec import parse_spec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from console.actions.node import Say
    from console.probe.client import Look
    from console.store.journal import Journal
    from remote_agent.protocol.probe.spec import Spec

CANCELLED = "cancelled"
NO_LOG = "server's own figures: not known: its log is out of reach"


@dataclass(frozen=True, slots=True)
class UrlPlan:
    """The endpoint, and what it will be asked."""

    endpoint: Endpoint
    workload: Workload

    def lines(self) -> Iterator[str]:
        yield f"probe {self.endpoint.url} from here, over the network; is it yours, and may it be put under load?"
        yield from workload_lines(self.workload)
        if self.endpoint.key and self.endpoint.is_open:
            yield "the API key is sent unencrypted: http, and not to this machine"


def plan(url: str, overrides: Mapping[str, Any], environ: Mapping[str, str], key_variable: str | None) -> UrlPlan:
    """Check the URL and the load; a server that is not ours is not flushed. Raises UsageError."""
    if key_variable and key_variable not in environ:
        raise UsageError(f"the variable {key_variable} is not set here", f"export {key_variable}=…")
    endpoint = endpoint_of(url, environ[key_variable] if key_variable else "")
    return UrlPlan(endpoint, replace(workload_from_profile(overrides), flush_cache=False))


async def run(journal: Journal, plan: UrlPlan, say: Say) -> ProbeOutcome:
    """Measure it and keep the run.

    Raises:
        Unreachable: no connection, a certificate that is not trusted, a key that is refused.
        UsageError: a redirect, or an API that is not there.
        CancelledError: it was cancelled; what it had is kept as a run that is not valid.
    """
    started, load = time.time(), plan.workload
    async with Client(plan.endpoint, load.concurrency) as client:
        look = await client.look()
        say(f"{plan.endpoint.host}: round trip {format_seconds(look.rtt_ms / 1000)}, model {plain(look.model) or '?'}")
        if load.api != "generate" and not load.model:
            load = replace(load, model=look.model)
        spool = await _measured(client, load, plan.endpoint, say)
    result = measure(read_spool(spool))
    stored = StoredRun(
        run_id=time.strftime("%Y%m%dT%H%M%S", time.gmtime(started)) + f"-{secrets.token_hex(3)}",
        at=time.time(),
        node=plan.endpoint.host,
        profile="",
        profile_hash="",
        fingerprint=_fingerprint(plan.endpoint, load, look),
        result=replace(result, notes=(*result.notes, *_notes(look))),
    )
    journal.add_run(stored, spool)
    asked = {"url": plan.endpoint.url, "workload": load.identity()}
    journal.add_action(started, stored.node, "probe", asked, {"ok": result.valid, "run": stored.run_id})
    outcome = ProbeOutcome(stored)
    if result.why == CANCELLED:
        say(f"kept: {outcome.proof}")
        raise asyncio.CancelledError
    return outcome


async def _measured(client: Client, load: Workload, endpoint: Endpoint, say: Say) -> bytes:
    """The spool of a run that ended by itself, or not valid."""
    # The port is the agent's matter; here the URL says it.
    spec = parse_spec(load.to_spec(1, endpoint.key or None))
    rule = StopRule(load.half_width, load.blocks) if load.adaptive else None
    spool = _Spool(Ending(rule), say)
    spool.course = UrlCourse(client, spec, spool)
    spool.write("started", **_started(spec, endpoint))
    why, ended_by = "", None
    try:
        ended_by = await spool.course.run()
    except Stopped as stop:
        why = spec.masked(str(stop)) or "stopped"
    except asyncio.CancelledError:
        why = CANCELLED
    spool.write("done", valid=not why, why=why, ended_by=ended_by, at=round(time.time(), 6))
    return bytes(spool.data)


class _Spool:
    """The events of a run, as lines; each is told, and asked whether it is enough."""

    def __init__(self, ending: Ending, say: Say) -> None:
        self.data = bytearray()
        self.course: UrlCourse | None = None
        self._ending = ending
        self._telling = Telling(say, ending)

    def write(self, event: str, **fields: Any) -> None:
        """Take in one event."""
        line = json.dumps({"event": event, **fields}, separators=(",", ":"), allow_nan=False).encode("ascii")
        self.data += line + b"\n"
        read = parse_event(line)
        if self._ending.after(read) and self.course:
            self.course.is_finish_asked = True
        self._telling.take(read)


def _started(spec: Spec, endpoint: Endpoint) -> dict[str, Any]:
    names = ("api", "max_new_tokens", "blocks", "requests_per_block", "warmup_requests", "concurrency", "nonce")
    return {
        **{name: getattr(spec, name) for name in names},
        "url": endpoint.url,
        "python": ".".join(map(str, sys.version_info[:3])),
        "at": round(time.time(), 6),
    }


def _fingerprint(endpoint: Endpoint, load: Workload, look: Look) -> Fingerprint:
    return Fingerprint(
        sglang_version=look.version,
        workload={**load.identity(), "model": load.model or look.model},
        simulated=look.simulated,
        client="console",
        endpoint=endpoint.host,
    )


def _notes(look: Look) -> Iterator[str]:
    yield (
        f"measured over the network: round trip {look.rtt_ms:.2f} ms (shortest of several GET /v1/models), "
        "which is in every time to first token"
    )
    yield NO_LOG
