"""Faults provoked on a real server, each on a console of its own: what the console says, and with which exit code."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from tests.device import processes
from tests.device.report import PartFailed
from tests.device.site import DIED, NODE, REFUSED, allow

if TYPE_CHECKING:
    from tests.device.report import Part
    from tests.device.rig import Rig
    from tests.device.site import Site, Verb

PROFILE = "llama-eager"
BESIDE = ("gpus-held",)
"""Other faults are provoked on the same GPUs at the same time."""
END_S = 60.0
SERVING = re.compile(r"[1-9]\d* tokens")
"""A probe's progress: tokens have come."""
POLL_S = 0.5


def run(rig: Rig) -> None:
    rig.at_once(
        "faults",
        [
            ("eagle-flag", eagle_flag),
            ("four-captures", four_captures),
            ("port-in-use", port_in_use),
            ("launcher-killed", launcher_killed),
            ("rank-killed", rank_killed),
        ],
    )


def eagle_flag(rig: Rig, part: Part) -> None:
    """EAGLE instead of EAGLE3: it runs without a warning, and no draft token is ever accepted."""
    with rig.site("eagle-flag") as site:
        wrong = ("--set", "speculative.algorithm=EAGLE")
        rules = refused(site, part, "algorithm-for-eagle3", *wrong)
        done = launch_anyway(site, part, rules, *wrong)
        if not part.expect("allowed: exit code", done.code, 0):
            return
        members = site.members()
        run: dict[str, Any] = site.must(part, "probe", NODE, "--max-new-tokens", "200", timeout_s=300).told["run"]
        length = run["accept_len"] or 0.0
        part.expect("probe: accept_len", round(length, 4), "1.0 to 1.02", ok=1.0 <= length <= 1.02)
        explained(site, part, done.told["server"]["log_path"], "algorithm-for-eagle3", "no-draft-token-accepted")
        stopped(site, part, members)


def four_captures(rig: Rig, part: Part) -> None:
    """A draft whose fc takes three states asks for four."""
    with rig.site("four-captures") as site:
        wrong = ("--set", f"speculative.draft_model_path={rig.kit.pairs / 'llama' / 'four'}")
        rules = refused(site, part, "captures-mismatch", *wrong)
        done = launch_anyway(site, part, rules, *wrong)
        died(site, part, done, "wrong-widths", "captures-mismatch")


def port_in_use(rig: Rig, part: Part) -> None:
    """Another server has the port: it answers the warm-up of the one that could not bind, as SGLang would."""
    with rig.site("port-in-use") as site, ThreadingHTTPServer(("127.0.0.1", site.port), _Answers) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        try:
            rules = refused(site, part, "port-in-use", named=f"pid {os.getpid()} ")
            done = launch_anyway(site, part, rules)
            died(site, part, done, "port-in-use")
        finally:
            other.shutdown()


class _Answers(BaseHTTPRequestHandler):
    """Says 200 to everything, and that it is a model which generates."""

    def do_GET(self) -> None:
        body = json.dumps({"model_path": "/another", "is_generation": True, "data": []}).encode()
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_words: object) -> None:
        pass


def launcher_killed(rig: Rig, part: Part) -> None:
    with rig.site("launcher-killed") as site:
        site.must_launch(part, PROFILE, *allow(BESIDE))
        members = site.members()
        launcher = _launcher(site, part)
        part.expect("SIGKILL to the launcher", processes.send(launcher, signal.SIGKILL), True)
        server = ended(site, part)
        part.expect("status: signal that ended it", server["exit_signal"], signal.SIGKILL)
        site.expect_gone(part, members, "launcher killed")  # its children end some seconds after it
        part.expect("status: processes of it", site.servers(part)[-1].get("children"), [])
        told = site.verb(part, "logs", NODE).told
        part.figure("logs: phase", told.get("phase"))


def rank_killed(rig: Rig, part: Part) -> None:
    """The last rank is killed while it serves a probe."""
    with rig.site("rank-killed") as site:
        server = site.must_launch(part, PROFILE, *allow(BESIDE))
        members = site.members()
        last = f"sglang::scheduler_TP{site.kit.tp_size - 1}"
        victim = next((each for each in members if each.title.startswith(last)), None)
        if victim is None:
            raise PartFailed(f"no process {last} among {[each.title for each in members]}")
        words = ("probe", NODE, "--max-new-tokens", "4000", "--blocks", "1", "--warmup", "0")
        probe = site.start(*words)
        assert probe.stderr
        while not SERVING.search(line := probe.stderr.readline()) and line:
            pass
        part.figure("probe: when the rank was killed", line.strip())
        part.expect("SIGKILL to a rank", processes.send(victim, signal.SIGKILL), True)
        done = site.finish(part, probe, words, END_S + 60)
        part.expect("probe: exit code", done.code, 1)
        part.figure("probe: what it said", done.error or (done.told.get("run") or {}).get("why"))
        record = ended(site, part)
        part.expect("status: processes of it", record.get("children"), [])
        part.figure("status: how it ended", {key: record[key] for key in ("exit_code", "exit_signal")})
        site.expect_gone(part, members, "rank killed")
        explained(site, part, server["log_path"], "rank-lost")


def refused(site: Site, part: Part, rule: str, *words: str, named: str = "") -> list[str]:
    """The console does not launch it, and says why; return the rules to allow."""
    done = site.launch(part, PROFILE, *words, *allow(BESIDE))
    part.expect("refused before it loads: exit code", done.code, REFUSED)
    part.figure("refused: what the console said", {k: done.error.get(k) for k in ("message", "hint")})
    rules = done.refused
    part.expect("refused: rules", rules, f"{rule} among them", ok=rule in rules)
    if named:
        part.expect("refused: who it is, is named", named in done.text, True)
    return rules


def launch_anyway(site: Site, part: Part, rules: list[str], *words: str) -> Verb:
    return site.launch(part, PROFILE, *words, *allow([*rules, *BESIDE]))


def died(site: Site, part: Part, done: Verb, *rules: str) -> None:
    """A launch that died is told with its first cause, under one of these rules."""
    part.expect("died at start: exit code", done.code, DIED)
    part.figure("died: what the console said", {k: done.error.get(k) for k in ("message", "hint")})
    part.expect("died: rules", done.rules, f"first is one of {rules}", ok=bool(done.rules) and done.rules[0] in rules)
    site.expect_gone(part, site.members(), "died")


def explained(site: Site, part: Part, log: str, *rules: str) -> None:
    """`explain` names it."""
    told = site.verb(part, "explain", log).told
    found = [each["rule"] for each in told.get("findings") or []]
    part.expect("explain: rules", found, f"one of {rules}", ok=any(rule in found for rule in rules))
    part.figure("explain: first finding", (told.get("findings") or [None])[0])


def ended(site: Site, part: Part) -> dict[str, Any]:
    """Ask the console until the newest server has ended."""
    started = time.monotonic()
    while (server := site.servers(part)[-1])["state"] not in ("exited", "lost"):
        if time.monotonic() - started > END_S:
            break
        time.sleep(POLL_S)
    part.expect("status: state", server.get("state"), "exited")
    return server


def stopped(site: Site, part: Part, members: list[Any]) -> None:
    """Stop it; the GPUs may be held by the other faults."""
    told = site.must(part, "stop", NODE, "--yes").told
    part.expect("stop: state", told["server"]["state"], "exited")
    site.expect_gone(part, members, "stop")


def _launcher(site: Site, part: Part) -> processes.Process:
    """The launcher by the run record: pid and start, both as /proc has them now."""
    told = site.servers(part)[-1]["child"]
    found = processes.look(told["pid"])
    if found is None or found.start_ticks != told["start_ticks"]:
        raise PartFailed(f"the run record's launcher {told} is not there")
    return found
