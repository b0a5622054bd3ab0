"""What load generators print: SGLang's send_one (old and new), its MT-bench script, bench_serving and vLLM's twin.

Fields: `form`, and what the line tells under one name for all forms: accept_len (bonus token in), output_tok_s, …
A run without speculation prints `Acceptance length: 1.00` too.
"""

import re

from console.logs.fields import key, value
from console.logs.parser import Fields, Parser

_SEND_ONE = re.compile(r"(acc_length|speed)=(\d{1,9}(?:\.\d{1,9})?)(?: token/s)?$")
_FRAME = re.compile(r"\+-{8,20}\+-{6,20}\+-{8,20}\+-{8,20}\+$")
_HEADINGS = re.compile(r"\| Latency \(s\) \| Tokens \| Acc Length \| Speed \(token/s\) \|$")
_CELL = r" {0,20}(\d{1,9}(?:\.\d{1,9})?) {0,20}\|"
_ROW = re.compile(rf"\|{_CELL * 4}$")
_MT_BENCH = re.compile(
    r"#questions: (\d{1,9}), Throughput: (\d{1,9}(?:\.\d{1,9})?) token/s, Acceptance length: (\d{1,9}(?:\.\d{1,9})?)"
)
_SECTION = re.compile(r"(?:={5,40} Serving Benchmark Result ={5,40}|-{3,40}[A-Z][\w .()-]{3,60}-{3,40}|={50})$")
_VALUE_COLUMN = 41
"""bench_serving prints `{:<40} {:<10}`: a name that ends with a colon, then a value in this column."""
_VALUE = re.compile(r"[\w./:+-]{1,80}$")
_NAMES = {
    "accept_length": "accept_len",
    "acc_length": "accept_len",
    "speed": "output_tok_s",
    "output_token_throughput": "output_tok_s",
    "input_token_throughput": "input_tok_s",
    "total_token_throughput": "total_tok_s",
    "request_throughput": "requests_s",
    "benchmark_duration": "duration_s",
}


def _parse(message: str) -> Fields | None:
    if printed := _SEND_ONE.match(message):
        return {"form": "send_one", _NAMES[printed[1]]: float(printed[2])}
    if message.startswith(("+--", "|")):
        return _table(message)
    if bench := _MT_BENCH.match(message):
        questions, speed, length = bench.groups()
        return {
            "form": "mt_bench",
            "questions": int(questions),
            "output_tok_s": float(speed),
            "accept_len": float(length),
        }
    if _SECTION.match(message):
        return {"form": "bench_serving", "section": message.strip("=- ")}
    return _serving(message)


def _table(message: str) -> Fields | None:
    if row := _ROW.match(message):
        latency, tokens, accept_len, speed = row.groups()
        return {
            "form": "send_one",
            "latency_s": float(latency),
            "tokens": int(float(tokens)),
            "accept_len": float(accept_len),
            "output_tok_s": float(speed),
        }
    return {"form": "send_one"} if _FRAME.match(message) or _HEADINGS.match(message) else None


def _serving(message: str) -> Fields | None:
    name = message[: _VALUE_COLUMN - 1].rstrip()
    printed = message[_VALUE_COLUMN : _VALUE_COLUMN + 80].rstrip()
    is_row = name.endswith(":") and message[_VALUE_COLUMN - 1 : _VALUE_COLUMN] == " " and _VALUE.match(printed)
    if not is_row or not name[0].isupper() or "  " in name:
        return None
    told = key(name[:-1])
    return {"form": "bench_serving", _NAMES.get(told, told) or "value": value(printed)}


PARSER = Parser(
    kind="benchmark",
    starts=("acc_length=", "speed=", "#questions: ", "+------", "| Latency (s) ", "======"),
    hints=(":  ", "|  ", "----"),
    parse=_parse,
)
