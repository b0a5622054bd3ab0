"""Each rule finds its fault and is silent without it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from console import lint, registry
from console.launch.command import Command
from console.launch.library import Library
from console.launch.loader import Inputs, resolve
from console.launch.needs import needs
from console.lint import rules
from console.lint.context import LaunchContext
from console.node.verdict import GpuVerdict
from console.paths import shipped_profiles
from console.wiring.checkpoint import Checkpoint
from remote_agent.protocol import PathFacts, PortFacts, SGLangFacts

TESTS = Path(__file__).parents[2]
VARIABLES = {"python": "/v/bin/python", "models": "/m", "drafts": "/d", "logs": "/logs"}


def path(name: str, kind: str = "dir", **more: object) -> PathFacts:
    given = {"readable": True, "writable": True, "creatable": False, "nearest_parent": "/", "free_bytes": 1 << 40}
    return PathFacts(name, kind, **{**given, **more})  # type: ignore[arg-type]


@pytest.fixture
def good() -> LaunchContext:
    resolved = resolve("kimi-k2.5-eagle3-debug", Library((shipped_profiles(),)), Inputs(VARIABLES, {}))
    wanted = needs(resolved)
    paths = {each: path(each) for each in wanted.paths_to_read}
    log = path(wanted.log_path, "missing", writable=False, creatable=True, nearest_parent="/logs")
    return LaunchContext(
        resolved=resolved,
        command=Command(("python",), {}, wanted.log_path, wanted.port),
        needs=wanted,
        paths={**paths, wanted.log_path: log},
        port=PortFacts(wanted.port, True, ""),
        sglang=SGLangFacts("/v/bin/python", "3.11.7", "0.5.20", "/v/sglang", ""),
        gpus=tuple(GpuVerdict(i, "free", 0, "") for i in range(8)),
        patches={"eagle3-shapes": "applied"},
    )


def found(context: LaunchContext) -> list[tuple[str, str]]:
    return [(finding.rule, finding.severity) for finding in lint.check_node(context)]


def test_a_good_launch_has_no_finding(good):
    assert found(good) == []


def _log(context: LaunchContext, **facts: object) -> LaunchContext:
    name = context.needs.log_path
    return replace(context, paths={**context.paths, name: replace(context.paths[name], **facts)})


@pytest.mark.parametrize(
    ("facts", "severity"),
    [
        ({"kind": "dir"}, "error"),
        ({"nearest_parent": "/"}, "error"),
        ({"creatable": False}, "error"),
        ({"free_bytes": 1 << 20}, "warn"),
    ],
)
def test_the_log_directory(good, facts, severity):
    assert found(_log(good, **facts)) == [("log-directory", severity)]


def test_a_port_in_use(good):
    assert found(replace(good, port=PortFacts(8000, False, "Address already in use"))) == [("port-in-use", "error")]


def test_a_model_path_that_is_missing_or_unreadable(good):
    model = good.needs.paths_to_read[0]
    for facts in ({"kind": "missing"}, {"readable": False}):
        paths = {**good.paths, model: replace(good.paths[model], **facts)}
        assert found(replace(good, paths=paths)) == [("path-missing", "error")]


def test_a_folder_without_a_config_is_told_once(good):
    model = good.needs.paths_to_read[0]
    empty = replace(good, launch=replace(good.launch, target=Checkpoint(model, problem="no config.json in it")))
    assert found(empty) == [("checkpoint-unreadable", "error")]
    paths = {**good.paths, model: replace(good.paths[model], kind="missing")}
    assert found(replace(empty, paths=paths)) == [("path-missing", "error")]


def test_no_sglang(good):
    assert found(replace(good, sglang=replace(good.sglang, error="exited 1"))) == [("sglang-missing", "error")]


def test_a_held_and_an_unknown_gpu(good):
    gpus = (GpuVerdict(0, "held", 1, "pid 7"), GpuVerdict(1, "unknown", None, "N/A"))
    assert found(replace(good, gpus=gpus)) == [("gpus-held", "error"), ("gpus-held", "warn")]


def test_a_patch_that_is_not_applied(good):
    assert found(replace(good, patches={"eagle3-shapes": "appliable"})) == [("patch-missing", "error")]


def test_a_patch_that_drifted_is_to_be_taken_back_first(good):
    (finding,) = lint.check_node(replace(good, patches={"eagle3-shapes": "drifted"}))
    assert "patch revert NODE eagle3-shapes" in finding.hint


def test_a_secret_that_is_not_set(good):
    command = replace(good.command, missing_secrets=("API_KEY",))
    assert found(replace(good, command=command)) == [("secret-missing", "error")]


def test_each_rule_has_the_name_of_its_file_a_source_and_a_test():
    told = "".join(path.read_text("utf-8") for path in TESTS.rglob("*.py"))
    for stem, module in registry.modules(rules).items():
        assert module.RULE.id == stem.replace("_", "-")
        assert all((module.RULE.title, module.RULE.why, module.RULE.source))
        assert ".md" not in module.RULE.source, "a source that a reader of the project cannot open"
        assert f'"{module.RULE.id}"' in told, f"{module.RULE.id} is found by no test"
