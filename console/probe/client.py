"""Owns HTTP to an endpoint that the console reaches itself, for `probe --url`: the only home of httpx.

TLS is verified (a CA of one's own: SSL_CERT_FILE), no redirect is followed, and the key goes to the named origin alone.
Connections are kept: of the time to first token the setting up of one is no part.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import httpx

from console.errors import ConsoleError, Unreachable, UsageError
from console.units import plain
from remote_agent.protocol.probe.stream import StreamError

if TYPE_CHECKING:
    from remote_agent.protocol.probe.trace import Trace

CONNECT_S = 20.0
LOOK_S = 20.0
MAX_BODY = 1024 * 1024
ROUND_TRIPS = 5
MODELS = "/v1/models"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go, and the key that goes with them."""

    url: str
    """Scheme, host, port, and what stands before the API's paths; no slash at its end."""
    key: str = field(default="", repr=False)

    @property
    def host(self) -> str:
        """Host, and port where one is named."""
        return urlsplit(self.url).netloc

    @property
    def is_open(self) -> bool:
        """Can others read what is sent: plain HTTP, and not on this machine?"""
        parts = urlsplit(self.url)
        return parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class Look:
    """What an endpoint tells before it is measured."""

    rtt_ms: float
    """The shortest of ROUND_TRIPS answers to GET /v1/models on an open connection, the server's own time in it."""
    model: str
    """The first that it lists; empty where it lists none."""
    version: str | None
    """SGLang's, where it answers /server_info."""
    simulated: bool
    """It is the stand-in of an embedded node."""


def endpoint_of(url: str, key: str = "") -> Endpoint:
    """Check a URL; `/v1` at its end is part of the API's paths and left out. Raises UsageError."""
    try:
        parts = urlsplit(url)
        port_is_sound = parts.port is None or parts.port > 0
    except ValueError:
        raise UsageError(f"--url: {url[:200]!r} is no URL", "Example: --url https://host:8000.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_sound or not url.isascii():
        raise UsageError(f"--url: {url[:200]!r} is no http or https URL", "Example: --url https://host:8000.")
    if parts.username is not None or parts.query or parts.fragment:
        raise UsageError(
            "--url: only scheme, host, port and path belong into it", "A key is named by --api-key-env NAME."
        )
    path = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
    if not all(" " <= character <= "~" for character in key):
        raise UsageError("the API key is not printable ASCII text")
    return Endpoint(f"{parts.scheme}://{parts.netloc}{path}", key)


class Client:
    """Connections to one endpoint: `async with Client(endpoint, 64) as client`."""

    def __init__(self, endpoint: Endpoint, connections: int) -> None:
        self.endpoint = endpoint
        headers = {"Accept-Encoding": "identity", "User-Agent": "spec-console"}
        if endpoint.key:
            headers["Authorization"] = f"Bearer {endpoint.key}"
        self._http = httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(None, connect=CONNECT_S),
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
            verify=_trusted(),
            trust_env=not _is_loopback(endpoint),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def look(self) -> Look:
        """Ask for models and version, and measure the round trip.

        Raises:
            Unreachable: no connection, a certificate that is not trusted, a key that is refused.
            UsageError: the endpoint redirects.
        """
        answers = [await self._get(MODELS) for _ in range(1 + ROUND_TRIPS)]
        models = _first(answers[0].body.get("data"))
        info = (await self._get("/server_info")).body
        version = info.get("version")
        return Look(
            rtt_ms=1000 * min(answer.elapsed_s for answer in answers[1:]),
            model=str(models.get("id") or "")[:500],
            version=version[:100] if isinstance(version, str) else None,
            simulated=models.get("simulated") is True or info.get("simulated") is True,
        )

    async def send(self, path: str, body: bytes, trace: Trace, timeout_s: float) -> None:
        """Send a request and feed `trace` with its stream; what goes wrong in it is the trace's error.

        Raises:
            ConsoleError: the endpoint does not want this at all: a redirect, a refused key, no such path.
        """
        status, error = None, None
        trace.begun(time.time(), time.perf_counter())

        async def follow(event: str, _info: object) -> None:
            if event.endswith("send_request_headers.started"):  # the connection is there: the request begins
                trace.begun(time.time(), time.perf_counter())

        request = self._http.build_request(
            "POST",
            self.endpoint.url + path,
            content=body,
            headers={"Content-Type": "application/json"},
            extensions={"trace": follow},
        )
        try:
            async with asyncio.timeout(timeout_s):
                response = await self._http.send(request, stream=True)
                status = response.status_code
                try:
                    self._check(response, path)
                    async for part in response.aiter_raw():
                        if trace.take(status, part, time.perf_counter()):
                            break
                finally:
                    await response.aclose()
        except StreamError as found:
            error = f"{found.kind}: {found.message}"
        except TimeoutError:
            error = f"timeout: no end within {timeout_s:g} s"
        except httpx.HTTPError as found:
            error = f"connection: {type(found).__name__}: {found}"
        trace.end(status, error, time.perf_counter())

    async def _get(self, path: str) -> _Answer:
        started = time.perf_counter()
        try:
            async with asyncio.timeout(LOOK_S), self._http.stream("GET", self.endpoint.url + path) as response:
                self._check(response, path, may_lack=True)
                body = b""
                async for part in response.aiter_raw():
                    body += part
                    if len(body) > MAX_BODY:
                        break
        except (httpx.HTTPError, TimeoutError) as error:
            raise self._unreachable(error) from None
        return _Answer(time.perf_counter() - started, _json_object(body) if response.status_code == 200 else {})

    def _check(self, response: httpx.Response, path: str, may_lack: bool = False) -> None:
        """Raise what no request to this endpoint will get around."""
        status, where = response.status_code, f"{self.endpoint.url}{path}"
        if response.is_redirect:
            target = plain(response.headers.get("location", "?"))[:300]
            raise UsageError(
                f"{where} redirects to {target}", "It is not followed: the key would go there. Name that URL."
            )
        if status in (401, 403):
            sent = "the key is refused" if self.endpoint.key else "a key is wanted"
            raise Unreachable(
                f"{where}: {sent} (HTTP {status})", "--api-key-env NAME names the variable that holds it."
            )
        if status in (404, 405) and not may_lack:
            raise UsageError(
                f"{where} is not there (HTTP {status})", "Which API is it? --api generate, completions or chat."
            )

    def _unreachable(self, error: Exception) -> ConsoleError:
        told = plain(str(error))[:300] or type(error).__name__
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return Unreachable(
                f"the certificate of {self.endpoint.host} is not trusted: {told}",
                "SSL_CERT_FILE=ca.pem names a CA of your own.",
            )
        return Unreachable(f"{self.endpoint.url} cannot be reached: {told}", "Is it up, and the URL right?")


@dataclass(frozen=True, slots=True)
class _Answer:
    """One answer: seconds to its end, and its JSON object; empty where it is none."""

    elapsed_s: float
    body: dict[str, Any]


def _trusted() -> ssl.SSLContext:
    """The CAs that are trusted: those of the system, or of SSL_CERT_FILE and SSL_CERT_DIR alone."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    return ssl.create_default_context(cafile=file or None, capath=folder or None)


def _is_loopback(endpoint: Endpoint) -> bool:
    """No proxy is asked for what is on this machine."""
    return urlsplit(endpoint.url).hostname in ("127.0.0.1", "::1", "localhost")


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _first(items: object) -> dict[str, Any]:
    return items[0] if isinstance(items, list) and items and isinstance(items[0], dict) else {}
