"""Where the log of a run is after later launches onto the same path: never another launch's lines."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from console.actions import read_log
from console.errors import Refused
from remote_agent import log_sources, runs
from remote_agent.handlers import logs
from remote_agent.log_places import LogPlaces
from remote_agent.protocol import AgentError, LaunchRequest, LogPlace
from remote_agent.request import Request
from remote_agent.state_dir import StateDir
from tests.waiting import until

A, B, C, D = (f"20260101T00000{number}-00000{number}" for number in range(4))


class Launches:
    """Run records and logs as launches onto one path leave them."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "logs" / "server.log"
        self.log.parent.mkdir()
        self.node = SimpleNamespace(state=StateDir(str(folder / "state")))

    def launch(self, run_id: str, text: str, log: Path | None = None) -> None:
        log = log or self.log
        if log.exists() and log.stat().st_size:
            log.rename(f"{log}.{run_id}")
        record = {"kind": "server", "log_path": str(log), "port": 1, "started_at": 1.0}
        runs.create(self.node, run_id, record)
        log.write_text(text)

    def forget(self, run_id: str) -> None:
        folder = Path(self.node.state.join("runs", run_id))
        (folder / "run.json").unlink()
        folder.rmdir()

    def place(self, run_id: str) -> LogPlace:
        return LogPlaces(self.node).of(run_id, str(self.log))

    def text(self, run_id: str) -> str | None:
        path = self.place(run_id).path
        return Path(path).read_text() if path else None

    def texts(self) -> tuple[str | None, ...]:
        return tuple(self.text(run_id) for run_id in (A, B, C))


@pytest.fixture
def launches(tmp_path: Path) -> Launches:
    return Launches(tmp_path)


def test_each_launch_has_its_own_lines_wherever_they_were_renamed_to(launches):
    for run_id, text in ((A, "a"), (B, "b"), (C, "c")):
        launches.launch(run_id, text)
    assert launches.texts() == ("a", "b", "c")
    assert launches.place(A) == LogPlace(f"{launches.log}.{B}", B)
    assert launches.place(C) == LogPlace(str(launches.log), "")


def test_a_record_that_is_gone_leaves_the_others_their_lines(launches):
    for run_id, text in ((A, "a"), (B, "b"), (C, "c")):
        launches.launch(run_id, text)
    launches.forget(B)
    assert launches.texts() == ("a", "b", "c")
    launches.forget(C)
    assert launches.texts() == ("a", "b", "c")


def test_a_launch_of_another_account_or_node_renames_it_too(launches):
    launches.launch(A, "a")
    launches.launch(B, "b")
    launches.forget(B)  # its record is in a state directory that is not ours
    assert launches.text(A) == "a"


@pytest.mark.parametrize("take", [lambda path: path.unlink(), lambda path: path.write_text("")])
def test_a_log_that_was_gone_or_empty_when_the_next_was_launched_is_nowhere(launches, take):
    launches.launch(A, "a")
    take(launches.log)
    launches.launch(B, "b")
    assert launches.place(A) == LogPlace("", B)
    launches.launch(C, "c")
    assert launches.texts() == (None, "b", "c")


def test_a_renamed_log_that_was_removed_is_nowhere(launches):
    for run_id, text in ((A, "a"), (B, "b"), (C, "c")):
        launches.launch(run_id, text)
    Path(f"{launches.log}.{B}").unlink()
    assert launches.texts() == (None, "b", "c")


def test_a_launch_elsewhere_takes_nothing_and_one_by_another_way_to_the_folder_does(launches, tmp_path):
    launches.launch(A, "a")
    launches.launch(B, "b", launches.log.with_name("server.log2"))
    assert launches.place(A) == LogPlace(str(launches.log), "")
    (tmp_path / "way").symlink_to(launches.log.parent)
    launches.launch(C, "c", tmp_path / "way" / "server.log")
    assert launches.text(A) == "a"


def test_the_list_names_each_log_by_the_server_that_wrote_it(launches, monkeypatch):
    monkeypatch.setattr(log_sources, "_of_processes", lambda: [])
    for run_id, text in ((A, "a"), (B, ""), (C, "c"), (D, "d")):
        launches.launch(run_id, text)
    found = [(each.run_id, each.path) for each in log_sources.each(launches.node, "/nowhere")]
    log = str(launches.log)
    assert found == [(D, log), (C, f"{log}.{D}"), (A, f"{log}.{B}")], "B wrote nothing"


def test_what_is_no_run_id_is_refused(launches):
    for word in ("", "../x", "s-1"):
        asked = Request(1, {"run_id": word, "path": "/l"}, None, None)
        with pytest.raises(AgentError, match="not a run id"):
            logs.place(launches.node, asked)


def test_run_ids_of_one_second_sort_by_time(monkeypatch):
    monkeypatch.setattr(runs.time, "time", iter([1e9, 1e9 + 0.001, 1e9 + 0.5, 1e9 + 0.9999, 1e9 + 1]).__next__)
    ids = [runs.new_run_id() for _ in range(5)]
    assert ids == sorted(ids)
    assert all(runs.is_run_id(each) for each in ids)


async def test_the_log_of_an_older_server_is_read_and_not_the_newer_ones(connect, tmp_path):
    log = tmp_path / "server.log"
    node = SimpleNamespace(name="n", operator="tester@here")

    async def launched(word: str):
        run = await node.agent.launch(LaunchRequest(["echo", f"of {word}"], {}, str(log), 1, node.operator))
        await until(lambda: log.exists() and log.read_text() == f"of {word}\n")
        return run

    async with connect() as agent:
        node.agent = agent
        older = await launched("older")
        newer = await launched("newer")
        for run, word in ((older, "older"), (newer, "newer")):
            source = await read_log.find(node, run.run_id)
            assert [each.text for each in (await read_log.read(node, source)).records] == [f"of {word}"]
        Path(f"{log}.{newer.run_id}").unlink()
        with pytest.raises(Refused, match=f"moved or replaced by server {newer.run_id}"):
            await read_log.find(node, older.run_id)


async def test_who_follows_a_log_that_is_renamed_goes_on_in_it(connect, tmp_path):
    """And not in the log of the launch that renamed it."""
    log = tmp_path / "server.log"
    asked = LaunchRequest(["echo", "one"], {}, str(log), 1, "tester@here")
    async with connect() as agent:
        node = SimpleNamespace(name="n", operator="tester@here", agent=agent)
        run = await agent.launch(asked)
        await until(lambda: log.exists() and log.read_text() == "one\n")
        source = await read_log.of_run(node, run)
        seen: list[str] = []
        history = source.history()
        with log.open("a") as writer:
            parts = read_log.follow(node, source, history)
            seen += [record.text for record in await anext(parts)]
            other = await agent.launch(LaunchRequest(["echo", "of another"], {}, str(log), 1, "tester@here"))
            await until(lambda: log.exists() and log.read_text() == "of another\n")
            writer.write("two\n")
            writer.flush()
            while "two" not in seen:
                seen += [record.text for record in await anext(parts)]
            await parts.aclose()
    assert seen == ["one", "two"]
    assert Path(f"{log}.{other.run_id}").read_text() == "one\ntwo\n"
