"""A console of its own for the node `local`: its home, profiles and port; verbs are run as a user runs them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console import yaml_file
from tests.device import processes
from tests.device.profiles import profiles
from tests.device.report import OutOfTime, PartFailed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.device.kits import Kit
    from tests.device.processes import Process
    from tests.device.report import Part, Report
    from tests.device.rig import Clock

NODE = "local"
ROOT = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-c", "from console.cli import main; main()")
VERB_S = 120.0
GONE_S = 30.0
REFUSED, DIED = 5, 6
ALLOWED = re.compile(r"--allow ([a-z0-9-]+)")


def allow(rules: Iterable[str]) -> list[str]:
    """Return the words that allow these rules."""
    return [word for rule in dict.fromkeys(rules) for word in ("--allow", rule)]


@dataclass(frozen=True, slots=True)
class Verb:
    """What a verb did."""

    words: tuple[str, ...]
    code: int
    told: dict[str, Any]
    narration: str

    @property
    def error(self) -> dict[str, Any]:
        return self.told.get("error") or {}

    @property
    def text(self) -> str:
        """Everything that an error told: message, hint, detail, findings."""
        return json.dumps(self.error)

    @property
    def refused(self) -> list[str]:
        """Rules that stopped a launch, by the hint that says how to allow them."""
        return ALLOWED.findall(str(self.error.get("hint", "")))

    @property
    def rules(self) -> list[str]:
        """Rules of the findings that came with an error, the first cause first."""
        return [finding["rule"] for finding in self.error.get("findings") or []]


@dataclass
class Site:
    """A console's home. With `shared` its agent locks and keeps its state where a user's does."""

    name: str
    home: Path
    port: int
    kit: Kit
    clock: Clock
    report: Report
    shared: bool = False
    sessions: list[int] = field(default_factory=list)
    """Sessions of the servers that were launched: each supervisor's pid."""

    def prepare(self) -> Site:
        for folder in (*(self.home / name for name in ("config/profiles", "logs", "locks")), self.user_home):
            folder.mkdir(parents=True, exist_ok=True)
        for name, profile in profiles(self.kit, self.home, self.port).items():
            (self.home / "config" / "profiles" / f"{name}.yaml").write_text(yaml_file.dump({"name": name, **profile}))
        node: dict[str, Any] = {"python": [str(self.kit.python)], "env": self.kit.env, **self.kit.node}
        if not self.shared:
            node |= {"state_dir": str(self.state), "lock_dir": str(self.home / "locks")}
        (self.home / "config" / "nodes.yaml").write_text(yaml_file.dump({NODE: node}))
        return self

    @property
    def state(self) -> Path:
        """The agent's state directory; of a shared site the folder above it, by machine id."""
        return self.user_home / ".local" / "state" / "spec-console" if self.shared else self.home / "state-of-agent"

    @property
    def user_home(self) -> Path:
        """One for all sites: the kernels that are compiled at a first launch are kept under it."""
        return self.home.parent / "user"

    def environ(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")}
        path = os.pathsep.join(part for part in (str(ROOT), kept.get("PYTHONPATH", "")) if part)
        own = {"HOME": str(self.user_home), "SPEC_CONSOLE_HOME": str(self.home), "PYTHONPATH": path}
        return {**kept, **own}

    def verb(self, part: Part, *words: str, timeout_s: float = VERB_S) -> Verb:
        """Run a verb with --json. Raises OutOfTime when it, or the run, has no time left."""
        started = time.monotonic()
        limit = self.clock.at_most(timeout_s)
        process = self.start(*words)
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self._keep(part, words, None, out, err, started)
            raise OutOfTime(f"{' '.join(words)} was not done within {limit:.0f} s: {err[-400:]}") from None
        return self._keep(part, words, process.returncode, out, err, started)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start a verb; `finish` reads it."""
        return subprocess.Popen(
            [*PROGRAM, *words, "--json"],
            env=self.environ(),
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, part: Part, process: subprocess.Popen[str], words: tuple[str, ...], timeout_s: float) -> Verb:
        started = time.monotonic()
        try:
            out, err = process.communicate(timeout=self.clock.at_most(timeout_s))
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self._keep(part, words, None, out, err, started)
            raise OutOfTime(f"{' '.join(words)} did not end: {err[-400:]}") from None
        return self._keep(part, words, process.returncode, out, err, started)

    def _keep(self, part: Part, words: tuple[str, ...], code: int | None, out: str, err: str, started: float) -> Verb:
        try:
            told = json.loads(out) if out.strip() else {}
        except ValueError:
            told = {"unreadable": out[-2000:]}
        took_s = round(time.monotonic() - started, 2)
        self.report.verb(
            part=part.name, site=self.name, words=words, code=code, took_s=took_s, stdout=told, stderr=err[-6000:]
        )
        return Verb(words, -1 if code is None else code, told, err)

    def must(self, part: Part, *words: str, code: int = 0, timeout_s: float = VERB_S) -> Verb:
        """Run a verb that the rest of the part rests on. Raises PartFailed when it exits otherwise."""
        done = self.verb(part, *words, timeout_s=timeout_s)
        if not part.expect(f"{' '.join(words[:2])}: exit code", done.code, code):
            raise PartFailed(f"{' '.join(words)}: {done.text if done.error else done.narration[-600:]}")
        return done

    def launch(self, part: Part, profile: str, *words: str) -> Verb:
        """Launch a profile and note its session, whatever becomes of it."""
        started = time.monotonic()
        try:
            done = self.verb(part, "launch", NODE, profile, "--yes", *words, timeout_s=self.kit.launch_s)
        finally:
            self.note_sessions()
        if done.code == 0:
            took = {"ready_s": done.told["server"]["ready_s"], "verb_s": round(time.monotonic() - started, 1)}
            part.figure(f"launch {self.name} {profile}", took)
        return done

    def must_launch(self, part: Part, profile: str, *words: str) -> dict[str, Any]:
        """Launch what the part rests on: what was refused is allowed, what died is tried once more; both are told."""
        done = self.launch(part, profile, *words)
        if done.code == REFUSED:
            part.expect(f"launch {profile}: not refused", done.error, {})
            done = self.launch(part, profile, *words, *allow(done.refused))
        if done.code == DIED:
            part.figure(f"launch {profile}: died, tried once more", done.error)
            done = self.launch(part, profile, *words, *allow(done.refused))
        if not part.expect(f"launch {profile}: exit code", done.code, 0):
            raise PartFailed(f"launch {profile}: {done.text if done.error else done.narration[-600:]}")
        return dict(done.told["server"])

    def servers(self, part: Part) -> list[dict[str, Any]]:
        """Every run record of this site, oldest first, as `status` tells it."""
        return list(self.verb(part, "status", NODE).told.get("servers") or [])

    def note_sessions(self) -> None:
        """Take the sessions of all launches from their run directories, which need no agent to be read."""
        pattern = "*/runs/*/process.json" if self.shared else "runs/*/process.json"
        for path in self.state.glob(pattern):
            try:
                told = json.loads(path.read_text())
                supervisor, child = told["supervisor"], told["child"]
            except (OSError, ValueError, KeyError):
                continue
            leader = processes.look(supervisor["pid"])
            launcher = processes.look(child["pid"])
            alive = (leader, supervisor), (launcher, child)
            if any(found and found.start_ticks == who["start_ticks"] for found, who in alive):
                if supervisor["pid"] not in self.sessions:
                    self.sessions.append(supervisor["pid"])

    def members(self) -> list[Process]:
        """Living processes of all servers that this site launched."""
        return [member for sid in self.sessions for member in processes.session(sid)]

    def expect_gone(self, part: Part, members: list[Process], what: str) -> None:
        took_s, left = processes.wait_gone(members, GONE_S)
        part.expect(f"{what}: processes left of {len(members)}", [f"{p.pid} {p.title}" for p in left], [])
        part.figure(f"{what}: all gone after s", took_s)

    def tree(self) -> dict[str, str]:
        """SHA-256 of every file of the installed SGLang and its metadata, compiled ones left out."""
        return {
            str(path.relative_to(self.kit.packages)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in self.kit.packages.glob("sglang*/**/*")
            if path.is_file() and "__pycache__" not in path.parts
        }
