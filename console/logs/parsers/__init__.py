"""Log parsers: one kind of record a file, found by the file's name. Order cannot matter: no two claim the same line.

To add one, copy this into `parsers/my_kind.py` and put lines and their fields in `tests/data/logs/kinds/my_kind.jsonl`:

    '''What the line says, and which releases print it.'''
    import re
    from console.logs.parser import Fields, Parser

    _LINE = re.compile(r"My line ([0-9]{1,9}) of ([0-9]{1,9})$")

    def _parse(message: str) -> Fields | None:
        match = _LINE.match(message)
        return {"done": int(match[1]), "total": int(match[2])} if match else None

    PARSER = Parser(kind="my_kind", starts=("My line ",), parse=_parse)
"""
