"""`The server is fired up and ready to roll!`: all releases, and also when *another* server answers at the port."""

from console.logs.parser import Fields, Parser


def _parse(message: str) -> Fields | None:
    return {} if message.startswith("The server is fired up and ready to roll!") else None


PARSER = Parser(kind="ready", starts=("The server is fired up",), parse=_parse)
