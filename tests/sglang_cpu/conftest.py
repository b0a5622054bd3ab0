"""One node for all tests here: a real sshd on loopback, a real SGLang on the CPU behind it, the stub nvidia-smi."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from console import yaml_file
from console.demo.setup import prepare as prepare_demo
from tests.e2e import sshd as sshd_module
from tests.sglang_cpu import environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.sshd import Sshd
    from tests.sglang_cpu.environment import CpuSGLang

NODE = "gpu-node-1"
PROFILES = Path(__file__).parent / "profiles"
VERB_TIMEOUT_S = 800.0


@dataclass(slots=True)
class Site:
    """A console's home, and the node that it knows as gpu-node-1."""

    home: Path
    sshd: Sshd
    cpu: CpuSGLang

    def environ(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "SSH_AUTH"))}
        return {**kept, **self.sshd.environ(), "SPEC_CONSOLE_HOME": str(self.home)}

    def run(self, *words: str, timeout_s: float = VERB_TIMEOUT_S) -> tuple[int, dict[str, Any], str]:
        """Run a verb with --json; its exit code, its object (empty when there is none), its narration."""
        done = subprocess.run(
            [sys.executable, "-c", "from console.cli import main; main()", *words, "--json"],
            env=self.environ(),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        return done.returncode, json.loads(done.stdout) if done.stdout.strip() else {}, done.stderr

    def leave(self) -> None:
        """Stop this console's servers, and take its patches back."""
        self.run("free", NODE, "--yes")
        self.run("patch", "revert", NODE, "--yes")

    def tree(self) -> dict[str, str]:
        """SHA-256 of every file of the installed SGLang and its metadata, compiled ones left out."""
        packages = self.cpu.root.parent
        return {
            str(path.relative_to(packages)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in packages.glob("sglang*/**/*")
            if path.is_file() and "__pycache__" not in path.parts
        }


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    if sshd_module.SSHD is None:
        pytest.skip("no sshd on this machine (Debian: apt-get install openssh-server)")
    try:
        cpu = environment.prepare()
    except environment.Unavailable as reason:
        pytest.skip(f"no SGLang on this CPU: {reason}")
    folder = tmp_path_factory.mktemp("site")
    server = sshd_module.start(folder / "sshd")
    made = make_site(folder / "console", server, cpu)
    yield made
    made.leave()
    server.stop()


@pytest.fixture(scope="session")
def site_v1(site: Site) -> Iterator[Site]:
    """The same machine for another console, whose node has SGLang 0.5.12.post1."""
    try:
        cpu = environment.prepare_v1()
    except environment.Unavailable as reason:
        pytest.skip(f"no SGLang 0.5.12.post1 on this CPU: {reason}")
    made = make_site(site.home.with_name("console-v1"), site.sshd, cpu)
    yield made
    made.leave()


def make_site(home: Path, server: Sshd, cpu: CpuSGLang) -> Site:
    (home / "config" / "profiles").mkdir(parents=True)
    (home / "logs").mkdir()
    for profile in PROFILES.glob("*.yaml"):
        (home / "config" / "profiles" / profile.name).write_bytes(profile.read_bytes())
    demo = prepare_demo(home / "gpus")
    node = {
        "python": [str(cpu.python)],
        "variables": {"models": str(cpu.pair), "logs": str(home / "logs")},
        "env": {**cpu.env(), "SPEC_CONSOLE_DEMO": str(demo.home)},
        "gpu_source": "smi",
        "nvidia_smi": str(demo.nvidia_smi),
    }
    (home / "config" / "nodes.yaml").write_text(yaml_file.dump({NODE: node}))
    return Site(home, server, cpu)
