"""The loop, in place: free, patch, launch, probe, shapes, stop, baseline, compare, revert; and nothing is left."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remote_agent import lock
from tests.device import gpu
from tests.device.parts.shapes import expect_acceptance, expect_shapes, speeds
from tests.device.parts.suite import Background
from tests.device.profiles import PAIRS
from tests.device.site import NODE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.device.report import Part
    from tests.device.rig import Rig
    from tests.device.site import Site

PROFILE, BASELINE = "deepseek-debug", "deepseek-baseline-eager"


def run(rig: Rig) -> None:
    with rig.report.part("walk") as part, rig.site("walk", shared=True) as site, ExitStack() as stack:
        before, idle = site.tree(), gpu.used_mib()
        part.figure("files of the tree", len(before))
        part.figure("nvidia-smi MiB before", idle)
        free(site, part)
        stack.callback(site.verb, part, "patch", "revert", NODE, "--yes")
        applied = apply(site, part, before)
        candidate = debug(site, part)
        reference = baseline(site, part)
        with Background(rig, "suite.preflight", ("tests/device/test_preflight.py",)):
            compare(site, part, reference, candidate)
            stack.close()
        part.expect("files that differ after the revert", differing(before, site.tree()), [])
        part.figure("files patched", sorted(applied))
        nothing_left(site, part, idle)


def free(site: Site, part: Part) -> None:
    told = site.must(part, "free", NODE, "--yes").told
    part.expect("free: states", distinct(each["state"] for each in told["gpus"]), ["free"])
    part.figure("free: used bytes by the console", [each["memory_used_bytes"] for each in told["gpus"]])


def apply(site: Site, part: Part, before: dict[str, str]) -> list[str]:
    words = ("patch", "apply", NODE, "--profile", PROFILE, "--delivery", "in-place", "--yes")
    told = site.must(part, *words).told
    part.expect("patch apply: states", distinct(each["state"] for each in told["files"]), ["applied"])
    part.expect("patch apply: compiled", distinct(each["compiled"] for each in told["files"]), [True])
    planned = sorted(f"sglang/{each['path']}" for each in told["files"])
    part.expect("files that differ after the patch", differing(before, site.tree()), planned)
    told = site.must(part, "patch", "verify", NODE, "--profile", PROFILE).told["tree"]
    part.expect("patch verify: edits of the tree that are not ours", told["edits"], [])
    part.figure("patch verify: tree", {key: told[key] for key in ("basis", "version", "checked", "clean")})
    return planned


def debug(site: Site, part: Part) -> dict[str, Any]:
    server = site.must_launch(part, PROFILE)
    members = site.members()
    part.expect("ranks in the server's session", ranks(members), site.kit.tp_size)
    found = expect_acceptance(site, part, PAIRS["deepseek"])
    expect_shapes(site, part, replayed=False)
    expect_explained(site, part, server["log_path"])
    stop(site, part, members)
    return found


def baseline(site: Site, part: Part, profile: str = BASELINE) -> dict[str, Any]:
    site.must_launch(part, profile)
    members = site.members()
    run: dict[str, Any] = site.must(part, "probe", NODE, timeout_s=300).told["run"]
    part.expect("baseline: no acceptance without speculation", run["accept_len"], None)
    part.figure("baseline", speeds(run))
    stop(site, part, members)
    return run


def stop(site: Site, part: Part, members: list[Any]) -> None:
    told = site.must(part, "stop", NODE, "--yes").told
    part.expect("stop: state", told["server"]["state"], "exited")
    part.figure("stop: how it ended", told["server"])
    part.expect("stop: left", told["left"], [])
    part.expect("stop: GPUs", distinct(each["state"] for each in told["gpus"]), ["free"])
    part.figure("stop: used bytes by the console", [each["memory_used_bytes"] for each in told["gpus"]])
    site.expect_gone(part, members, "stop")


def compare(site: Site, part: Part, reference: dict[str, Any], candidate: dict[str, Any], *words: str) -> None:
    told = site.must(part, "compare", reference["id"], candidate["id"], *words).told
    verdict, keys = told["verdict"], [each["key"] for each in told["differs"]]
    part.expect(
        "compare: verdict", verdict, "faster, slower, cant_tell", ok=verdict in ("faster", "slower", "cant_tell")
    )
    undeclared = [each["key"] for each in told["differs"] if not each["declared"]]
    part.expect("compare: undeclared differences", undeclared, [])
    part.figure(
        "compare", {"why": told["why"], "difference": told["difference"], "cycle": told["cycle"], "differs": keys}
    )


def expect_explained(site: Site, part: Part, log: str) -> None:
    """A log of a server that is well has no error in it."""
    told = site.verb(part, "explain", log).told
    errors = [each for each in told["findings"] if each["severity"] == "error"]
    part.expect("explain: errors in the log", errors, [])
    part.figure("explain", {"findings": [each["rule"] for each in told["findings"]], "records": told.get("records")})


def ranks(members: list[Any]) -> int:
    return sum(each.title.startswith("sglang::scheduler") for each in members)


def nothing_left(site: Site, part: Part, idle: list[int] | None) -> None:
    """GPUs as before, no process, no file beside the tree, no lock, no patch."""
    told = site.must(part, "status", NODE).told
    part.expect("status: patches", told["patches"], [])
    part.expect("status: overlays", told["overlays"], [])
    part.expect("status: GPUs", distinct(each["state"] for each in told["gpus"]), ["free"])
    part.expect("status: servers with processes", [each["run_id"] for each in told["servers"] if each["children"]], [])
    part.expect("nvidia-smi MiB after", gpu.used_mib(), idle)
    part.expect("processes of our servers", [f"{p.pid} {p.title}" for p in site.members()], [])
    part.expect("files left in and beside the tree", leftovers(site), [])


def leftovers(site: Site) -> list[str]:
    """Files of ours; a lock that a living agent holds is that of another console of this machine."""
    packages = site.kit.packages
    found = [*packages.glob(".*spec-console*"), *(packages / "sglang").rglob("*spec_console*")]
    locks = [*Path("/run/lock").glob("spec-console-*"), *Path("/tmp").glob("spec-console-*.lock")]
    return sorted(map(str, [*found, *(path for path in locks if not lock.holder(str(path)))]))


def differing(one: dict[str, str], other: dict[str, str]) -> list[str]:
    return sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))


def distinct(values: Iterable[object]) -> list[Any]:
    return sorted(set(values), key=str)
