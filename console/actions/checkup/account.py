"""The account on the node as a login finds it: shell, noise, home, cache, interpreters, containers. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.actions.checkup.check import Check, shown
from console.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.actions.checkup.facts_script import Facts

OLDEST = (3, 8)
LITTLE = 1 << 30
_MODE = re.compile(r"(?P<kind>[a-z-])(?P<bits>[a-zA-Z-]{9})\S*\s+\d+\s+(?P<uid>\d+)\s")
_SHELLS = ("sh", "bash", "zsh", "dash", "ksh", "ash", "tcsh", "csh", "fish")


def checks(facts: Facts, noise: bytes) -> Iterator[Check]:
    """Everything that the script told; what it did not tell is unknown, and said to be."""
    yield shell(facts)
    yield chatter(noise)
    if not facts.whole:
        yield Check("account", "unknown", "the look at the account broke off: what follows may be incomplete")
    yield home(facts)
    yield cache(facts)
    yield pythons(facts)
    yield containers(facts)


def shell(facts: Facts) -> Check:
    path = facts.get("shell")
    if not path:
        return Check("shell", "unknown", "the node told no $SHELL")
    name = path.rpartition("/")[2]
    values = {"shell": path, "user": facts.get("user"), "hostname": facts.get("host"), "os": facts.get("os")}
    if name in _SHELLS:
        return Check("shell", "ok", f"the login shell is {shown(path)}", values=values)
    return Check("shell", "warn", f"the login shell is {shown(path)}, which is not known here", values=values)


def chatter(noise: bytes) -> Check:
    values = {"bytes": len(noise), "text": shown(noise)}
    if not noise:
        return Check("shell.noise", "ok", "nothing is printed before a command's own output", values=values)
    told = f"{len(noise)} bytes come before a command's own output: {shown(noise)}"
    hint = "Harmless here; scp, rsync and sftp may break. Let rc files print only `if [ -t 1 ]` or `case $- in *i*)`."
    return Check("shell.noise", "warn", told, hint, values)


def home(facts: Facts) -> Check:
    path, said, free = facts.get("home"), facts.get("home-writes"), _free(facts.get("home-df"))
    values = {"path": path, "writable": said == "yes", "free_bytes": free}
    if not said:
        return Check("home", "unknown", "whether the home can be written was not told", values={"path": path})
    if said != "yes":
        hint = "The agent will run read-only. Set `cache_dir` and `state_dir` of the node to a folder of your own."
        return Check("home", "bad", f"{shown(path)} cannot be written: {shown(said)}", hint, values)
    room = f", {format_bytes(free)} free" if free is not None else ""
    if free is not None and free < LITTLE:
        return Check(
            "home", "warn", f"{shown(path)} can be written{room}", "Make room: logs and traces go there.", values
        )
    return Check("home", "ok", f"{shown(path)} can be written{room}", values=values)


def cache(facts: Facts) -> Check:
    path, told, uid = facts.get("cache"), facts.get("cache-ls"), facts.get("uid")
    if not told:
        return Check(
            "cache", "ok", f"{shown(path)} is not there yet; the first connect makes it", values={"path": path}
        )
    found = _MODE.match(told)
    if not found or not uid.isdigit():
        return Check("cache", "unknown", f"`ls -ldn {shown(path)}` said {shown(told)}")
    bits, owner = found["bits"], found["uid"]
    values = {"path": path, "mode": found["kind"] + bits, "uid": int(owner), "agents": facts.get("cache-agents")}
    what = f"{shown(path)} is {found['kind']}{bits} of uid {owner}"
    hint = "Whoever can write there chooses what runs as you. Remove it, or `chmod 700` it if it is your own folder."
    if found["kind"] != "d":
        return Check("cache", "bad", f"{what}: not a folder of its own", hint, values)
    if owner != uid or bits[4] == "w" or bits[7] == "w":
        return Check("cache", "bad", what, hint, values)
    return Check("cache", "ok", f"{what}, {shown(facts.get('cache-agents') or '0')} agents in it", values=values)


def pythons(facts: Facts) -> Check:
    values = {"found": [{"name": p.name, "path": p.path, "version": p.version} for p in facts.pythons]}
    running = ", ".join(f"{shown(p.path)} ({shown(p.version)})" for p in facts.pythons if p.number)
    broken = ", ".join(shown(p.path) for p in facts.pythons if not p.number)
    listed = "; not running: ".join(part for part in (running or "none runs", broken) if part)
    if any(each.number and each.number >= OLDEST for each in facts.pythons):
        return Check("python", "ok", f"the agent takes the first of {listed}", values=values)
    told = f"none is 3.8 or newer: {listed}" if facts.pythons else "no python3 is found on the path of a login"
    return Check("python", "bad", told, "Set `python:` of the node to an interpreter that is 3.8 or newer.", values)


def containers(facts: Facts) -> Check:
    """What speaks for a container, and which ones can be reached from here; no sign is no proof."""
    signs = [*facts.signs, *(["process 1 is " + facts.get("init")] if _odd_init(facts.get("init")) else [])]
    values = {"inside": signs, "programs": list(facts.programs), "sockets": [list(each) for each in facts.sockets]}
    inside = f"signs of being inside one: {shown(', '.join(signs))}" if signs else "no sign of being inside one"
    around = f"; programs: {shown(', '.join(facts.programs))}" if facts.programs else "; no program for them"
    closed = [path for path, writable in facts.sockets if not writable]
    also = f"; not ours to use: {shown(', '.join(closed))}" if closed else ""
    hint = ""
    if signs:
        hint = "GPU holders outside this container are shown as ghosts; to act inside another one, set `exec_prefix`."
    return Check("containers", "ok", f"{inside}{around}{also}", hint, values)


def _odd_init(comm: str) -> bool:
    return bool(comm) and comm not in ("systemd", "init", "launchd", "runit", "s6-svscan", "openrc-init")


def _free(row: str) -> int | None:
    """Bytes that are available, of a line of `df -Pk` (POSIX: device, blocks, used, available, …)."""
    words = row.split()
    return int(words[3]) * 1024 if len(words) >= 6 and words[3].isdecimal() and len(words[3]) < 16 else None
