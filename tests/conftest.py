"""What all tests share: a property test may take as long as a busy machine lets it, and what would only cost time.

On every change a property is tried on a fourth of its examples (tests/examples.py), and on all of them with
SPEC_CONSOLE_FULL=1 (.ci/full): for the messages of the protocol alone these are minutes.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

from hypothesis import settings

from tests.examples import examples

settings.register_profile("on every change", deadline=None, max_examples=examples(100))
settings.load_profile("on every change")

# Thousands of collected tests are no garbage: to look through them again and again takes a fifth of the time.
gc.set_threshold(20_000, 20, 50)


def pytest_configure() -> None:
    """In place of a version switcher's shims, each of which is a shell script, the folder of the Python that runs."""
    own = str(Path(sys.executable).resolve().parent)
    folders = os.environ["PATH"].split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join(own if Path(each).name == "shims" else each for each in folders)


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
