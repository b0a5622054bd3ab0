"""Owns a run as a POSIX shell script that measures it anew without this program: patch, launch, probe, figures.

It holds no secret: what was masked is asked for in the environment. Foreign text stands quoted for the shell, or in a
here-document that nothing of it can end. Needs sh, curl, patch and the Python that has SGLang.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from email.utils import formatdate
from typing import TYPE_CHECKING

from console.launch.secrets import MASK
from console.probe.prompts import load_prompt_set, prompt_set_names
from console.probe.workload import Workload
from console.report import script_parts as parts
from console.units import format_number, format_rate, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from console.probe.context import RunContext
    from console.probe.stored import StoredRun

DEFAULT_PORT = 30000
"""SGLang's own."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def script(run: StoredRun, context: RunContext) -> str:
    """Return the text of the script."""
    env = _env(run, context)
    is_whole = bool(context.launch)
    paragraphs = [_head(run, is_whole=is_whole), _secrets(run, env), _exports(env)]
    paragraphs += [_patch(run, context), _launch(run), _probe(run), parts.FIGURES]
    return "\n".join(paragraph for paragraph in paragraphs if paragraph)


def _head(run: StoredRun, *, is_whole: bool) -> str:
    found, result = run.fingerprint, run.result
    told = [
        f"Measures anew what spec-console measured as run {run.run_id} on {run.node},",
        formatdate(run.at, usegmt=True),
        "SIMULATED: it was the embedded node, which proves nothing about engines." if found.simulated else "",
        "The run was not valid: " + result.why if not result.valid else "",
        f"profile {run.profile or 'none'}",
        f"SGLang {found.sglang_version or 'unknown'}, tree {found.git_head or 'unknown'}",
        f"GPUs {found.gpu_count} x {', '.join(sorted(set(found.gpu_names))) or 'unknown'}",
        f"driver {found.driver or 'unknown'}",
        f"measured then: {format_rate(result.output_tok_s)}, accept_len {format_number(result.accept_len)}",
        f"Not in the record: flags that were handed over by a secret file{'' if is_whole else parts.OTHERS}.",
    ]
    lines = "\n".join(f"# {plain(line)}" for line in told if line)
    python = found.argv[0] if _is_module(found.argv) else "python3"
    return parts.HEAD.format(told=lines, python=shlex.quote(python), run=shlex.quote(_file_name(run.run_id)))


def _secrets(run: StoredRun, env: Mapping[str, str]) -> str:
    variables = (name for name, value in env.items() if value == MASK)
    names = sorted({*_secret_flags(run.fingerprint.argv), *variables})
    lines = [f': "${{{name}:?its value is not in this file: set it}}"' for name in names]
    return "\n".join(["# Secrets of the run", *lines, ""]) if lines else ""


def _patch(run: StoredRun, context: RunContext) -> str:
    patches = ", ".join(each.patch_id for each in run.fingerprint.patches)
    if context.diff:
        mark = _mark(context.diff)
        ending = "" if context.diff.endswith("\n") else "\n"
        return parts.PATCH.format(patches=plain(patches), diff=f"{context.diff}{ending}", mark=mark)
    if patches:
        return parts.NO_PATCH.format(patches=shlex.quote(plain(patches)))
    return ""


def _exports(env: Mapping[str, str]) -> str:
    lines = [
        f"export {name}" if value == MASK else f"export {name}={shlex.quote(value)}" for name, value in env.items()
    ]
    return "\n".join(["# The environment of the run", *lines, ""]) if lines else ""


def _launch(run: StoredRun) -> str:
    argv = run.fingerprint.argv
    words = list(_words(argv))
    return parts.LAUNCH.format(command=" \\\n  ".join(words) or "false", port=_port(argv))


def _env(run: StoredRun, context: RunContext) -> dict[str, str]:
    """What the server was launched with as far as it is known: all of it where that was done from here.

    An overlay is the first entry of PYTHONPATH; the script patches the tree in its place.
    """
    request = context.launch.get("request", {})
    given = request.get("env")
    found = dict(given) if isinstance(given, dict) else dict(run.fingerprint.env)
    if request.get("overlay") and (path := str(found.pop("PYTHONPATH", "")).partition(":")[2]):
        found["PYTHONPATH"] = path
    return {name: str(value) for name, value in sorted(found.items()) if _NAME.fullmatch(name)}


def _words(argv: Sequence[str]) -> Iterator[str]:
    """The command, a flag with its values a line; the Python of a module's command can be changed."""
    rest = list(argv)
    if _is_module(argv):
        yield f'"$PYTHON" -m {shlex.quote(argv[2])}'
        rest = rest[3:]
    line: list[str] = []
    for word, quoted in zip(rest, _quoted(rest), strict=True):
        if word.startswith("--") and line:
            yield " ".join(line)
            line = []
        line.append(quoted)
    if line:
        yield " ".join(line)


def _quoted(words: Sequence[str]) -> Iterator[str]:
    before = ""
    for word in words:
        flag, equals, value = word.partition("=")
        if word == MASK and before.startswith("--"):
            yield f'"${_variable(before)}"'
        elif equals and value == MASK and flag.startswith("--"):
            yield f'{shlex.quote(flag)}="${_variable(flag)}"'
        else:
            yield shlex.quote(word)
        before = word


def _secret_flags(argv: Sequence[str]) -> Iterator[str]:
    before = ""
    for word in argv:
        flag, equals, value = word.partition("=")
        if word == MASK and before.startswith("--"):
            yield _variable(before)
        elif equals and value == MASK and flag.startswith("--"):
            yield _variable(flag)
        before = word


def _variable(flag: str) -> str:
    """--api-key is API_KEY."""
    return re.sub(r"[^A-Z0-9_]", "_", flag.lstrip("-").upper()) or "SECRET"


def _probe(run: StoredRun) -> str:
    load = run.fingerprint.workload
    prompts, why = _prompts(load.get("prompt"), load.get("prompt_sha256"))
    api = str(load.get("api", "generate"))
    functions = [f"prompt_{number}={shlex.quote(json.dumps(text)[1:-1])}" for number, text in enumerate(prompts)]
    return parts.PROBE.format(
        prompts="\n".join(functions) or parts.OWN_PROMPT.format(why=shlex.quote(why)),
        count=len(prompts) or 1,
        path=parts.PATHS.get(api, parts.PATHS["generate"]),
        body=parts.body(api, _number(load.get("max_new_tokens"), 200), _number(load.get("temperature"), 0)),
        blocks=max(1, len(run.result.blocks)),
        requests=int(_number(load.get("requests_per_block"), 3)),
        warmup=int(_number(load.get("warmup"), 0)),
        concurrency=max(1, int(_number(load.get("concurrency"), 1))),
        flush="yes" if load.get("flush_cache") is not False else "no",
        key=parts.KEY if "API_KEY" in set(_secret_flags(run.fingerprint.argv)) else "",
    )


def _prompts(name: object, sha256: object) -> tuple[tuple[str, ...], str]:
    """The shipped prompts, if they are still those of the run; else why not."""
    if name not in prompt_set_names():
        return (), "the run's prompt was its own, and only its hash was kept"
    texts = load_prompt_set(str(name))
    if Workload(str(name), texts).prompt_sha256 != sha256:
        return (), f"the prompts of {name} were others then"
    return texts, ""


def _number(value: object, default: float) -> float:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else default


def _port(argv: Sequence[str]) -> int:
    for flag, value in zip(argv, [*argv, ""][1:], strict=True):
        text = value if flag == "--port" else flag.removeprefix("--port=") if flag.startswith("--port=") else ""
        if text.isascii() and text.isdigit() and len(text) < 6:
            return int(text)
    return DEFAULT_PORT


def _is_module(argv: Sequence[str]) -> bool:
    return len(argv) > 2 and argv[1] == "-m"


def _mark(text: str) -> str:
    """A word that no line of the text is."""
    return f"END_OF_DIFF_{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"


def _file_name(run_id: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", run_id)[:80] or "run"
