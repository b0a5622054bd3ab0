"""Which flags the installed SGLang declares, asked of its own parser: once for each form of the files that do.

Asking imports torch and takes many seconds, so it goes on beside everything else, and the answer is kept in the state
directory. Nobody waits for it.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import threading
from typing import Dict, List, Optional

from remote_agent.protocol import ServerFlags
from remote_agent.state_dir import StateDir, read_json, write_json

PATIENCE_S = 120
MAX_OUTPUT = 1 << 20
MAX_SOURCE = 16 << 20
FOLDER = "flags"
_MARK = "spec-console-flags "
_STARTS = ("srt/server_args.py", "srt/arg_groups")

# Run by the serving Python. It ends itself, for this agent may be gone by then. `--help` would leave hidden flags out.
_ASK = f"""
import signal
signal.alarm({PATIENCE_S})
import argparse, json
from sglang.srt.server_args import ServerArgs
parser = argparse.ArgumentParser()
ServerArgs.add_cli_args(parser)
names = sorted(name[2:] for action in parser._actions for name in action.option_strings if name.startswith("--"))
print("\\n{_MARK}" + json.dumps(names), flush=True)
"""

_lock = threading.Lock()
_under_way: Dict[str, threading.Thread] = {}
_failed: Dict[str, str] = {}


def read(state: Optional[StateDir], python: str, root: str, env: Dict[str, str]) -> ServerFlags:
    """What is known now; where that is nothing, asking begins. A read-only agent, without a folder, asks nothing."""
    key = _key(python, root)
    if key is None:
        return ServerFlags("failed", error=f"{root} has no srt/server_args.py that can be read")
    if state is None:
        return ServerFlags("unknown")
    kept = _kept(state, key)
    if kept is not None:
        return ServerFlags("known", kept)
    with _lock:
        if key in _failed:
            return ServerFlags("failed", error=_failed[key])
        if key not in _under_way:
            asking = threading.Thread(target=_ask, args=(state, key, python, env), name="flags", daemon=True)
            _under_way[key] = asking
            asking.start()
    return ServerFlags("asking")


def _key(python: str, root: str) -> Optional[str]:
    """One hash of the interpreter's name and of every file that declares flags."""
    total = hashlib.sha256(f"{os.path.realpath(python)}\\0".encode("utf-8", "surrogateescape"))
    left = MAX_SOURCE
    for path in _sources(root):
        try:
            with open(path, "rb") as file:
                data = file.read(left + 1)
        except OSError:
            return None
        left -= len(data)
        if left < 0:
            return None
        total.update(f"{path}\\0".encode("utf-8", "surrogateescape") + hashlib.sha256(data).digest())
    return total.hexdigest()


def _sources(root: str) -> List[str]:
    first, folder = (os.path.join(root, *start.split("/")) for start in _STARTS)
    found = [first]
    for parent, _folders, names in os.walk(folder):
        found += [os.path.join(parent, name) for name in names if name.endswith(".py")]
    return sorted(found)


def _kept(state: StateDir, key: str) -> Optional[List[str]]:
    flags = (read_json(state.join(FOLDER, key + ".json")) or {}).get("flags")
    return flags if isinstance(flags, list) and all(isinstance(each, str) for each in flags) else None


def _ask(state: StateDir, key: str, python: str, env: Dict[str, str]) -> None:
    try:
        flags = _run(python, env)
        state.make(FOLDER)
        write_json(state.join(FOLDER, key + ".json"), {"flags": flags})
    except (OSError, ValueError) as error:
        with _lock:
            _failed[key] = str(error)[:300]
    finally:
        with _lock:
            _under_way.pop(key, None)


def _run(python: str, env: Dict[str, str]) -> List[str]:
    """Raises OSError where it cannot be run, ValueError where it told no flags."""
    with subprocess.Popen(
        [python, "-c", _ASK],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(os.environ, **env),
    ) as process:
        assert process.stdout is not None
        end = threading.Timer(PATIENCE_S + 5, process.kill)
        end.daemon = True
        end.start()
        try:
            text = process.stdout.read(MAX_OUTPUT + 1)
            if len(text) > MAX_OUTPUT:
                process.kill()
                raise ValueError(f"{python} told more than {MAX_OUTPUT} bytes")
        finally:
            end.cancel()
    lines = text.decode("utf-8", "replace").splitlines()
    told = next((line for line in reversed(lines) if line.startswith(_MARK)), None)
    if told is None:
        last = next((line for line in reversed(lines) if line.strip()), "")
        raise ValueError(f"{python} exited {process.returncode} and told no flags: {last}")
    return [str(each) for each in json.loads(told[len(_MARK) :])]
