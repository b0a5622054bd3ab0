"""uvicorn's own lines: its start, its address, its end, and an address that it could not bind."""

import re

from console.logs.parser import Fields, Parser

_LINE = re.compile(r"(?:INFO|ERROR): {1,8}(.{1,400})")
_RUNNING = re.compile(r"Uvicorn running on (https?://\S{1,200})")
_BIND = re.compile(r"\[Errno \d{1,3}\] error while attempting to bind on address \('([^']{1,100})', (\d{1,5})")
_PROCESS = re.compile(r"(Started|Finished) server process \[(\d{1,10})\]")
_STAGES = {
    "Waiting for application startup.": "starting",
    "Application startup complete.": "started",
    "Waiting for application shutdown.": "shutting_down",
    "Application shutdown complete.": "shut_down",
    "Shutting down": "shutting_down",
}


def _parse(message: str) -> Fields | None:
    line = _LINE.match(message)
    if line is None:
        return None
    said = line[1]
    if running := _RUNNING.match(said):
        return {"event": "running", "url": running[1]}
    if bind := _BIND.match(said):
        return {"event": "bind_error", "host": bind[1], "port": int(bind[2]), "sentence": said}
    if process := _PROCESS.match(said):
        return {"event": f"process_{process[1].lower()}", "pid": int(process[2])}
    stage = _STAGES.get(said)
    return {"event": stage} if stage else None


PARSER = Parser(kind="uvicorn", starts=("INFO:  ", "ERROR: "), parse=_parse)
