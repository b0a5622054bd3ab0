"""vLLM's statistics, for a vLLM baseline: throughput of an engine, and `SpecDecoding metrics`.

Its mean acceptance length counts the bonus token as SGLang's does; its draft acceptance rate is the strict one.
"""

import re

from console.logs.parser import Fields, Parser

_NUMBER = r"(\d{1,12}(?:\.\d{1,9})?)"
_SPECULATION = re.compile(rf"SpecDecoding metrics: Mean acceptance length: {_NUMBER}")
_COUNTS = re.compile(r"Accepted: (\d{1,15}) tokens, Drafted: (\d{1,15}) tokens")
_POSITIONS = re.compile(r"Per-position acceptance rate: ((?:\d\.\d{1,6}(?:, )?){1,64})")
_RATE = re.compile(rf"Avg Draft acceptance rate: {_NUMBER}%")
_ENGINE = re.compile(
    rf"(?:Engine (\d{{1,6}}): )?Avg prompt throughput: {_NUMBER} tokens/s, "
    rf"Avg generation throughput: {_NUMBER} tokens/s, "
    r"Running: (\d{1,9}) reqs, Waiting: (\d{1,9}) reqs"
)
_CACHE = re.compile(rf"KV cache usage: {_NUMBER}%")


def _parse(message: str) -> Fields | None:
    if told := _SPECULATION.match(message):
        return {"about": "speculation", "accept_len": float(told[1]), **_speculation(message)}
    engine = _ENGINE.match(message)
    if engine is None:
        return None
    fields: Fields = {
        "about": "engine",
        "engine": int(engine[1]) if engine[1] else None,
        "input_tok_s": float(engine[2]),
        "output_tok_s": float(engine[3]),
        "running_req": int(engine[4]),
        "queue_req": int(engine[5]),
    }
    if cache := _CACHE.search(message):
        fields["token_usage"] = float(cache[1]) / 100
    return fields


def _speculation(message: str) -> Fields:
    fields: Fields = {}
    if counts := _COUNTS.search(message):
        fields |= {"accepted": int(counts[1]), "drafted": int(counts[2])}
    if positions := _POSITIONS.search(message):
        fields["by_position"] = tuple(float(rate) for rate in positions[1].split(", ") if rate)
    if rate := _RATE.search(message):
        fields["strict_rate"] = float(rate[1]) / 100
    return fields


PARSER = Parser(kind="vllm_stats", starts=("SpecDecoding metrics:", "Avg prompt throughput:", "Engine "), parse=_parse)
