"""Print what the doctor says before a launch beside what then happens: `python -m tests.sglang_cpu.doctor_table`.

Every wiring of wirings.py, about fifty minutes; with words, those whose ids contain one. 1 when they disagree.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console import registry
from console.lint import rules
from tests.e2e import sshd
from tests.sglang_cpu import crafted, environment
from tests.sglang_cpu.conftest import NODE, Site, make_site
from tests.sglang_cpu.wirings import WIRINGS, Accepts, Dies, Wiring

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.sglang_cpu.environment import CpuSGLang

JUDGED = ("error", "warn")
OF_WIRING = {
    "path-missing",
    *(each.RULE.id for each in registry.modules(rules).values() if hasattr(each, "check")),
}
"""Rules about a launch and its files; what this machine is like is not looked at."""
CAUSE_OF = {"captures-mismatch": "ids-out-of-range"}
"""A log shows how many states came, a config which id is to blame."""


@dataclass(frozen=True, slots=True)
class Row:
    """One wiring: the verdict, and what came of it."""

    wiring: Wiring
    finds: tuple[str, ...]
    """Rules with an error or a warning before the launch, in their order."""
    then: Accepts | Dies
    explained: str = ""
    """The first finding of `explain` where it died."""

    @property
    def bad(self) -> bool:
        """Is it worse than the pair can be?"""
        return isinstance(self.then, Dies) or self.then.accept_len < self.wiring.right

    @property
    def agrees(self) -> bool:
        """Is what is found bad, what is bad found, and a death's cause what was found?"""
        if isinstance(self.then, Dies) and not {self.then.rule, CAUSE_OF.get(self.then.rule)} & {*self.finds}:
            return False
        return bool(self.finds) == self.bad

    @property
    def expected(self) -> bool:
        return (self.finds, self.then) == (self.wiring.finds, self.wiring.then)

    def line(self) -> str:
        mark = "" if self.agrees and self.expected else "  << not as expected" if self.agrees else "  << DISAGREE"
        return f"{self.wiring.id:42}  {', '.join(self.finds) or 'nothing':44}  {self.then}{mark}"


class Pairs:
    """The crafted pairs in a folder of their own, and the drafts made from them."""

    def __init__(self, folder: Path, cpu: CpuSGLang) -> None:
        self._folder = folder
        self._cpu = cpu

    def target(self, wiring: Wiring) -> Path:
        return self._pair(wiring.pair) / "target"

    def draft(self, wiring: Wiring) -> Path:
        base = self._small(wiring.pair) if wiring.small else self._pair(wiring.pair) / "draft"
        made = crafted.write(base, self._folder / "drafts" / wiring.folder, wiring.config, wiring.tensors)
        if wiring.files:
            wiring.files(made)
        return made

    def _pair(self, name: str) -> Path:
        return self._cpu.pair if name == "deepseek" else self._made(name, name, "--ids", "2,3,6")

    def _small(self, name: str) -> Path:
        """A draft that speaks 384 of the target's 512 tokens."""
        ids = "2,3,6" if name == "llama" else environment.TRAINED_IDS
        pair = self._made(f"{name}-384", name, "--ids", ids, "--draft-vocab", "384")
        shutil.rmtree(pair / "target", ignore_errors=True)
        return pair / "draft"

    def _made(self, name: str, arch: str, *options: str) -> Path:
        folder = self._folder / name
        if not folder.exists():
            argv = [str(self._cpu.python), str(environment.KIT / "make_pair.py"), str(folder), "--arch", arch, *options]
            subprocess.run(argv, check=True, capture_output=True, timeout=120)
        return folder


def examine(site: Site, pairs: Pairs, wiring: Wiring) -> Row:
    """Ask the doctor, then launch in spite of what it says, and see."""
    words = [NODE, wiring.profile, f"--set=log_path={site.home}/logs/{wiring.folder}.log"]
    words += [f"--set=model_path={pairs.target(wiring)}", f"--set=speculative.draft_model_path={pairs.draft(wiring)}"]
    words += [f"--set={each}" for each in wiring.sets]
    code, told, narration = site.run("launch", *words, "--dry-run")
    assert code in (0, 5), narration
    found = [each for each in told["findings"] if each["severity"] in JUDGED and each["rule"] in OF_WIRING]
    finds = tuple(dict.fromkeys(each["rule"] for each in found))
    allowed = [f"--allow={each['rule']}" for each in told["findings"] if each["severity"] == "error"]
    code, told, narration = site.run("launch", *words, *allowed, "--yes")
    if code == 6:
        return Row(wiring, finds, *_death(site, Path(f"{site.home}/logs/{wiring.folder}.log"), told["error"]))
    assert code == 0, narration
    code, told, narration = site.run("probe", NODE, "--blocks", "1", "--warmup", "0")
    stopped, _, _ = site.run("stop", NODE, "--yes")
    assert (code, stopped) == (0, 0), narration
    run = told["run"]
    return Row(wiring, finds, Accepts(round(run["accept_len"], 4), tuple(run["accept_hist"])))


def _death(site: Site, log: Path, error: dict[str, Any]) -> tuple[Dies, str]:
    code, told, _ = site.run("explain", str(log))
    assert code == 1, f"nothing explains {log}"
    first = told["findings"][0]
    assert first["rule"] == error["findings"][0]["rule"], "the launch and its log are explained alike"
    return Dies(first["rule"]), f"{first['rule']}: {first['message']}"


def examine_all(wirings: Sequence[Wiring]) -> Iterator[Row]:
    """Examine each on a node of its own, one at a time."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        server = sshd.start(folder / "sshd")
        sites = {"v2": make_site(folder / "v2", server, environment.prepare())}
        if any(each.worker == "v1" for each in wirings):
            sites["v1"] = make_site(folder / "v1", server, environment.prepare_v1())
        pairs = Pairs(folder / "pairs", sites["v2"].cpu)
        try:
            for wiring in wirings:
                yield examine(sites[wiring.worker], pairs, wiring)
        finally:
            for site in sites.values():
                site.leave()
            server.stop()


def main(words: Sequence[str]) -> int:
    wrong = 0
    for row in examine_all([each for each in WIRINGS if not words or any(word in each.id for word in words)]):
        print(row.line(), flush=True)
        if row.explained:
            print(f"{'':42}  {row.explained[:200]}", flush=True)
        wrong += not (row.agrees and row.expected)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
