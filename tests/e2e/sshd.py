"""A real OpenSSH server on loopback, with its own keys. Skipped, and said, where there is none."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
START_S = 10.0


@dataclass(slots=True)
class Sshd:
    """A running server, and the home of a user whose ssh_config knows it as `gpu-node-1`."""

    home: Path
    port: int
    folder: Path
    process: subprocess.Popen[bytes]
    runtime: Path
    """The user's XDG_RUNTIME_DIR: its path is short, as of a real one."""

    @property
    def ssh(self) -> Path:
        return self.home / ".ssh"

    def environ(self) -> dict[str, str]:
        """For a console whose user this is: OpenSSH's own client reads the account's home, whatever HOME says."""
        path = f"{self.folder / 'client'}:{os.environ['PATH']}"
        return {"HOME": str(self.home), "PATH": path, "XDG_RUNTIME_DIR": str(self.runtime)}

    def configure(self, *lines: str) -> None:
        """Add to the user's ssh_config, before what stands there: the first value counts."""
        path = self.ssh / "config"
        path.write_text("\n".join(lines) + "\n" + path.read_text())

    def connections(self) -> list[int]:
        """Pids of the per-connection children of this server."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text().split()] if path.exists() else []

    def cut(self) -> int:
        """Kill every connection of this server, as a broken network would; returns how many."""
        cut = 0
        for pid in self.connections():
            with contextlib.suppress(ProcessLookupError):  # it ended by itself in between
                os.kill(pid, signal.SIGKILL)
                cut += 1
        return cut

    def stop(self) -> None:
        self.cut()
        self.process.terminate()
        self.process.wait(10)
        shutil.rmtree(self.runtime, ignore_errors=True)


def start(
    folder: Path,
    *,
    name: str = "gpu-node-1",
    trusted: bool = True,
    options: tuple[str, ...] = (),
    authority: Path | None = None,
    address: str = "127.0.0.1",
    prefix: tuple[str, ...] = (),
) -> Sshd:
    """Start it on a free port of `address` with fresh host and user keys; the host key certified by `authority`.

    `prefix` is what its command runs under, such as another network namespace.
    """
    assert SSHD
    home = folder / "home"
    (home / ".ssh").mkdir(mode=0o700, parents=True)
    for path in (folder / "host_key", home / ".ssh" / "id_ed25519"):
        keygen("-t", "ed25519", "-N", "", "-f", str(path))
    if authority:
        keygen("-s", str(authority), "-I", "node", "-h", "-n", "127.0.0.1", str(folder / "host_key"))
        options = (*options, f"HostCertificate {folder / 'host_key-cert.pub'}")
    write_program(folder / "client", home)
    authorized = folder / "authorized_keys"
    shutil.copy(home / ".ssh" / "id_ed25519.pub", authorized)
    authorized.chmod(0o600)
    port = free_port()
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    config = folder / "sshd_config"
    config.write_text(_sshd_config(folder, (address, port), home, options))
    with (folder / "sshd.log").open("wb") as log:
        process = subprocess.Popen([*prefix, SSHD, "-D", "-e", "-f", str(config)], stderr=log)
    write_client(home, name, port, (folder / "host_key.pub").read_text() if trusted else None, address)
    _wait_for((address, port), process, folder / "sshd.log")
    return Sshd(home, port, folder, process, Path(tempfile.mkdtemp(prefix="sc-")))


def keygen(*words: str) -> None:
    subprocess.run(["ssh-keygen", "-q", *words], check=True)


def write_program(folder: Path, home: Path) -> None:
    """An `ssh` that reads the configuration in `home`."""
    folder.mkdir()
    program = folder / "ssh"
    program.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {home}/.ssh/config "$@"\n')
    program.chmod(0o755)


def _sshd_config(folder: Path, place: tuple[str, int], home: Path, options: tuple[str, ...]) -> str:
    lines = [
        f"Port {place[1]}",
        f"ListenAddress {place[0]}",
        f"HostKey {folder / 'host_key'}",
        f"AuthorizedKeysFile {folder / 'authorized_keys'}",
        f"PidFile {folder / 'sshd.pid'}",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "PermitRootLogin yes",
        "StrictModes no",
        "UsePAM no",
        "MaxStartups 100",
        f"SetEnv HOME={home} PATH={os.environ['PATH']}",
        *options,
    ]
    return "\n".join(lines) + "\n"


def write_client(home: Path, name: str, port: int, host_key: str | None, address: str = "127.0.0.1") -> None:
    ssh = home / ".ssh"
    lines = [
        f"Host {name}",
        f"  HostName {address}",
        f"  Port {port}",
        f"  User {getpass.getuser()}",
        f"  IdentityFile {ssh / 'id_ed25519'}",
        "  IdentitiesOnly yes",
        f"  UserKnownHostsFile {ssh / 'known_hosts'}",
    ]
    (ssh / "config").write_text("\n".join(lines) + "\n")
    known = f"[{address}]:{port} {host_key}" if host_key else ""
    (ssh / "known_hosts").write_text(known)


def _wait_for(place: tuple[str, int], process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with socket.create_connection(place, timeout=1) as probe:
                if probe.recv(4) == b"SSH-":
                    return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"sshd did not start: {log.read_text()}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
