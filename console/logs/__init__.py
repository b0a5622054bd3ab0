"""Server logs, purely: bytes to lines (split), lines to records (classify, parsers), records to what they say together
(history, phases, shapes, stats). Nothing here reads a file, a clock or a socket; every line is hostile plain text.
"""
