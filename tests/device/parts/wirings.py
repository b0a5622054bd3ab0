"""Wirings of the DeepSeek pair with an acceptance that the weights predict: told before launch, measured as said."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.device.kits import another_draft
from tests.device.parts import faults
from tests.device.parts.shapes import speeds
from tests.device.site import NODE, REFUSED, allow

if TYPE_CHECKING:
    from tests.device.report import Part
    from tests.device.rig import Rig


@dataclass(frozen=True, slots=True)
class Wiring:
    """Ids of SGLang 0.5.12.post1 (None: none in the config), and what 400 tokens then show."""

    name: str
    ids: tuple[int, ...] | None
    accept_len: float
    hist: list[int]
    steps: int = 5


TRAINED = (2, 3, 6)
WIRINGS = (
    Wiring("one-layer-early", (1, 2, 5), 1.7778, [186, 3, 2, 1, 1, 32]),
    Wiring("default-ids", None, 1.6598, [205, 2, 2, 2, 0, 30]),
    Wiring("one-of-three-wrong", (1, 3, 6), 2.7972, [81, 6, 6, 3, 2, 45]),
    Wiring("two-steps", TRAINED, 2.7397, [12, 15, 119], steps=2),
)


def run(rig: Rig) -> None:
    rig.at_once("wirings", [(wiring.name, partial(_try, wiring=wiring)) for wiring in WIRINGS])


def _try(rig: Rig, part: Part, *, wiring: Wiring) -> None:
    draft = another_draft(rig.kit.pairs / "deepseek", wiring.name, wiring.ids)
    with rig.site(wiring.name) as site:
        words = [f"speculative.draft_model_path={draft}"]
        words += [f"speculative.num_steps={wiring.steps}", f"speculative.num_draft_tokens={wiring.steps + 1}"]
        sets = [word for each in words for word in ("--set", each)]
        done = site.launch(part, "deepseek-eagle3", *sets, *allow(faults.BESIDE))
        if wiring.ids != TRAINED:
            part.expect("told before launch: exit code", done.code, REFUSED)
            part.expect("told before launch: rules", done.refused, "layer-outputs", ok="layer-outputs" in done.refused)
            part.figure("told before launch", done.error.get("message"))
        if done.code:
            site.must_launch(part, "deepseek-eagle3", *sets, *allow([*done.refused, *faults.BESIDE]))
        members = site.members()
        run: dict[str, Any] = site.must(part, "probe", NODE, timeout_s=300).told["run"]
        part.expect("probe: accept_len", round(run["accept_len"] or 0, 4), wiring.accept_len)
        part.expect("probe: histogram", run["accept_hist"], [len(run["blocks"]) * n for n in wiring.hist])
        part.figure("probe", speeds(run))
        faults.stopped(site, part, members)
