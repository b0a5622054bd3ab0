"""SIMULATED: a stand-in for SGLang, made for learning and for tests. It holds no engine, no model and no GPU code.

It has the command line, log lines, HTTP endpoints, process titles and patch anchors of sglang 0.5.12.post1 as far as
spec-console uses them. Its speeds come from `table.json`; nothing it says is a measurement.
"""

from sglang.version import __version__

__all__ = ["__version__"]
