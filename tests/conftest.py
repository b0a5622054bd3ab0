"""What all tests share: a property test may take as long as a busy machine lets it.

On every change it tries a fourth of Hypothesis's examples where it names no number of its own, and all of them with
SPEC_CONSOLE_FULL=1 (.ci/full): for the messages of the protocol alone these are minutes.
"""

import os

from hypothesis import settings

settings.register_profile("on every change", deadline=None, max_examples=25)
settings.register_profile("full", deadline=None, max_examples=100)
settings.load_profile("full" if os.environ.get("SPEC_CONSOLE_FULL") == "1" else "on every change")
