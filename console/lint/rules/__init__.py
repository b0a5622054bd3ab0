"""One rule a file; the stem, with hyphens, is the rule's id. To add one:

\"\"\"Why this matters, and the source.\"\"\"

from collections.abc import Iterator
from console.lint.context import LaunchContext
from console.lint.finding import Finding

def check(context: LaunchContext) -> Iterator[Finding]:
    if ...:
        yield Finding("my-rule", "error", "what is wrong", "what to do", "the evidence")
"""
