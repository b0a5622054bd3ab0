"""Answers what `ssh` asks through SSH_ASKPASS, for itself and for the jump hosts behind it.

ssh(1): with SSH_ASKPASS_REQUIRE=force every question goes to that program. Ours hands it over a socket in our private
folder to this process, which asks the person; nothing is written down. Before OpenSSH 8.4 DISPLAY decides instead.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import sys
import uuid
from typing import TYPE_CHECKING

from console.remote.prompts import Question

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from console.remote.prompts import Questions

MAX_QUESTION = 8192
_SURE = "Are you sure you want to continue connecting"
_PASSPHRASE = re.compile(r"Enter passphrase for (?:key )?'?([^']{1,300}?)'?: ?$")
_PASSWORD = re.compile(r"^\S+'s password: ?$")
_SOCKET = "SPEC_CONSOLE_ASKPASS"
_PROGRAM = f"""
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["{_SOCKET}"])
s.sendall(os.fsencode(os.environ.get("SSH_ASKPASS_PROMPT", "") + "\\n" + sys.argv[1])[:{MAX_QUESTION}])
s.shutdown(socket.SHUT_WR)
told = b""
while part := s.recv(4096):
    told += part
if told[:1] != b"y":
    sys.exit(1)
sys.stdout.buffer.write(told[1:] + b"\\n")
"""


class Askpass:
    """Once entered, `env` makes an ssh ask here. A host key is no question: it is accepted or refused by rule."""

    def __init__(self, folder: Path, questions: Questions, asker: str, *, accept_new_host_key: bool) -> None:
        name = f"ask-{uuid.uuid4().hex[:12]}"
        self._socket, self._script = folder / name, folder / f"{name}.sh"
        self._questions, self._asker = questions, asker
        self._accept_new = accept_new_host_key
        self._server: asyncio.Server | None = None
        self.refused: list[str] = []
        """What was said of unknown keys of jump hosts, where that was the end of it."""

    @property
    def env(self) -> dict[str, str]:
        return {
            "SSH_ASKPASS": str(self._script),
            "SSH_ASKPASS_REQUIRE": "force",
            "DISPLAY": os.environ.get("DISPLAY") or ":none",
            _SOCKET: str(self._socket),
        }

    async def __aenter__(self) -> Askpass:
        script = f'#!/bin/sh\nexec {shlex.join([sys.executable, "-I", "-S", "-c", _PROGRAM])} "$1"\n'
        self._script.write_text(script, encoding="utf-8")
        self._script.chmod(0o700)
        self._server = await asyncio.start_unix_server(self._serve, self._socket)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server
        self._server.close()
        for path in (self._socket, self._script):
            path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            kind, _, text = (await reader.read(-1))[:MAX_QUESTION].decode("utf-8", "replace").partition("\n")
            answer = await self._answer(kind, text)
            writer.write(b"n" if answer is None else b"y" + answer.encode())
            await writer.drain()
        writer.close()

    async def _answer(self, kind: str, text: str) -> str | None:
        if _SURE in text:
            self.refused += [] if self._accept_new else [text]
            return "yes" if self._accept_new else "no"
        return await self._questions.put(
            Question(text, answered=kind != "none", what=_what(text), asker=f"ssh, on the way to {self._asker}")
        )


def _what(text: str) -> str:
    """What ssh asks for, by its own words; any other text comes from a server."""
    if found := _PASSPHRASE.match(text):
        return f"the passphrase of {found[1]}"
    return "a password" if _PASSWORD.search(text) else "an answer"
