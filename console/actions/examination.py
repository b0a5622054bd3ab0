"""What the wiring doctor says of a launch: its files, the layers that it captures, the findings and the fix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from console.actions.draft_layers import GRAPHS_IGNORE_IDS, resolved_json, resolved_lines, written
from console.lint.finding import for_node
from console.lint.wired import replays_graphs
from console.wiring import draft as drafts
from console.wiring.layers import Captures, ids_for
from console.wiring.timeline import timeline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from console.lint.context import Launch
    from console.lint.finding import Finding
    from console.wiring.checkpoint import Checkpoint


@dataclass(frozen=True, slots=True)
class Examination:
    """A launch, what was found in it, and what could not be looked at."""

    launch: Launch
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not any(each.severity == "error" for each in self.findings)

    def on(self, node: str) -> Examination:
        """The same, with the node's name in hints and notes."""
        notes = tuple(for_node(each, node) for each in self.notes)
        return replace(self, findings=tuple(each.on(node) for each in self.findings), notes=notes)

    def lines(self) -> Iterator[str]:
        yield from self._subject()
        yield from self.wiring()
        yield from (f"note: {each}" for each in self.notes)
        for each in self.findings:
            yield f"{each.severity}: {each.message} [{each.rule}]"
            yield from (f"  {text}" for text in (each.hint, each.evidence) if text)
        yield self._verdict()

    def to_json(self) -> dict[str, Any]:
        launch = self.launch
        found = launch.resolution
        ids = self._ids_of_trained()
        stretches = timeline(launch.target.config, launch.draft.config) if launch.target and launch.draft else ()
        return {
            "sglang_version": launch.version,
            "target": _checkpoint_json(launch.target),
            "draft": _checkpoint_json(launch.draft),
            **(resolved_json(found) if found else {"ids": None, "resolved": None}),
            "by_release": [
                {
                    "from": each.first,
                    "to": each.last,
                    "outputs": list(each.eager.outputs),
                    "faults": [*each.eager.faults],
                }
                for each in stretches
            ],
            "trained": list(launch.trained) if launch.trained else None,
            "agrees": self._agrees(),
            "write": list(ids) if isinstance(ids, tuple) else None,
            "why": ids if isinstance(ids, str) else "",
            "findings": [each.to_json() for each in self.findings],
            "notes": list(self.notes),
        }

    def _subject(self) -> Iterator[str]:
        launch = self.launch
        yield f"SGLang {launch.version or 'of an unknown version'}"
        for word, each in (("target", launch.target), ("draft", launch.draft)):
            if each is not None and each.config:
                yield f"{word} {drafts.architecture(each.config) or 'of no architecture'} ({each.path}){_sizes(each)}"

    def wiring(self) -> Iterator[str]:
        """Which layer outputs are captured, by the installed release and by others, and what was trained."""
        launch, found = self.launch, self.launch.resolution
        if found is None or launch.target is None or launch.draft is None:
            return
        yield from resolved_lines(found)
        stretches = timeline(launch.target.config, launch.draft.config)
        if len({each.eager for each in stretches}) > 1:
            told = "; ".join(f"{written(each.eager.outputs)} {each.when}" for each in stretches)
            yield f"by release: outputs of layers {told}"
        if launch.trained:
            word = {True: "the same", False: "DIFFERENT", None: "not comparable"}[self._agrees()]
            yield f"trained on the outputs of layers {written(launch.trained)} ({launch.trained_by}): {word}"
        if launch.trained and self._agrees() is False:
            yield self._advice(launch.trained)

    def _advice(self, trained: tuple[int, ...]) -> str:
        found, ids = self.launch.resolution, self._ids_of_trained()
        if found is not None and found.eager == Captures(trained):
            return GRAPHS_IGNORE_IDS
        if isinstance(ids, str):
            return f"no ids give what was trained: {ids}"
        return f"to capture what was trained, write ids {list(ids or ())}"

    def _agrees(self) -> bool | None:
        found, trained = self.launch.resolution, self.launch.trained
        if not trained or found is None:
            return None
        ways = (found.eager, found.replay) if replays_graphs(self.launch.asked) else (found.eager,)
        if any(each is not None and each != Captures(trained) for each in ways):
            return False
        return None if None in ways else True

    def _ids_of_trained(self) -> tuple[int, ...] | str | None:
        found, trained = self.launch.resolution, self.launch.trained
        if not trained or found is None or found.rule is None or found.layers is None:
            return None
        return ids_for(found.rule, found.layers, trained)

    def _verdict(self) -> str:
        words = (("error", "errors"), ("warn", "warnings"), ("info", "remarks"))
        counts = [(sum(each.severity == word for each in self.findings), word, many) for word, many in words]
        told = ", ".join(f"{count} {many if count > 1 else many[:-1]}" for count, _word, many in counts if count)
        return told or "nothing found"


def _sizes(checkpoint: Checkpoint) -> str:
    text = drafts.text_config(checkpoint.config)
    hidden, layers = drafts.number(text, "hidden_size"), drafts.number(text, "num_hidden_layers")
    fc = drafts.tensor(checkpoint, "fc.weight")
    told = [
        f"{layers} layer{'s' * (layers > 1)}" if layers else "",
        f"hidden {hidden}" if hidden else "",
        f"fc {list(fc.shape)}" if fc else "",
    ]
    return "".join(f", {each}" for each in told if each)


def _checkpoint_json(checkpoint: Checkpoint | None) -> dict[str, Any] | None:
    if checkpoint is None:
        return None
    fc = drafts.tensor(checkpoint, "fc.weight")
    return {
        "path": checkpoint.path,
        "architecture": drafts.architecture(checkpoint.config),
        "fc": list(fc.shape) if fc else None,
        "weight_bytes": checkpoint.weight_bytes,
        "problem": checkpoint.problem,
    }
