"""An endpoint on loopback for `probe --url`: streams known to the token, models, a key, a redirect, TLS."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import json
import ssl
import threading
from typing import TYPE_CHECKING, Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.agent.generate_server import Reply, Script, Server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class UrlServer(Server):
    """Answers `/generate` by `script`; every path but those it knows is 404."""

    key = ""
    redirect = ""
    scheme = "http"
    models: tuple[dict[str, Any], ...] = ({"id": "first"}, {"id": "second"})
    posts = ("/generate",)

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.RequestHandlerClass = UrlReply
        self.asked_paths: list[str] = []

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"


class UrlReply(Reply):
    """One answer, after the key was looked at."""

    server: UrlServer

    def do_GET(self) -> None:
        if not self._is_turned_away():
            known = self.path == "/v1/models" and self.server.models
            self.plain(200 if known else 404, json.dumps({"data": self.server.models}).encode() if known else b"{}")

    def do_POST(self) -> None:
        if self._is_turned_away():
            return
        if self.path not in self.server.posts:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.plain(404, b'{"detail": "Not Found"}')
            return
        super().do_POST()

    def _is_turned_away(self) -> bool:
        self.server.asked_paths.append(self.path)
        self.server.headers.append(dict(self.headers))
        if self.server.redirect:
            self.send_response(307)
            self.send_header("Location", self.server.redirect + self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return True
        if self.server.key and self.headers.get("Authorization") != f"Bearer {self.server.key}":
            self.plain(401, b"who are you?")
            return True
        return False


@contextlib.contextmanager
def serve_url(script: Script, certificate: Path | None = None, **settings: Any) -> Iterator[UrlServer]:
    """A running endpoint; `certificate` is a file with certificate and key, for TLS."""
    with UrlServer(script) as server:
        for name, value in settings.items():
            setattr(server, name, value)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            server.scheme = "https"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.release.set()
            server.shutdown()
            thread.join()


def self_signed(path: Path) -> Path:
    """Write a certificate for 127.0.0.1, that nobody trusts yet, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a test's own")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    form = serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + secret)
    return path
