"""Launch lines and configs of the cases, and what must be found in each: no more and no less."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from console import lint
from console.actions.doctor import Offline, examine_line, examine_pair
from tests import drafts

if TYPE_CHECKING:
    from console.lint.finding import Finding

DATA = Path(__file__).parents[1] / "data" / "cases"
Expected = tuple[str, str]
"""A rule and its severity."""

OPEN = ("open-host-without-key", "warn")
LIMIT = ("max-running-requests-unset", "info")


@dataclass(frozen=True, slots=True)
class Case:
    """One launch line; findings in the order in which they are told: errors first, then by rule."""

    id: str
    file: str
    version: str | None
    expects: tuple[Expected, ...]
    concurrency: int | None = None
    """Requests at once of its probe, where the case names them."""
    pair: str = ""
    """The draft and target of tests/data/drafts that it is tried with."""
    config: int | None = None
    """Which of the file's own JSON objects the draft's config takes over."""
    draft: dict[str, Any] = field(default_factory=dict)
    """Other keys of the draft's config."""


KIMI, LLAMA = "torchspec-kimi-k25", "specforge-llama3-8b"
STORY, QUIET = "B20-story-launch.txt", (OPEN, ("flag-no-effect", "info"), LIMIT)
UNKNOWN = ("layer-outputs", "warn")


def _ids(*ids: int) -> dict[str, Any]:
    return {"eagle_config": {"eagle_aux_hidden_state_layer_ids": list(ids)}}


WIRING_CASES = (
    Case("A01", "A01-eagle-flag.txt", "0.5.20", (("algorithm-for-eagle3", "error"), OPEN, LIMIT), pair=KIMI, config=0),
    Case(
        "A01 anywhere",
        "A01-eagle-flag.txt",
        None,
        (("algorithm-for-eagle3", "error"), OPEN, LIMIT),
        pair=KIMI,
        config=0,
    ),
    Case(
        "A02",
        STORY,
        "0.5.12.post1",
        (("captures-mismatch", "error"), ("ids-out-of-range", "error"), *QUIET),
        pair=KIMI,
        draft=_ids(-1, 2, 30, 58),
    ),
    Case("A06", "A06-aux-ids.txt", "0.5.12.post1", (UNKNOWN,), pair=KIMI, config=0),
    Case("A06 later", "A06-aux-ids.txt", "0.5.13", (UNKNOWN,), pair=KIMI, config=0),
    Case("A06 default", "A06-aux-ids.txt", "0.5.13", (), pair=KIMI, config=1),
    Case("A08", "A08-draft-attn.txt", "0.5.12", (("draft-attention-backend", "warn"), OPEN, LIMIT), pair=KIMI),
    Case("A10", STORY, "0.5.9", (("target-without-hook", "error"), *QUIET), pair=KIMI),
    Case(
        "A12", STORY, "0.5.20", (("draft-vocab", "error"),) * 2 + QUIET, pair=LLAMA, draft={"draft_vocab_size": 128256}
    ),
    Case(
        "A13",
        STORY,
        "0.5.20",
        (("draft-dtype", "warn"), *QUIET),
        pair="specforge-deepseek-v3",
    ),
    Case("A18", "A18-target-hidden.txt", "0.5.20", (), pair="yuhuili-eagle3-llama3.3-70b", config=0),
    Case(
        "A18 without it",
        "A18-target-hidden.txt",
        "0.5.20",
        (("captures-mismatch", "error"),),
        pair="yuhuili-eagle3-llama3.3-70b",
        config=0,
        draft={"target_hidden_size": ...},
    ),
    Case("A20", "A20-short-draft.txt", "0.5.20", (("draft-context", "error"), OPEN, LIMIT), pair=KIMI, config=0),
    Case(
        "A20 in 0.4.6",
        "A20-short-draft.txt",
        "0.4.6.post1",
        (("draft-context", "warn"), OPEN, LIMIT),
        pair=LLAMA,
        config=0,
    ),
    Case("F07", "F07-graphs-on.txt", "0.5.12.post1", (("debug-with-graphs", "warn"), *QUIET), pair=KIMI),
    Case("story", STORY, "0.5.12.post1", QUIET, pair=KIMI),
)

LAUNCH_CASES = (
    Case("A11", "A11-no-draft.txt", "0.5.20", (("draft-missing", "error"), OPEN, LIMIT)),
    Case("A17", "A17-specv2-topk.txt", "0.5.9", (("topk-needs-v1", "error"), OPEN, LIMIT)),
    Case("A17 on v1", "A17-specv2-topk.txt", "0.5.12.post1", (OPEN, LIMIT, ("topk-needs-v1", "info"))),
    Case("A17 later", "A17-specv2-topk.txt", "0.5.20", (OPEN, LIMIT)),
    Case("B11 before", "B11-abbrev.txt", "0.5.1.post3", (*[("flag-abbreviated", "warn")] * 4, LIMIT)),
    Case("B11", "B11-abbrev.txt", "0.5.2", (("flag-abbreviated", "error"), *[("flag-abbreviated", "warn")] * 3, LIMIT)),
    Case("B12", "B12-underscore.txt", "0.5.5", (("flag-underscore", "error"), ("flag-abbreviated", "warn"))),
    Case("B13", "B13-vllm-flags.txt", "0.5.9", (("flag-of-vllm", "error"),) * 4),
    Case("B13 anywhere", "B13-vllm-flags.txt", None, (("flag-of-vllm", "error"),) * 4),
    Case("B19", "B19-adjusted.txt", "0.5.9", (("draft-tokens-adjusted", "warn"), LIMIT)),
    Case("B20", "B20-story-launch.txt", "0.5.12.post1", (OPEN, ("flag-no-effect", "info"), LIMIT)),
    Case(
        "E08",
        "E08-graph-bs.txt",
        "0.5.2",
        (("flag-abbreviated", "warn"), ("graph-bs-below-concurrency", "warn"), LIMIT),
        concurrency=8,
    ),
    Case(
        "E08 later",
        "E08-graph-bs.txt",
        "0.5.20",
        (("flag-removed", "error"), ("flag-abbreviated", "warn"), ("graph-bs-below-concurrency", "warn"), LIMIT),
        concurrency=8,
    ),
    *WIRING_CASES,
    Case("E12", "E12-simulate.txt", "0.5.20", (("simulate-acc-len", "error"), OPEN, LIMIT)),
)


def found(case: Case) -> tuple[Finding, ...]:
    """What the rules say of the case, without a node; with files of models where it has a pair."""
    text = (DATA / case.file).read_text("utf-8")
    with TemporaryDirectory() as folder:
        where = _written(case, text, Path(folder)) if case.pair else Offline(version=case.version)
        launches = "sglang.launch_server" in text
        launch = (examine_line(text, where, case.file) if launches else examine_pair(where)).launch
    return lint.check(replace(launch, concurrency=case.concurrency))


def _written(case: Case, text: str, folder: Path) -> Offline:
    config = {} if case.config is None else _objects(text)[case.config]
    changed = drafts.load(case.pair).with_draft(**{**config, **case.draft})
    said = json.loads((drafts.DATA / f"{case.pair}.json").read_text("utf-8"))
    tensors = drafts.tensors_of({**said["draft"], **config}, said["target"], said["style"])
    replace(changed, tensors=tensors).write(folder)
    return Offline(case.version, str(folder / "target"), str(folder / "draft"))


def _objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects that a case's file gives as configs of a draft."""
    lines = [line.removeprefix("# draft config.json: ") for line in text.splitlines()]
    return [json.loads(line) for line in lines if line.startswith("{")]
