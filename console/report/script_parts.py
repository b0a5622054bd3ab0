"""Owns the fixed text of the exported shell script: what of it is the same for every run."""

from __future__ import annotations

import json

from console.probe.fingerprint import ENV_PREFIXES

OTHERS = f"; variables but for {', '.join(f'{prefix}*' for prefix in ENV_PREFIXES)}"
PATHS = {"generate": "/generate", "completions": "/v1/completions", "chat": "/v1/chat/completions"}

HEAD = """#!/bin/sh
{told}
#
# Options, by the environment: PYTHON, OUT (a folder for the log and the answers), READY_S (seconds to wait).
set -eu

PYTHON=${{PYTHON:-{python}}}
OUT=${{OUT:-$PWD/again-{run}}}
READY_S=${{READY_S:-2700}}
server=
patched=

mkdir "$OUT" || {{ echo "$OUT is there already: set OUT to another folder" >&2; exit 1; }}

finish() {{
  code=$?
  trap - EXIT INT TERM
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  if [ -n "$patched" ]; then
    patch -R -p1 -d "$tree" <"$OUT/patches.diff" >&2 || echo "the patch is still in $tree" >&2
  fi
  exit "$code"
}}
trap finish EXIT INT TERM
"""

PATCH = """# Patches: {patches}
tree=$("$PYTHON" -c 'import importlib.util as u, os
print(os.path.dirname(list(u.find_spec("sglang").submodule_search_locations)[0]))')
cat >"$OUT/patches.diff" <<'{mark}'
{diff}{mark}
echo "patching $tree" >&2
patch -p1 --dry-run -d "$tree" <"$OUT/patches.diff" >&2
patched=yes
patch -p1 -d "$tree" <"$OUT/patches.diff" >&2
"""

NO_PATCH = """# The run had patches, and their diff was not kept.
if [ -z "${{PATCHED:-}}" ]; then
  printf 'the run had these patches on: %s. Their diff was not kept: put them in, then set PATCHED=yes\\n' {patches} >&2
  exit 1
fi
"""

LAUNCH = """# The server, with the command of the run
launch() {{
  exec {command}
}}
launch >"$OUT/server.log" 2>&1 &
server=$!
url=http://127.0.0.1:{port}
waited=0
echo "waiting for $url, log $OUT/server.log" >&2
# Not /health: it generates a token, which the load would have beside it.
until grep -q 'The server is fired up and ready to roll!' "$OUT/server.log"; do
  if ! kill -0 "$server" 2>/dev/null; then
    echo "the server ended:" >&2
    tail -n 20 "$OUT/server.log" >&2
    exit 1
  fi
  if [ "$waited" -ge "$READY_S" ]; then
    echo "the server was not ready within $READY_S s" >&2
    exit 1
  fi
  sleep 1
  waited=$((waited + 1))
done
"""

OWN_PROMPT = """: "${{PROMPT:?set it: "{why}"}}"
prompt_0=$(printf %s "$PROMPT" | "$PYTHON" -c 'import json, sys; print(json.dumps(sys.stdin.read())[1:-1])')"""

KEY = """  set -- "$@" -H "Authorization: Bearer $API_KEY"
"""

PROBE = """# The load: each prompt behind a prefix of its own, so that the server has none of it in its cache
{prompts}
sent=0
ask() {{ # ask NAME PROMPT: one request, its answer and its time in files
  prefix=$(printf '%08x' $(((sent * 2654435761) % 4294967296)))
  printf '{body}' "$prefix" "$2" >"$OUT/$1.request"
  set -- "$1" -H 'Content-Type: application/json' --data-binary "@$OUT/$1.request"
  name=$1
  shift
{key}  curl -fsS -o "$OUT/$name.json" -w '%{{time_total}}' "$@" "$url{path}" >"$OUT/$name.time" &
  sent=$((sent + 1))
}}
block() {{ # block NAME COUNT: requests, so many at a time
  done=0
  while [ "$done" -lt "$2" ]; do
    pids=
    together=0
    while [ "$together" -lt {concurrency} ] && [ "$done" -lt "$2" ]; do
      eval "text=\\$prompt_$((done % {count}))"
      ask "$1-$done" "$text"
      pids="$pids $!"
      together=$((together + 1))
      done=$((done + 1))
    done
    for pid in $pids; do wait "$pid"; done
  done
}}
block warmup {warmup}
number=1
while [ "$number" -le {blocks} ]; do
  if [ {flush} = yes ]; then curl -fsS -o /dev/null -X POST "$url/flush_cache"; fi
  block "block-$number" {requests}
  echo "block $number of {blocks}" >&2
  number=$((number + 1))
done
concurrency={concurrency}
"""

FIGURES = """# Figures: tokens by the server's own count; a block takes the slowest request of each of its groups
"$PYTHON" - "$OUT" "$concurrency" <<'END_OF_FIGURES'
import json, pathlib, sys

out, together = pathlib.Path(sys.argv[1]), int(sys.argv[2])
blocks, tokens, cycles = {}, 0, 0
for path in out.glob("block-*.json"):
    number, index = map(int, path.stem.split("-")[1:])
    told = json.loads(path.read_text())
    meta = told.get("meta_info") or {}
    count = meta.get("completion_tokens") or (told.get("usage") or {}).get("completion_tokens") or 0
    tokens += count
    cycles += meta.get("spec_verify_ct") or 0
    seconds = float(path.with_suffix(".time").read_text())
    blocks.setdefault(number, {}).setdefault(index // together, []).append((count, seconds))
for number, groups in sorted(blocks.items()):
    wall = sum(max(seconds for _, seconds in group) for group in groups.values())
    print(f"block {number}: {sum(c for group in groups.values() for c, _ in group) / wall:.1f} tok/s")
print(f"accept_len {tokens / cycles:.4f}" if cycles else "accept_len unknown: the server told no verifications")
END_OF_FIGURES
"""


def body(api: str, max_new_tokens: float, temperature: float) -> str:
    """The format of `printf` for a request's body: a prefix of eight hex digits, and a prompt as it stands in JSON."""
    text = "[PREFIX]\nPROMPT"
    if api == "generate":
        sampling = {"max_new_tokens": max_new_tokens, "temperature": temperature, "ignore_eos": True}
        told: dict[str, object] = {"text": text, "sampling_params": sampling, "stream": False}
    else:
        told = {"model": "default", "max_tokens": max_new_tokens, "temperature": temperature, "ignore_eos": True}
        told |= {"messages": [{"role": "user", "content": text}]} if api == "chat" else {"prompt": text}
    written = json.dumps(told).replace("%", "%%").replace("\\", "\\\\")
    return written.replace("PREFIX", "%s").replace("PROMPT", "%s")
