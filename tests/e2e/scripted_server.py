"""An SSH server of another make (paramiko's) that runs commands for real and fails where it is told to."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import paramiko

from remote_agent.protocol import MAGIC
from tests.e2e import sshd

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PART = 4096


@dataclass(frozen=True, slots=True)
class Script:
    """What goes wrong, and how one logs in."""

    before: bytes = b""
    """Printed before the output of every command."""
    hello: str = "whole"
    """whole; half, and the connection is cut; never, and nothing follows."""
    after: str = "whole"
    """The same of the first message after the hello."""
    exec: str = "run"
    """run; refuse; close, without a status; hang up."""
    sessions: bool = True
    cut_at_start: bool = False
    """Hang up on whoever connects, before a word of SSH."""
    password: str = ""
    codes: tuple[str, ...] = ()
    """Keyboard-interactive: what is wanted as answers to "Password: " and "Code: "."""


class ScriptedServer:
    """Listens on loopback until `stop`; its user's home knows it as gpu-node-1."""

    def __init__(self, folder: Path, script: Script) -> None:
        self.script = script
        self.refused: list[str] = []
        """Requests of other kinds than a command, all refused: subsystem, forward."""
        self.home = folder / "home"
        self.folder = folder
        self.runtime = Path(tempfile.mkdtemp(prefix="sc-"))
        self.key = paramiko.ECDSAKey.generate()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self._transports: list[paramiko.Transport] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        (self.home / ".ssh").mkdir(parents=True, mode=0o700)
        sshd.keygen("-t", "ed25519", "-N", "", "-f", str(self.home / ".ssh" / "id_ed25519"))
        sshd.write_program(folder / "client", self.home)
        sshd.write_client(self.home, "gpu-node-1", self.port, f"{self.key.get_name()} {self.key.get_base64()}\n")
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    environ = sshd.Sshd.environ

    def cut(self) -> None:
        for transport in self._transports:
            transport.close()

    def stop(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(10)
        self.cut()
        for process in self._processes:
            process.kill()
            process.wait(10)
            for stream in (process.stdin, process.stdout, process.stderr):
                with contextlib.suppress(OSError):
                    stream.close()  # type: ignore[union-attr]
        shutil.rmtree(self.runtime, ignore_errors=True)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            if self.script.cut_at_start:
                connection.close()
                continue
            transport = paramiko.Transport(connection)
            transport.add_server_key(self.key)
            self._transports.append(transport)
            with contextlib.suppress(paramiko.SSHException, EOFError):
                transport.start_server(event=threading.Event(), server=_Interface(self))

    def run(self, channel: paramiko.Channel, command: str) -> None:
        """Run a command, its streams pumped by threads of their own."""
        pipe = subprocess.PIPE
        process = subprocess.Popen(["sh", "-c", command], stdin=pipe, stdout=pipe, stderr=pipe)
        self._processes.append(process)
        output = _Output(self.script, channel)
        pumps = [
            threading.Thread(target=_pump, args=(process.stdout, output.send), daemon=True),
            threading.Thread(target=_pump, args=(process.stderr, channel.sendall_stderr), daemon=True),
        ]
        threading.Thread(target=_feed, args=(channel, process), daemon=True).start()
        for pump in pumps:
            pump.start()

        def end() -> None:
            for pump in pumps:
                pump.join()
            status = process.wait()
            with contextlib.suppress(OSError, EOFError):
                if not output.stalled:
                    channel.send_exit_status(status if status >= 0 else 128 - status)
                    channel.close()

        threading.Thread(target=end, daemon=True).start()


class _Interface(paramiko.ServerInterface):
    """Lets in whoever has what the script wants; runs commands and nothing else."""

    def __init__(self, server: ScriptedServer) -> None:
        self._server = server
        self._script = server.script

    def get_allowed_auths(self, username: str) -> str:
        if self._script.codes:
            return "keyboard-interactive"
        return "password" if self._script.password else "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        wanted = self._script.password or self._script.codes
        return paramiko.AUTH_FAILED if wanted else paramiko.AUTH_SUCCESSFUL

    def check_auth_password(self, username: str, password: str) -> int:
        return paramiko.AUTH_SUCCESSFUL if password == self._script.password != "" else paramiko.AUTH_FAILED

    def check_auth_interactive(self, username: str, submethods: str) -> int | paramiko.InteractiveQuery:
        if not self._script.codes:
            return paramiko.AUTH_FAILED
        return paramiko.InteractiveQuery("", "Two of them:", ("Password: ", False), ("Code: ", True))

    def check_auth_interactive_response(self, responses: Sequence[str]) -> int:
        return paramiko.AUTH_SUCCESSFUL if tuple(responses) == self._script.codes else paramiko.AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:
        if kind == "session" and self._script.sessions:
            return paramiko.OPEN_SUCCEEDED
        self._server.refused.append(kind)
        return paramiko.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED

    def check_channel_subsystem_request(self, channel: paramiko.Channel, name: str) -> bool:
        self._server.refused.append(name)
        return False

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        if self._script.exec == "refuse":
            return False
        act = self._server.run if self._script.exec == "run" else self._leave
        threading.Thread(target=act, args=(channel, command.decode()), daemon=True).start()
        return True

    def _leave(self, channel: paramiko.Channel, _command: str) -> None:
        with contextlib.suppress(OSError, EOFError):
            (channel if self._script.exec == "close" else channel.get_transport()).close()


class _Output:
    """The output of one command, as far as the script lets it through."""

    def __init__(self, script: Script, channel: paramiko.Channel) -> None:
        self._script = script
        self._channel = channel
        self._begun = self._greeted = False
        self.stalled = False

    def send(self, data: bytes) -> None:
        if not self._begun:
            self._begun = True
            self._channel.sendall(self._script.before)
        if self.stalled:
            return
        if self._greeted:
            self._send(data, self._script.after)
        elif MAGIC.encode() in data and b"hello" in data:
            self._greeted = True
            self._send(data, self._script.hello)
        else:
            self._channel.sendall(data)

    def _send(self, data: bytes, how: str) -> None:
        if how == "whole":
            self._channel.sendall(data)
            return
        self.stalled = True
        if how == "half":
            self._channel.sendall(data[: len(data) // 2])
            self._channel.get_transport().close()


def _pump(stream, send: Callable[[bytes], None]) -> None:
    with contextlib.suppress(OSError, EOFError, ValueError):
        while data := stream.read1(PART):
            send(data)


def _feed(channel: paramiko.Channel, process: subprocess.Popen[bytes]) -> None:
    assert process.stdin
    with contextlib.suppress(OSError, EOFError, ValueError):
        while data := channel.recv(PART):
            process.stdin.write(data)
            process.stdin.flush()
    with contextlib.suppress(OSError):
        process.stdin.close()
