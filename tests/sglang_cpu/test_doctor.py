"""The doctor's verdict before a launch against what SGLang then does, for the wirings of wirings.py.

By default a silent fault and a loud one; all of them with SPEC_CONSOLE_FULL=1 (about fifty minutes).
`python -m tests.sglang_cpu.doctor_table` prints the same as a table.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.sglang_cpu.conftest import make_site
from tests.sglang_cpu.doctor_table import Pairs, examine
from tests.sglang_cpu.wirings import FEW, WIRINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sglang_cpu.conftest import Site
    from tests.sglang_cpu.wirings import Wiring

pytestmark = [pytest.mark.sglang_cpu, pytest.mark.sshd, pytest.mark.slow, pytest.mark.timeout(600)]

FULL = os.environ.get("SPEC_CONSOLE_FULL") == "1"


@pytest.fixture(scope="module")
def doctor(site: Site) -> Iterator[Site]:
    """A console of its own: what it measures is not among the runs that other tests count."""
    made = make_site(site.home.with_name("doctor"), site.sshd, site.cpu)
    yield made
    made.leave()


@pytest.fixture(scope="module")
def doctor_v1(site_v1: Site) -> Iterator[Site]:
    made = make_site(site_v1.home.with_name("doctor-v1"), site_v1.sshd, site_v1.cpu)
    yield made
    made.leave()


@pytest.fixture(scope="module")
def pairs(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    return Pairs(tmp_path_factory.mktemp("pairs"), site.cpu)


@pytest.mark.parametrize("wiring", WIRINGS if FULL else FEW, ids=lambda wiring: wiring.id)
def test_what_the_doctor_says_is_what_happens(wiring: Wiring, pairs: Pairs, request: pytest.FixtureRequest):
    site: Site = request.getfixturevalue("doctor_v1" if wiring.worker == "v1" else "doctor")
    row = examine(site, pairs, wiring)
    assert row.finds == wiring.finds
    assert row.then == wiring.then, row.explained
    assert row.agrees
