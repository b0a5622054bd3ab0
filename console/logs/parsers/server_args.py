"""`server_args=`: one line of 8 to 9 kB, `ServerArgs(name=value, …)` to 0.5.17, `{'name': value, …}` from 0.5.19.

Plain values are read (numbers, words, None); lists and nested objects are left. Old releases print API keys here.
"""

import re

from console.logs.fields import value
from console.logs.parser import Fields, Parser

MASK = "***"

_PREFIX = "server_args="
_PLAIN = r"('(?:[^'\\]|\\.){0,2000}'|None|True|False|-?\d{1,18}(?:\.\d{1,18})?)(?=[,)}])"
_CALL = re.compile(r"\b([a-z]\w{0,63})=" + _PLAIN)
_DICT = re.compile(r"'([a-z]\w{0,63})': " + _PLAIN)
_SECRET = re.compile(r"api_key|password|secret|hf_token")


def _parse(message: str) -> Fields | None:
    if not message.startswith(_PREFIX):
        return None
    pattern = _DICT if message.startswith("{", len(_PREFIX)) else _CALL
    fields: Fields = {}
    for name, printed in pattern.findall(message, len(_PREFIX)):
        fields.setdefault(name, _masked(name, printed))
    return fields


def _masked(name: str, printed: str) -> object:
    if printed != "None" and _SECRET.search(name):
        return MASK
    return printed[1:-1] if printed.startswith("'") else value(printed)


PARSER = Parser(kind="server_args", starts=(_PREFIX,), parse=_parse)
