"""Freeing under faults, over real processes: each ends in the right verdict, and nothing outside the plan dies.

The stub nvidia-smi of the embedded node gives GPU memory to processes by title; bystanders with the same title in
another session prove that nobody is ended by name.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
import zipfile
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.actions import footprint, free_gpus, status
from console.actions.node import Node, silent
from console.config import NodeConfig
from console.demo.setup import prepare
from console.errors import NodeLost
from console.launch.library import Library
from console.node.free_plan import FreeRequest
from console.remote import bundle
from console.remote.agent import Agent
from console.remote.connect import make_session
from console.store.journal import Journal
from remote_agent import processes
from remote_agent.protocol import Identity, LaunchRequest
from tests.cli import free_port
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

pytestmark = pytest.mark.timeout(120)

OPERATOR = "tester@here"

LAUNCHER = """
import os, signal, subprocess, sys, time
ranks = []
for i in range({ranks}):
    env = dict(os.environ, SPEC_CONSOLE_DEMO_GPU=str(i), SPEC_CONSOLE_DEMO_MIB="70000", PYTHONHOME=sys.base_prefix)
    rank = subprocess.Popen([f"sglang::scheduler_TP{{i}}"], executable=sys.executable, stdin=subprocess.PIPE, env=env)
    rank.stdin.write({rank!r}.encode()); rank.stdin.close()
    ranks.append(rank)
print("up", flush=True)
{launcher}
while True: time.sleep(60)
"""
PLAIN_RANK = "import time\nwhile True: time.sleep(60)"
DEAF_RANK = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(60)"
DRAIN = (
    "def end(*a):\n    [r.terminate() for r in ranks]\n    [r.wait() for r in ranks]\n    sys.exit(0)\n"
    "signal.signal(signal.SIGTERM, end)"
)
LEAVE = "signal.signal(signal.SIGTERM, lambda *a: os._exit(0))"
DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
FORK = (
    "def end(*a):\n    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n    os._exit(0)\n"
    "signal.signal(signal.SIGTERM, end)"
)
LATE = (
    "def end(*a):\n    time.sleep(2)\n    [r.kill() for r in ranks]\n    sys.exit(0)\n"
    "signal.signal(signal.SIGTERM, end)"
)


SLOW_SMI = """#!{python}
import os, subprocess, sys, time
real = lambda *words: subprocess.run(["{smi}", *words], capture_output=True, text=True).stdout
out = real(*sys.argv[1:])
mark = sys.argv[0] + ".gone"
if real("--query-compute-apps=pid", "--format=csv,noheader,nounits").split():
    open(sys.argv[0] + ".seen", "w").close()
elif os.path.exists(sys.argv[0] + ".seen"):
    if not os.path.exists(mark):
        open(mark, "w").write(str(time.time()))
    if time.time() - float(open(mark).read() or 0) < {seconds} and "memory.used" in sys.argv[1]:
        place = sys.argv[1].split("=")[1].split(",").index("memory.used")
        rows = [line.split(", ") for line in out.splitlines()]
        rows[0][place] = "5000"
        out = "".join(", ".join(row) + "\\n" for row in rows)
sys.stdout.write(out)
"""


class World:
    """One node with a stub GPU, and servers whose behaviour the test chooses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.demo = prepare(folder / "demo")
        self.config = NodeConfig(
            transport="local",
            python=(sys.executable,),
            env=self.demo.env,
            gpu_source="smi",
            nvidia_smi=str(self.demo.nvidia_smi),
            state_dir=str(self.demo.state_dir),
            cache_dir=str(folder / "cache"),
            lock_dir=str(folder),
            simulated=True,
        )

    @asynccontextmanager
    async def connect(self, operator: str = OPERATOR, *, reconnect: bool = False) -> AsyncIterator[Node]:
        session = make_session("demo", self.config, readonly=False, accept_new_host_key=False, reconnect=reconnect)
        node = Node("demo", self.config, Agent(session, operator), Library(()), Journal(self.folder / "runs.sqlite3"))
        await session.open()
        try:
            yield node
        finally:
            await session.close()
            node.journal.close()

    async def launch(
        self, node: Node, launcher: str = DRAIN, rank: str = PLAIN_RANK, ranks: int = 2, port: int | None = None
    ):
        log = self.folder / f"server-{time.monotonic_ns()}.log"
        code = LAUNCHER.format(ranks=ranks, rank=rank, launcher=launcher)
        request = LaunchRequest(
            [sys.executable, "-c", code], self.demo.env, str(log), port or free_port(), node.operator
        )
        run = await node.agent.launch(request)
        await until(lambda: "up" in log.read_text())
        await until(lambda: len(self.holders()) >= ranks)
        return run

    def real(self) -> World:
        """The same node, taken for a real one: the whole machine's processes and /dev/shm are looked at."""
        self.config = self.config.model_copy(update={"simulated": False})
        return self

    def slow_driver(self, seconds: float) -> None:
        """From the moment that no process is left, GPU 0 still reads 5,000 MiB for so long."""
        script = self.folder / "slow-nvidia-smi"
        script.write_text(SLOW_SMI.format(python=sys.executable, smi=self.demo.nvidia_smi, seconds=seconds))
        script.chmod(0o755)
        self.config = self.config.model_copy(update={"nvidia_smi": str(script)})

    def holders(self) -> list[str]:
        query = [str(self.demo.nvidia_smi), "--query-compute-apps=pid", "--format=csv,noheader,nounits"]
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    for path in Path(made.demo.state_dir).glob("runs/*/process.json"):  # what a failed test left running
        told = json.loads(path.read_text())["supervisor"]
        for pid in processes.session_members(told["pid"], told["start_ticks"], processes.stats()):
            who = processes.identity(pid)
            if who:
                processes.send_signal(who, signal.SIGKILL)


@pytest.fixture
def bystander(world: World) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Processes with the same title in sessions of their own: none of them may die."""
    started: list[subprocess.Popen[bytes]] = []

    def start(gpu: int = 7, code: str = PLAIN_RANK) -> subprocess.Popen[bytes]:
        env = {**os.environ, **world.demo.env, "SPEC_CONSOLE_DEMO_GPU": str(gpu), "PYTHONHOME": sys.base_prefix}
        process = subprocess.Popen(
            ["sglang::scheduler_TP0"], executable=sys.executable, stdin=subprocess.PIPE, env=env, start_new_session=True
        )
        assert process.stdin
        process.stdin.write(code.encode())
        process.stdin.close()
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


async def freed(node: Node, **chosen: object) -> free_gpus.FreeOutcome:
    request = FreeRequest(**{"grace_s": 1.0, "verify_timeout_s": 15.0, **chosen})  # type: ignore[arg-type]
    return await free_gpus.run(node, await free_gpus.plan(node, request), silent)


@pytest.mark.parametrize(
    ("launcher", "rank"),
    [
        pytest.param(DRAIN, PLAIN_RANK, id="drains"),
        pytest.param(DEAF, PLAIN_RANK, id="ignores TERM", marks=pytest.mark.slow),
        pytest.param(LEAVE, PLAIN_RANK, id="leaves orphans", marks=pytest.mark.slow),
        pytest.param(LEAVE, DEAF_RANK, id="leaves deaf orphans"),
        pytest.param(FORK, PLAIN_RANK, id="forks after TERM", marks=pytest.mark.slow),
        pytest.param(LATE, DEAF_RANK, id="releases late", marks=pytest.mark.slow),
    ],
)
async def test_ours_end_whatever_they_do_and_bystanders_live(world, bystander, launcher, rank):
    other = bystander(gpu=7)
    async with world.connect() as node:
        run = await world.launch(node, launcher, rank)
        outcome = await freed(node, gpus=(0, 1))
        assert outcome.ok, outcome.proof
        assert {gpu.state for gpu in outcome.gpus} == {"free"}
        (after,) = [each for each in await node.agent.servers() if each.run_id == run.run_id]
        assert after.children == [], "stragglers of its session are gone too"
    assert other.poll() is None


async def test_a_launcher_that_was_sigkilled_leaves_orphans_that_are_still_ours(world, bystander):
    other = bystander(gpu=7)
    async with world.connect() as node:
        run = await world.launch(node)
        assert run.child
        os.kill(run.child.pid, signal.SIGKILL)
        record = Path(node.config.state_dir or "") / "runs" / run.run_id / "exit.json"
        await until(record.exists)  # the supervisor reaps its child a moment later
        (orphaned,) = await node.agent.servers()
        assert orphaned.state == "exited"
        assert orphaned.exit_signal == signal.SIGKILL
        assert len(orphaned.children) == 2, "ranks under PID 1 are found by their session"
        outcome = await freed(node, gpus=(0, 1))
        assert outcome.ok, outcome.proof
    assert other.poll() is None


@pytest.mark.slow
async def test_a_stopped_process_is_killed(world):
    async with world.connect() as node:
        run = await world.launch(node)
        for each in run.children:
            os.kill(each.identity.pid, signal.SIGSTOP)
        outcome = await freed(node)
        assert outcome.ok, outcome.proof
        assert "killed" in {each.outcome for each in outcome.terminated}


async def test_a_zombie_that_nobody_reaps_is_gone_for_us(world):
    """The rank is dead, its launcher does not reap it: no signal is sent again and again, memory decides."""
    async with world.connect() as node:
        run = await world.launch(node, launcher="", ranks=1)
        (rank,) = [p for p in run.children if p.title.startswith("sglang::scheduler")] or [
            p for p in (await node.agent.servers())[0].children if p.title.startswith("sglang::scheduler")
        ]
        os.kill(rank.identity.pid, signal.SIGKILL)
        await until(lambda: Path(f"/proc/{rank.identity.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
        results = await node.agent.terminate([rank.identity], 1.0, lambda _p: None)
        assert results.results[0].waited_s < 1.0, "a zombie is not waited for"
        assert (await freed(node, gpus=(0,))).ok


async def test_a_ghost_pid_is_held_by_another_namespace_and_never_signalled(world):
    (world.demo.home / "colleague.json").write_text(json.dumps({"pid": os.getpid(), "gpu": 4, "memory": 5000}))
    async with world.connect() as node:
        inventory = await node.inventory()
        (holder,) = inventory.holders
        assert holder.kind == "same-user"
        outcome = await freed(node)
        assert [(gpu.index, gpu.state) for gpu in outcome.gpus if gpu.state != "free"] == [(4, "held")]
        assert outcome.terminated == ()


async def test_a_colleagues_server_under_the_same_account_is_left(world):
    async with world.connect("bob@desk") as bob:
        theirs = await world.launch(bob)
        async with world.connect() as node:
            outcome = await freed(node)
            assert not outcome.ok
            assert {gpu.state for gpu in outcome.gpus if gpu.index in (0, 1)} == {"held"}
            assert "same-user" in outcome.gpus[0].reason
            (run,) = await node.agent.servers()
            assert (run.state, run.operator) == ("running", "bob@desk")
        assert (await freed(bob)).ok
        assert theirs.run_id


async def test_what_others_hold_is_not_waited_for(world, bystander):
    bystander(gpu=1)
    async with world.connect() as node:
        await world.launch(node, ranks=2)
        started = time.monotonic()
        outcome = await freed(node, verify_timeout_s=60.0)
        assert time.monotonic() - started < 30
        assert [(gpu.index, gpu.state) for gpu in outcome.gpus if gpu.state != "free"] == [(1, "held")]


async def test_free_acts_on_the_gpus_that_were_chosen(world):
    async with world.connect() as node:
        await world.launch(node, ranks=2)
        outcome = await freed(node, gpus=(5,))
        assert outcome.terminated == ()
        assert [gpu.index for gpu in outcome.gpus] == [5]
        assert outcome.ok
        assert len(world.holders()) == 2
        assert (await freed(node, gpus=(1,))).ok


@pytest.mark.slow
async def test_a_port_that_is_held_late_is_waited_for(world):
    port = free_port()
    code = f"""
import socket, subprocess, sys, time
keeper = subprocess.Popen([sys.executable, "-c", '''
import signal, socket, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", {port})); s.listen()
print("held", flush=True)
time.sleep(3)
'''], start_new_session=True)
signal.signal(signal.SIGTERM, lambda *a: ([r.kill() for r in ranks], os._exit(0)))
"""
    async with world.connect() as node:
        run = await world.launch(node, launcher=code, port=port)
        await until(lambda: "held" in Path(run.log_path).read_text())
        outcome = await freed(node)
        assert outcome.ok, outcome.proof
        assert [(each.port, each.free) for each in outcome.ports] == [(port, True)]
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))


async def test_a_held_port_is_a_result_and_not_an_exception(world):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        async with world.connect() as node:
            await world.launch(node, port=listener.getsockname()[1])
            outcome = await freed(node, verify_timeout_s=1.0)
            assert not outcome.ok
            assert "is still held" in outcome.proof
            assert {gpu.state for gpu in outcome.gpus} == {"free"}, "partial freeing is told as it is"


@pytest.mark.slow
async def test_the_agent_killed_in_mid_free_leaves_a_state_that_the_next_free_finishes(world):
    async with world.connect() as node:
        await world.launch(node, launcher=DEAF)
        plan = await free_gpus.plan(node, FreeRequest(grace_s=30.0))

        def kill_agent(_line: str) -> None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(node.agent.hello.pid, signal.SIGKILL)

        with pytest.raises(NodeLost):
            await free_gpus.run(node, plan, kill_agent)
    async with world.connect() as node:
        outcome = await freed(node)
        assert outcome.ok, outcome.proof


@pytest.mark.slow
async def test_a_lost_connection_sends_no_further_signal_and_the_next_free_finishes(world):
    async with world.connect(reconnect=True) as node:
        run = await world.launch(node, launcher=DEAF)
        plan = await free_gpus.plan(node, FreeRequest(grace_s=2.0))
        outcome = await free_gpus.run(node, plan, lambda line: node.agent.session.break_link())
        assert {each.outcome for each in outcome.left} == {"alive"}, "read again when the link was back"
        (after,) = await node.agent.servers()
        assert after.state == "running", "EOF came before the KILL: no signal after it"
        assert after.child == run.child
        assert (await freed(node)).ok


async def test_an_old_record_and_a_reused_pid_are_nobody(world):
    async with world.connect() as node:
        run = await world.launch(node)
        assert (await freed(node)).ok
        record = Path(node.config.state_dir or "") / "runs" / run.run_id
        told = json.loads((record / "process.json").read_text())
        me = await node.agent.inspect([os.getpid()])
        told["child"] = {"pid": os.getpid(), "start_ticks": me[0].identity.start_ticks + 1, "boot_id": "other"}
        told["supervisor"] = {**told["child"], "start_ticks": 1 << 60}
        (record / "process.json").write_text(json.dumps(told))
        (record / "exit.json").unlink()
        (again,) = await node.agent.servers()
        assert (again.state, again.children) == ("lost", [])
        assert (await freed(node)).terminated == ()


@pytest.mark.slow
async def test_memory_that_the_driver_gives_back_ten_seconds_late_is_waited_for(world):
    world.slow_driver(10.0)
    async with world.connect() as node:
        await world.launch(node)
        plan = await free_gpus.plan(node, FreeRequest(grace_s=5.0, verify_timeout_s=40.0))
        told: list[str] = []
        outcome = await free_gpus.run(node, plan, told.append)
        assert outcome.ok, outcome.proof
        assert any("used by no process that can be seen" in line for line in told), "the wait says what it waits for"


@pytest.mark.slow
async def test_memory_that_never_comes_back_is_a_verdict_with_whom_to_ask(world):
    world.slow_driver(1000.0)
    async with world.connect() as node:
        await world.launch(node)
        outcome = await freed(node, verify_timeout_s=1.0)
        assert not outcome.ok
        assert outcome.left == ()
        (gpu,) = [each for each in outcome.gpus if each.state != "free"]
        assert (gpu.index, gpu.state) == (0, "held")
        assert "ask the node's admin" in gpu.reason


@pytest.mark.slow
async def test_sockets_that_wind_down_are_told(world):
    """Case C13: a restart on a port whose connections have not drained answered, and hung after a hundred requests."""
    port = free_port()
    code = f"""
import socket, threading
door = socket.socket(); door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
door.bind(("127.0.0.1", {port})); door.listen()
threading.Thread(target=lambda: [door.accept()[0].close() for _ in range(3)], daemon=True).start()
{DRAIN}
"""
    async with world.connect() as node:
        await world.launch(node, launcher=code, port=port)
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", port)) as client:
                assert client.recv(1) == b"", "the server closes first: its side waits"
        outcome = await freed(node)
        assert outcome.ok, outcome.proof
        assert outcome.ports[0].draining >= 1
        assert any("sockets still wind down" in line for line in outcome.lines())


async def test_a_server_is_adopted_by_a_newer_agent(world, monkeypatch):
    async with world.connect() as node:
        run = await world.launch(node)
        old = node.agent.hello.sha256
    newer = io.BytesIO(bundle.build().data)
    with zipfile.ZipFile(newer, "a") as archive:
        archive.writestr("VERSION", "newer")
    data = newer.getvalue()
    monkeypatch.setattr(bundle, "build", lambda: bundle.Bundle(data, hashlib.sha256(data).hexdigest()))
    async with world.connect() as node:
        assert node.agent.hello.sha256 != old
        (again,) = await node.agent.servers()
        assert (again.run_id, again.state, again.child) == (run.run_id, "running", run.child)
        kinds = {item.kind: item for item in (await node.agent.footprint()).items if item.in_use}
        assert "pid" in kinds["zip"].in_use or "this agent" in kinds["zip"].in_use
        zips = [item for item in (await node.agent.footprint()).items if item.kind == "zip"]
        assert len(zips) == 2
        assert all(item.in_use for item in zips), "the old zip runs the server's supervisor: it stays"
        assert (await freed(node)).ok


async def test_gc_removes_what_is_ours_and_dead_and_nothing_else(world):
    async with world.connect() as node:
        ended = await world.launch(node)
        assert (await freed(node)).ok
        living = await world.launch(node)
        outcome = await footprint.run(node, await footprint.plan(node, keep_runs_s=0.0), silent)
        assert outcome.ok
        names = [item.name for item in outcome.left.items]
        assert ended.run_id not in names
        assert living.run_id in names
        denied = await node.agent.collect(["/etc/passwd", str(world.folder)])
        assert {each.outcome for each in denied} == {"denied"}
        assert Path("/etc/passwd").exists()
        (run,) = await node.agent.servers()
        assert run.state == "running"
        assert (await freed(node)).ok


async def test_a_server_started_by_hand_is_listed_with_its_flags_and_left(world):
    port = free_port()
    words = ["-m", "sglang.launch_server", "--model-path", str(world.demo.home / "models" / "kimi-k2.5-int4")]
    by_hand = subprocess.Popen(
        [sys.executable, *words, "--tp-size", "2", "--port", str(port), "--api-key", "s3cret"],
        env={**os.environ, **world.demo.env, "SPEC_CONSOLE_DEMO_LOAD_S": "0.1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        await until(lambda: len(world.holders()) == 2)
        async with world.real().connect() as node:
            told = list((await status.read(node)).lines())
            # Others may serve on this machine too.
            assert any(each.startswith("server without a run record") and f"--port {port}" in each for each in told)
            assert "s3cret" not in "".join(told)
            assert not (await freed(node)).ok
            assert by_hand.poll() is None
    finally:
        os.killpg(by_hand.pid, signal.SIGKILL)  # our own child's group, not yet reaped
        by_hand.wait()


async def test_shared_memory_of_dead_pids_is_listed_and_swept_on_request_only(world):
    dead = subprocess.Popen([sys.executable, "-c", "pass"])
    dead.wait()
    name = f"sem.loky-{dead.pid}-{os.getpid()}test"
    kept = f"sem.loky-{os.getpid()}-test"
    for each in (name, kept):
        Path("/dev/shm", each).write_bytes(b"x" * 64)
    try:
        async with world.real().connect() as node:
            outcome = await freed(node)
            if "pid namespace" in (await node.agent.shm()).foreign_namespace:
                pytest.skip("another pid namespace shares /dev/shm here: nothing is swept, as it should be")
            assert name in [each.entry.name for each in outcome.leftovers]
            assert kept not in [each.entry.name for each in outcome.leftovers]
            assert Path("/dev/shm", name).exists()
            (still,) = [e for e in (await node.agent.shm()).entries if e.name == name]
            with Path("/dev/shm", name).open("rb"):
                assert (await node.agent.sweep_shm([still]))[0].outcome == "held"
            swept = await node.agent.sweep_shm([still])
            assert [each.outcome for each in swept] == ["removed"]
            assert not Path("/dev/shm", name).exists()
            assert Path("/dev/shm", kept).exists()
    finally:
        for each in (name, kept):
            Path("/dev/shm", each).unlink(missing_ok=True)


@pytest.mark.slow
async def test_every_free_is_in_the_journal_with_before_and_after(world):
    async with world.connect() as node:
        await world.launch(node)
        await freed(node)
        (record,) = [each for each in node.journal.list_actions() if each.verb == "free"]
        assert len(record.request["before"]) >= 2
        assert record.request["plan"]
        assert record.outcome["ok"] is True
        assert record.outcome["terminated"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a process of another user")
async def test_a_foreign_users_process_takes_the_typed_host_name(world):
    import pwd

    nobody = pwd.getpwnam("nobody").pw_uid
    foreign = subprocess.Popen(["sleep", "600"], user=nobody)
    try:
        (world.demo.home / "colleague.json").write_text(json.dumps({"pid": foreign.pid, "gpu": 2, "memory": 900}))
        async with world.connect() as node:
            host = (await node.agent.facts()).hostname
            outcome = await freed(node)
            assert "foreign" in outcome.gpus[2].reason
            assert foreign.poll() is None
            with pytest.raises(Exception, match="belongs to another user"):
                await freed(node, pids=(foreign.pid,))
            chosen = await freed(node, pids=(foreign.pid,), include_foreign=True, confirm_host=host)
            assert chosen.ok, chosen.proof
            assert foreign.wait(5) == -signal.SIGTERM
    finally:
        foreign.kill()
        foreign.wait()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a pid namespace here")
async def test_inside_a_container_the_drivers_pids_are_ghosts(world):
    """The agent in a pid namespace of its own: the host's pid 1-digit twins are not taken for the holders."""
    config = world.config.model_copy(
        update={"exec_prefix": ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")}
    )
    (world.demo.home / "colleague.json").write_text(json.dumps({"pid": 1, "gpu": 2, "memory": 900}))
    world.config = config
    async with world.connect() as node:
        inventory = await node.inventory()
        assert inventory.facts.pid_namespace != 4026531836
        assert [holder.kind for holder in inventory.holders] == ["ghost"], "pid 1 here is not the driver's pid 1"
        outcome = await freed(node)
        assert (outcome.gpus[2].state, outcome.terminated) == ("held", ())
        assert "ask on the host" in outcome.gpus[2].reason
        assert (await node.agent.shm()).foreign_namespace


@pytest.fixture(scope="module")
def victim() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(offset=st.integers(-(10**9), 10**9).filter(bool))
def test_a_pid_whose_start_ticks_changed_is_never_signalled(victim, offset):
    now = processes.identity(victim.pid)
    assert now
    stale = Identity(now.pid, now.start_ticks + offset, now.boot_id)
    assert processes.send_signal(stale, signal.SIGKILL) is False
    assert victim.poll() is None
