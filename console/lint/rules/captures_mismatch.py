"""The draft's fc is for other captures than the target gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from console.lint import wired
from console.lint.evidence import quoting
from console.lint.log_wiring import LogWiring, of_matmul, weight_name, weight_shapes, wiring_of
from console.lint.rule import Rule
from console.wiring import draft as drafts
from console.wiring.checkpoint import DEFAULT_CAPTURES
from console.wiring.layers import KEY, USE_AUX_SINCE, draft_ids
from console.wiring.widths import judge_matmul

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch, LogContext
    from console.lint.finding import Finding
    from console.logs.record import Record

RULE = Rule(
    id="captures-mismatch",
    title="The draft's fc is for other captures than the target gives",
    why="fc takes K states of the target side by side, each H wide. One id more, an embedding added by a patch, or "
    "another target, and the server dies at load or at the first draft extend, minutes later: torch says no more than "
    "`mat1 and mat2 shapes cannot be multiplied`.",
    source="models/llama_eagle3.py l.154 (0.5.12), kimi_k25_eagle3.py; four ids run on 2 × H200 (0.5.12.post1) and on "
    "0.5.20; sgl-project/sglang PR 4716; cases A02, A03, A18",
)


def check(launch: Launch) -> Iterator[Finding]:
    draft = wired.eagle3_draft(launch)
    if draft is None:
        return
    at, ids = wired.at(launch), draft_ids(draft.config)
    built = drafts.built(draft, at)
    target_width = wired.target_number(launch, "hidden_size")
    width = built.state_width
    if target_width and width and target_width != width:
        key = "target_hidden_size" if drafts.number(draft.config, "target_hidden_size") else "hidden_size"
        message = f"the draft is for states {width} wide, the target's are {target_width}"
        hint = f'It is another target\'s draft, or its config lacks "target_hidden_size": {target_width}.'
        yield RULE.error(message, hint, f"{key} {width} of the draft, hidden_size {target_width} of the target")
        return
    width = target_width or width
    given = len(ids.ids) if ids.ids else DEFAULT_CAPTURES
    if not ids.uses_aux and built.fc_in and built.fc_in != width and (at is None or at >= USE_AUX_SINCE):
        message = "use_aux_hidden_state is false: nothing is captured, and fc wants captures"
        yield RULE.error(message, 'Take "use_aux_hidden_state" out of eagle_config.', _fc(built))
    elif built.fc_in and width and built.fc_in % width:
        message = f"fc takes {built.fc_in}, which is no multiple of a state's width {width}"
        yield RULE.error(message, "It is another target's draft, or its config lacks target_hidden_size.", _fc(built))
    elif built.fc_in and width and built.fc_in // width != given:
        has = built.fc_in // width
        message = f"{_states(given)} captured ({given * width} wide), fc takes {has} × {width} = {built.fc_in}"
        yield RULE.error(message, f"Write the {has} ids it was trained on into eagle_config.{KEY}.", _fc(built))
    elif built.captures != given:
        message = f"{_states(given)} captured, the draft is built for {built.captures} ({built.why})"
        yield RULE.error(message, f"Write {built.captures} ids into eagle_config.{KEY}, those it was trained on.")
    elif built.fc_in and width and built.fc_in // width != built.captures:
        message = (
            f"the server builds fc for {built.captures} ({built.why}), the checkpoint's is for {built.fc_in // width}"
        )
        yield RULE.error(message, "The weights do not load. Check num_aux_hidden_states and the ids.", _fc(built))


def explain(log: LogContext) -> Iterator[Finding]:
    for record in log.errors("matmul"):
        alike = [each for each in log.errors("matmul") if each.fields["sentence"] == record.fields["sentence"]]
        same = [each for each in alike if each is not record]
        if finding := _matmul(record, wiring_of(log), _where(log, record, len(same))):
            yield quoting(finding, record, *same)
            break
    for record in log.errors("captures"):
        message = f"{record.fields['captured']} of {record.fields['wanted']} captured states came"
        hint = "An id is below 0 or above the last layer, or two-batch overlap is on: check the draft's ids."
        yield quoting(RULE.error(message, hint), record)
        break
    for record in log.errors("size_mismatch", "weight_shape"):
        if finding := _built(log, record):
            yield quoting(finding, record)
            break


def _states(number: int) -> str:
    return "1 state is" if number == 1 else f"{number} states are"


def _fc(built: drafts.Built) -> str:
    return f"fc.weight {list(built.fc.shape)}" if built.fc else ""


def _matmul(record: Record, wiring: LogWiring, where: str) -> Finding | None:
    given, wanted = cast("int", record.fields["mat1_columns"]), cast("int", record.fields["mat2_rows"])
    hidden_size = wiring.hidden_size
    if hidden_size is None or given % hidden_size or wanted % hidden_size:
        own = of_matmul(record)
        hidden_size = own[0] if own else None
    verdict = judge_matmul(given, wanted, hidden_size)
    if verdict.state != "wrong" or hidden_size is None or wanted == hidden_size:
        return None
    return RULE.error(f"{verdict.sentence}{where}", _hint(given // hidden_size, wanted // hidden_size, wiring.layers))


def _where(log: LogContext, record: Record, others: int) -> str:
    rank = log.cause.rank if log.cause and log.cause.offset == record.offset else record.rank
    first = f"rank {rank}" if rank is not None else "the log"
    return f"; told by {first}{f' and {others} more' if others else ''}" if rank is not None or others else ""


def _hint(has: int, wants: int, layers: int | None) -> str:
    if has == 1:
        return "Nothing was captured: --speculative-algorithm EAGLE3, and a target class with the EAGLE-3 hook."
    if has > _ALL_LAYERS and (layers is None or has == layers + 1):
        return f"{has} is every layer and the embedding (layers + 1): concatenate only the {wants} that are wanted."
    if has > wants:
        return (
            f"Give the draft's config (eagle_config.eagle_aux_hidden_state_layer_ids) the {wants} ids of its training. "
            "Take off a patch that adds a capture, such as the embedding."
        )
    return f"Give the draft's config all {wants} ids it was trained on (eagle_config.eagle_aux_hidden_state_layer_ids)."


_ALL_LAYERS = 8
"""More captures than any draft wants: somebody concatenated every layer."""


def _built(log: LogContext, record: Record) -> Finding | None:
    """fc of the checkpoint against fc as the server built it."""
    shapes, name = weight_shapes(record), weight_name(log, record)
    if shapes is None or not name.endswith("fc.weight"):
        return None
    (out, has), (built_out, wants) = shapes
    if out != built_out:
        return None
    hint = "The number of ids (or num_aux_hidden_states, target_hidden_size) in the draft's config is not its weights'."
    if not out or has % out or wants % out:
        return RULE.error(f"{name} takes {has} in the checkpoint, the server built it for {wants}", hint)
    message = f"{name} is for {has // out} captures in the checkpoint, the server built it for {wants // out}"
    return RULE.error(f"{message} (hidden size {out})", hint)
