"""The agent as the rest of the console sees it: typed calls, its errors in our tree. Logs: node_logs.py."""

from __future__ import annotations

import contextlib
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from console.errors import Refused
from console.remote import in_flight
from console.remote.answers import from_base64, from_wire
from console.remote.in_flight import MARK, InDoubt, NotDone
from console.remote.node_errors import ERRORS, NodeError, NodeRefused, NodeUsage, console_error
from console.remote.node_logs import LogPart, NodeLogs
from console.remote.session import LinkLost
from remote_agent import protocol as wire
from remote_agent.protocol import AgentError, to_base64, to_wire

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

    from console.remote.session import Session

Made = TypeVar("Made", wire.ServerRun, wire.ProbeRun)

__all__ = ["ERRORS", "Agent", "LogPart", "NodeError", "NodeRefused", "NodeUsage", "console_error"]

PART = 192 * 1024
MAX_WHOLE = 64 << 20
"""Of a file that is read whole: the agent's own limit is lower, and its word for the size is not believed."""
STOP_TIMEOUT_S = 300.0
FACTS_TIMEOUT_S = 90.0
PAIR_TIMEOUT_S = 960.0
COMPARE_TIMEOUT_S = 300.0
START_TIMEOUT_S = 60.0


class Agent(NodeLogs):
    """Typed calls to one node's agent. Every method raises ConsoleError's kin; LinkLost when the link breaks."""

    def __init__(self, session: Session, operator: str) -> None:
        super().__init__(session)
        self.operator = operator

    @property
    def hello(self) -> wire.Hello:
        assert self.session.hello is not None
        return self.session.hello

    async def facts(self) -> wire.NodeFacts:
        return from_wire(wire.NodeFacts, await self._ask("node.facts", timeout=FACTS_TIMEOUT_S))

    async def sglang(self, python: str, env: Mapping[str, str]) -> wire.SGLangFacts:
        answer = await self._ask("node.sglang", timeout=FACTS_TIMEOUT_S, python=python, env=dict(env))
        return from_wire(wire.SGLangFacts, answer)

    async def preflight(
        self, env: Mapping[str, str], hub_ids: Sequence[str], cwd: str, download_dir: str
    ) -> wire.Preflight:
        asked = {"env": dict(env), "hub_ids": list(hub_ids), "cwd": cwd, "download_dir": download_dir}
        return from_wire(wire.Preflight, await self._ask("preflight.facts", timeout=FACTS_TIMEOUT_S, **asked))

    async def server_flags(self, python: str, root: str, env: Mapping[str, str]) -> wire.ServerFlags:
        """What is known of the flags of the SGLang in `root`; asking goes on there, and nobody waits for it."""
        answer = await self._ask("node.server_flags", python=python, root=root, env=dict(env))
        return from_wire(wire.ServerFlags, answer)

    async def paths(self, paths: Sequence[str]) -> list[wire.PathFacts]:
        return [from_wire(wire.PathFacts, each) for each in await self._ask("node.paths", paths=list(paths))]

    async def port(self, port: int) -> wire.PortFacts:
        (only,) = await self._ask("node.ports", ports=[port])
        return from_wire(wire.PortFacts, only)

    async def processes(self, words: Sequence[str]) -> list[wire.ProcessInfo]:
        return [from_wire(wire.ProcessInfo, each) for each in await self._ask("node.processes", words=list(words))]

    async def inspect(self, pids: Sequence[int]) -> list[wire.ProcessInfo]:
        return [from_wire(wire.ProcessInfo, each) for each in await self._ask("node.inspect", pids=list(pids))]

    async def sample(self) -> wire.TelemetrySample:
        return from_wire(wire.TelemetrySample, await self._ask("telemetry.sample"))

    async def telemetry(self, interval_s: float) -> AsyncGenerator[wire.TelemetrySample]:
        """Samples until the link breaks or the loop is left."""
        async with contextlib.aclosing(
            self.session.stream("telemetry.subscribe", {"interval_s": interval_s})
        ) as samples:
            async for each in samples:
                yield from_wire(wire.TelemetrySample, each.params)

    async def gpu_processes(self) -> wire.GpuProcesses:
        """Who holds the GPUs; each holder with its process, where it is of this pid namespace."""
        held = from_wire(wire.GpuProcesses, await self._ask("gpus.processes"))
        by_pid = {each.identity.pid: each for each in held.processes}
        return replace(held, holders=[replace(row, process=by_pid.get(row.pid)) for row in held.holders])

    async def terminate(
        self, identities: Sequence[wire.Identity], grace_s: float, progress: Callable[[dict[str, Any]], None]
    ) -> wire.Terminations:
        before = self.hello
        try:
            answer = await self._change(
                "gpus.terminate",
                timeout=STOP_TIMEOUT_S + grace_s,
                progress=progress,
                identities=[to_wire(each) for each in identities],
                grace_s=grace_s,
            )
        except InDoubt as doubt:
            await in_flight.settled(self.session, before, doubt)
            return in_flight.ended(identities, await self.inspect([who.pid for who in identities]))
        return from_wire(wire.Terminations, answer)

    async def launch(self, request: wire.LaunchRequest) -> wire.ServerRun:
        """Start a server. Raises NotDone when the link broke before the node had begun."""
        mark = uuid.uuid4().hex
        asked = to_wire(replace(request, record={**request.record, MARK: mark}))
        return await self._make(wire.ServerRun, "servers.launch", mark, self.servers, asked)

    async def stop_server(
        self, run_id: str, grace_s: float, progress: Callable[[dict[str, Any]], None]
    ) -> wire.Terminations:
        before = self.hello
        try:
            answer = await self._change(
                "servers.stop", timeout=STOP_TIMEOUT_S + grace_s, progress=progress, run_id=run_id, grace_s=grace_s
            )
        except InDoubt as doubt:
            await in_flight.settled(self.session, before, doubt)
            run = next((each for each in await self.servers() if each.run_id == run_id), None)
            if run is None:
                raise
            members = [*([run.child] if run.child else []), *(each.identity for each in run.children)]
            return in_flight.ended(dict.fromkeys(members), run.children)
        return from_wire(wire.Terminations, answer)

    async def servers(self) -> list[wire.ServerRun]:
        return from_wire(wire.ServerRuns, await self._ask("servers.list")).runs

    async def environ(self, run_id: str, names: Sequence[str]) -> list[wire.ProcessEnviron]:
        """What each living process of a server was started with, of the variables that its launch set."""
        answer = await self._ask("servers.environ", run_id=run_id, names=list(names))
        return from_wire(wire.RunEnviron, answer).processes

    async def http(self, port: int, path: str, *, api_key: str = "", timeout_s: float = 5.0) -> wire.HttpReply:
        answer = await self._ask(
            "servers.http", timeout=timeout_s + 10, port=port, path=path, api_key=api_key, timeout_s=timeout_s
        )
        return from_wire(wire.HttpReply, answer)

    async def start_probe(self, port: int, spec: Mapping[str, Any], record: Mapping[str, Any]) -> wire.ProbeRun:
        """Start a probe. Raises NotDone when the link broke before the node had begun."""
        mark = uuid.uuid4().hex
        asked = {"port": port, "spec": dict(spec), "record": {**record, MARK: mark}}
        return await self._make(wire.ProbeRun, "probes.start", mark, self.probes, asked)

    async def stop_probe(self, run_id: str) -> wire.Terminations:
        return from_wire(wire.Terminations, await self._change("probes.stop", run_id=run_id))

    async def finish_probe(self, run_id: str) -> None:
        """Let a probe end after the block that it is in: its run is valid."""
        await self._change("probes.finish", run_id=run_id)

    async def probes(self) -> list[wire.ProbeRun]:
        return from_wire(wire.ProbeRuns, await self._ask("probes.list")).runs

    async def shm(self) -> wire.ShmList:
        return from_wire(wire.ShmList, await self._ask("shm.list"))

    async def sweep_shm(self, entries: Sequence[wire.ShmEntry]) -> list[wire.Swept]:
        wanted = [{"name": each.name, "inode": each.inode} for each in entries]
        return from_wire(wire.SweptList, await self._change("shm.sweep", entries=wanted)).entries

    async def footprint(self) -> wire.Footprint:
        return from_wire(wire.Footprint, await self._ask("footprint.list"))

    async def collect(self, paths: Sequence[str]) -> list[wire.Swept]:
        return from_wire(wire.SweptList, await self._change("footprint.collect", paths=list(paths))).entries

    async def read_file(self, path: str) -> bytes:
        return await self._whole("files.read", path=path)

    async def read_part(self, path: str, offset: int, length: int) -> wire.FileContent:
        """A part of a file of any size, and how big the file is; shorter where the agent's limit or the file ends."""
        return from_wire(wire.FileContent, await self._ask("files.head", path=path, offset=offset, length=length))

    async def read_head(self, path: str, offset: int, length: int) -> bytes:
        return from_base64((await self.read_part(path, offset, length)).data)

    async def hashes(self, paths: Sequence[str]) -> list[wire.FileHash]:
        return from_wire(wire.FileHashes, await self._ask("files.hash", paths=list(paths))).files

    async def tree_hashes(self, root: str, paths: Sequence[str]) -> dict[str, wire.FileHash]:
        """The hashes of files of a tree, by their path in it."""
        found = await self.hashes([f"{root}/{path}" for path in paths])
        return {each.path.removeprefix(f"{root}/"): each for each in found}

    async def compare_tree(self, root: str) -> wire.TreeComparison:
        answer = await self._ask("trees.compare", timeout=COMPARE_TIMEOUT_S, root=root)
        return from_wire(wire.TreeComparison, answer)

    async def committed(self, root: str, path: str) -> bytes:
        """A file of a tree that is a checkout, as its HEAD has it."""
        return await self._whole("trees.committed", root=root, path=path)

    async def kept(self, sha256: str) -> bytes:
        """An original that was put aside on the node when a patch was applied."""
        return await self._whole("trees.kept", sha256=sha256)

    async def ledger(self, root: str) -> list[wire.LedgerEntry]:
        return from_wire(wire.Ledger, await self._ask("files.ledger", root=root)).entries

    async def unfinished(self, root: str = "") -> wire.Unfinished:
        """Changes of files that were cut short; of one tree when `root` is given."""
        return from_wire(wire.Unfinished, await self._ask("files.unfinished", root=root))

    async def recover(self, root: str = "") -> wire.Recoveries:
        """Finish or undo them."""
        return from_wire(wire.Recoveries, await self._change("files.recover", root=root))

    async def put(self, sha256: str, data: bytes) -> None:
        """Bring content to the node, to be swapped in by `apply_files`."""
        for offset in range(0, max(1, len(data)), PART):
            part = data[offset : offset + PART]
            last = offset + PART >= len(data)
            await self._change("files.put", sha256=sha256, offset=offset, data=to_base64(part), last=last)

    async def apply_files(
        self, root: str, patches: Sequence[str], changes: Sequence[wire.FileChange]
    ) -> list[wire.FileOutcome]:
        answer = await self._change(
            "files.apply", root=root, patches=list(patches), changes=[to_wire(each) for each in changes]
        )
        return from_wire(wire.FileOutcomes, answer).files

    async def restore_files(self, root: str) -> list[wire.FileOutcome]:
        return from_wire(wire.FileOutcomes, await self._change("files.restore", root=root)).files

    async def write_overlay(self, name: str, files: Mapping[str, str]) -> wire.OverlayInfo:
        """Write an overlay of content that was `put` before: path → sha256."""
        wanted = [{"path": path, "sha256": sha256} for path, sha256 in sorted(files.items())]
        return from_wire(wire.OverlayInfo, await self._change("overlays.write", name=name, files=wanted))

    async def overlays(self) -> list[wire.OverlayInfo]:
        return from_wire(wire.OverlayList, await self._ask("overlays.list")).overlays

    async def remove_overlay(self, name: str) -> None:
        await self._change("overlays.remove", name=name)

    async def write_pair(self, python: str, env: Mapping[str, str], name: str, program: str, order: str) -> str:
        """Run a program that was `put` before with the serving Python; return the folder that it wrote."""
        answer = await self._change(
            "pairs.write",
            timeout=PAIR_TIMEOUT_S,
            python=python,
            env=dict(env),
            name=name,
            program=program,
            order=order,
        )
        return from_wire(wire.PairFolder, answer).path

    async def compile(self, python: str, paths: Sequence[str]) -> list[wire.Compiled]:
        answer = await self._ask("files.compile", timeout=FACTS_TIMEOUT_S, python=python, paths=list(paths))
        return from_wire(wire.CompiledFiles, answer).files

    async def _whole(self, method: str, **params: Any) -> bytes:
        """A whole file, in parts that belong together by their hash."""
        parts, sha256 = b"", ""
        while True:
            part = from_wire(wire.FileContent, await self._ask(method, offset=len(parts), **params))
            if sha256 and part.sha256 != sha256:
                raise Refused(f"{part.path} changed while it was read", "Plan again.")
            sha256 = part.sha256
            data = from_base64(part.data)
            parts += data
            if len(parts) > MAX_WHOLE:
                raise Refused(
                    f"{part.path} is larger than {MAX_WHOLE} bytes", "Nothing that is read whole is so large."
                )
            if len(parts) >= part.size or not data:
                return parts

    async def _change(
        self,
        method: str,
        timeout: float = 60.0,
        progress: Callable[[dict[str, Any]], None] | None = None,
        **params: Any,
    ) -> Any:
        params["operator"] = self.operator
        await self.session.up()
        try:
            return await self.session.call(method, params, timeout=timeout, progress=progress)
        except AgentError as error:
            raise console_error(error) from None
        except LinkLost as error:
            raise InDoubt(method, error.message) from None

    async def _make(
        self, kind: type[Made], method: str, mark: str, runs: Callable[[], Awaitable[list[Made]]], asked: dict[str, Any]
    ) -> Made:
        """Start what has a run record; when the answer is lost, it is found by its mark, or was not begun."""
        before = self.hello
        try:
            return from_wire(kind, await self._change(method, timeout=START_TIMEOUT_S, **asked))
        except InDoubt as doubt:
            is_over = await in_flight.settled(self.session, before, doubt)
            made = next((run for run in await runs() if run.record.get(MARK) == mark), None)
            if made is None:
                raise (NotDone(method) if is_over else doubt) from None
            return made
