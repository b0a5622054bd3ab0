"""argparse refuses the command line before anything loads: 340 lines of usage, one `error:` line, exit code 2."""

import re

from console.logs.parser import Fields, Parser

_ERROR = re.compile(
    r"(?P<prog>[\w./ -]{1,120}): error: (?P<sentence>(?:"
    r"ambiguous option: (?P<ambiguous>\S{1,200}) could match (?P<candidates>.{1,4000})"
    r"|unrecognized arguments: (?P<unrecognized>.{1,4000})"
    r"|argument (?P<argument>[^:]{1,200}): .{1,4000}"
    r"|(?:the following arguments|one of the arguments|too few arguments).{0,4000}))"
)
_USAGE = re.compile(r"usage: \S|\s{1,60}\[-{1,2}[\w-]")


def _parse(message: str) -> Fields | None:
    if error := _ERROR.match(message):
        named = error.groupdict()
        option = named["ambiguous"] or named["unrecognized"] or named["argument"]
        candidates = tuple((named["candidates"] or "").split(", ")) if named["candidates"] else ()
        return {
            "part": "error",
            "prog": named["prog"],
            "sentence": named["sentence"],
            "option": option,
            "candidates": candidates,
        }
    return {"part": "usage"} if _USAGE.match(message) else None


PARSER = Parser(kind="argparse_error", starts=("usage:",), hints=(": error: ", " [-"), parse=_parse)
