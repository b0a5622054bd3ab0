"""uvicorn's access log, `INFO:     127.0.0.1:40052 - "POST /generate HTTP/1.1" 200 OK`. Its numbers are no shapes."""

import re

from console.logs.parser import Fields, Parser

_LINE = re.compile(r'INFO: {1,8}(\S{0,100}) - "([A-Z]{1,16}) ([^" ]{1,4000}) HTTP/[\d.]{1,5}" (\d{3})\b')


def _parse(message: str) -> Fields | None:
    line = _LINE.match(message)
    if line is None:
        return None
    path = line[3].partition("?")[0]
    return {
        "client": line[1],
        "method": line[2],
        "path": path,
        "status": int(line[4]),
        "is_poll": path in {"/health", "/health_generate", "/v1/models", "/ready"},
    }


PARSER = Parser(kind="access_log", starts=("INFO:  ",), parse=_parse)
