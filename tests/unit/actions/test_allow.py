"""`--allow RULE`: a rule that there is none of is refused before the node is asked anything."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from console import lint
from console.actions import calibrate, launch_server
from console.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable

NODE: Any = SimpleNamespace(name="n", simulated=False)


@pytest.mark.parametrize(
    "plan",
    [
        lambda allow: launch_server.plan(NODE, "p", allow=allow),
        lambda allow: calibrate.plan(NODE, calibrate.CalibrateRequest(allow=allow)),
    ],
    ids=["launch", "calibrate"],
)
@pytest.mark.parametrize(("typed", "hint"), [("gpus-hold", "Nearest: gpus-held."), ("qqq", "rules list")])
def test_an_allowed_rule_that_is_none_is_refused_with_the_nearest(plan: Any, typed: str, hint: str) -> None:
    async def planned() -> None:
        work: Awaitable[object] = plan(("port-in-use", typed))
        await work

    with pytest.raises(UsageError, match=f"no rule is called '{typed}'") as refused:
        asyncio.run(planned())
    assert hint in refused.value.hint


def test_what_a_calibration_allows_by_itself_are_rules() -> None:
    lint.require_rules(calibrate.OF_WIRING)
