"""Every patch on released SGLang: it applies where `expected` says and only there, compiles, comes off to the byte."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import pytest

from console.patches import library
from console.patches.plan import plan, strip, wanted_paths
from tests.pythons import FOUND
from tests.wheels import expected, released

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from console.patches.plan import PatchPlan

    Files = Mapping[str, bytes | None]

pytestmark = [pytest.mark.wheels, pytest.mark.timeout(300)]

VERSIONS = expected.RELEASES if os.environ.get("SPEC_CONSOLE_FULL") == "1" else expected.FEW
COMPILE = """
import sys, warnings
warnings.simplefilter("ignore")
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        compile(file.read(), path, "exec", dont_inherit=True)
"""

every_patch = pytest.mark.parametrize("patch_id", sorted(library.patches()))


@pytest.fixture(scope="module", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """Each release, all tests of one after the other: it is planned once for them."""
    return str(request.param)


@functools.lru_cache(maxsize=4)
def look(patch_id: str, version: str) -> tuple[library.Patch, Files, PatchPlan]:
    patch = library.patches()[patch_id]
    try:
        files = released.read(version, wanted_paths(patch, all_models=True))
    except released.Unavailable as reason:
        pytest.skip(str(reason))
    return patch, files, plan(patch, files)


@every_patch
def test_it_applies_exactly_where_it_should(patch_id: str, version: str) -> None:
    patch, _, result = look(patch_id, version)
    helper, *edited = result.files
    assert (helper.path, helper.state) == (patch.helper.path, "appliable")
    assert {PurePosixPath(one.path).stem: one.state for one in edited} == expected.states(patch_id, version)


@every_patch
def test_it_compiles_with_the_oldest_python_of_the_release(patch_id: str, version: str, tmp_path: Path) -> None:
    python = FOUND.get(expected.python_of(version))
    if python is None:
        pytest.skip(f"no Python {expected.python_of(version)} here")
    _, _, result = look(patch_id, version)
    paths = [tmp_path / one.path.replace("/", "_") for one in result.changes]
    for path, one in zip(paths, result.changes, strict=True):
        path.write_bytes(one.new_text or b"")
    done = subprocess.run([python, "-c", COMPILE, *map(str, paths)], capture_output=True, check=False, timeout=120)
    assert (done.returncode, done.stderr.decode()) == (0, "")


@every_patch
def test_it_only_adds_lines_and_comes_off_to_the_byte(patch_id: str, version: str) -> None:
    patch, files, result = look(patch_id, version)
    for one in result.changes:
        changed = [line for line in one.diff.splitlines()[2:] if line[:1] in "+-"]
        assert changed
        assert all(line.startswith("+") for line in changed), one.path
        assert one.path == patch.helper.path or strip(patch, one.new_text or b"") == files[one.path]
    after = {**files, **{one.path: one.new_text for one in result.changes}}
    states = {one.state for one in plan(patch, after).files}
    assert "applied" in states
    assert states <= {"applied", "not-applicable", "conflict"}


def test_all_patches_together_come_off_in_any_order(version: str) -> None:
    files: dict[str, bytes | None] = {}
    for patch_id in sorted(library.patches(), reverse=True):
        files |= look(patch_id, version)[1]
    after = dict(files)
    for patch_id in library.patches():
        after |= {one.path: one.new_text for one in plan(library.patches()[patch_id], after).changes}
    assert {plan(library.patches()[patch_id], after).state for patch_id in library.patches()} <= {"applied", "conflict"}
    for patch in library.patches().values():
        after = {path: text and strip(patch, text) for path, text in after.items() if path != patch.helper.path}
    assert after == {path: text for path, text in files.items() if path in after}


def test_the_target_is_timed_where_verify_runs_it(version: str) -> None:
    _, _, result = look("eagle3-cycle", version)
    found = {site.rsplit(":", 1)[0] for one in result.files for site in one.sites if site.startswith("cycle.target")}
    v1 = {"cycle.target EAGLEWorker.verify"} if version in _between(*expected.WORKERS["eagle_worker"]) else set()
    v2 = {"cycle.target EAGLEWorkerV2.verify"} if version in _between(*expected.A4_IN_V2) else set()
    common = _between(*expected.WORKERS["eagle_worker_common"])
    assert found == v1 | v2 | ({"cycle.target run_eagle_verify"} if version in common else set())


def _between(first: str, last: str) -> set[str]:
    return {version for version in expected.RELEASES if expected.is_between(version, first, last)}
