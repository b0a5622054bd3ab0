"""What a launched server got from the node's own shell is said: no profile shows it."""

from __future__ import annotations

from console.actions.launch_server import _inherited
from console.actions.provenance import env_of
from console.probe.differences import differs
from console.probe.fingerprint import Fingerprint
from remote_agent.protocol import ServerRun


def server(inherited: dict[str, str], **env: str) -> ServerRun:
    return ServerRun("s-1", "me@here", [], env, "/", "/l", 0, 8000, 1.0, "running", inherited_env=inherited)


def test_simulated_acceptance_from_the_shell_is_found_by_the_rule_for_profiles():
    names, finding = _inherited(server({"NCCL_DEBUG": "WARN", "SGLANG_SIMULATE_ACC_LEN": "3.5"}))
    assert names.endswith(": NCCL_DEBUG, SGLANG_SIMULATE_ACC_LEN")
    assert finding.startswith("error: acceptance is simulated")
    assert "[simulate-acc-len]" in finding


def test_of_an_ordinary_shell_nothing_is_said():
    assert list(_inherited(server({}))) == []
    assert len(list(_inherited(server({"SGLANG_SIMULATE_ACC_LEN": "0"})))) == 1


def test_a_comparison_names_what_the_shells_differed_in_and_the_profiles_own_wins():
    a = Fingerprint(env=env_of(server({"NCCL_ALGO": "Tree", "NCCL_PROTO": "Simple"}, NCCL_PROTO="LL")))
    b = Fingerprint(env=env_of(server({}, NCCL_PROTO="LL")))
    (difference,) = differs(a, b)
    assert (difference.key, difference.a, difference.withholds) == ("env.NCCL_ALGO", "Tree", True)
