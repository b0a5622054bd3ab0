"""The doctor's lines: each state from a reading, nothing from a guess; hostile text is shown, never sent."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.actions.checkup import account, facts_script, link
from console.actions.checkup.check import SHOWN, Check, shown, worst
from console.actions.checkup.facts_script import Facts, Python
from console.units import plain


def facts(**one: str) -> Facts:
    told = {name.replace("_", "-"): value for name, value in one.items()}
    return Facts(one=told, whole=True)


@pytest.mark.parametrize(
    ("said", "kb", "state"),
    [
        ("yes", "99999999", "ok"),
        ("yes", "1000", "warn"),
        ("mktemp: Read-only file system", "9", "bad"),
        ("", "", "unknown"),
    ],
)
def test_a_home_is_judged_by_what_was_tried(said, kb, state):
    found = account.home(facts(home="/h", home_writes=said, home_df=f"/dev/x 9 9 {kb} 9% /h"))
    assert found.state == state
    assert (found.state == "bad") == ("cannot be written" in found.told)


@pytest.mark.parametrize(
    ("told", "state"),
    [
        ("drwx------ 2 1000 1000 4096 Jan 1 00:00 /h/c", "ok"),
        ("drwxr-xr-x. 2 1000 1000 4096 Jan 1 00:00 /h/c", "ok"),
        ("drwxrwx--- 2 1000 1000 4096 Jan 1 00:00 /h/c", "bad"),
        ("drwx----w- 2 1000 1000 4096 Jan 1 00:00 /h/c", "bad"),
        ("drwx------ 2 0 0 4096 Jan 1 00:00 /h/c", "bad"),
        ("lrwxrwxrwx 1 1000 1000 4 Jan 1 00:00 /h/c -> /tmp", "bad"),
        ("what?", "unknown"),
        ("", "ok"),
    ],
)
def test_a_cache_that_somebody_else_can_write_to_is_bad(told, state):
    assert account.cache(facts(cache="/h/c", cache_ls=told, uid="1000")).state == state


def test_pythons_are_listed_and_one_that_is_new_enough_is_wanted():
    old, new = Python("python3", "/usr/bin/python3", "Python 3.6.8"), Python("python3.12", "/p", "Python 3.12.1")
    shim = Python("python3.13", "/shims/python3.13", "pyenv: python3.13: command not found")
    assert account.pythons(Facts(pythons=(old, shim, new))).state == "ok"
    found = account.pythons(Facts(pythons=(old, shim)))
    assert found.state == "bad"
    assert "/usr/bin/python3 (Python 3.6.8)" in found.told
    assert account.pythons(Facts()).state == "bad"


def test_noise_is_counted_escaped_and_cut():
    found = account.chatter(b"Hi\x1b]52;c;AAAA\x07\n" + b"x" * 5000)
    assert (found.state, found.values["bytes"]) == ("warn", 5015)
    assert "Hi␛]52;c;AAAA␇␊" in found.told
    assert len(found.values["text"]) < SHOWN + 40
    assert account.chatter(b"").state == "ok"


def test_a_look_that_broke_off_is_said():
    ids = [(check.id, check.state) for check in account.checks(Facts(one={"shell": "/bin/sh"}), b"")]
    assert ("account", "unknown") in ids
    assert ("home", "unknown") in ids


def test_the_clock_is_told_with_half_the_round_trip_as_its_error():
    trips = [link.read_trip(100.0, 101.0, b"1234567890.5\n"), link.read_trip(1000.0, 1000.2, b"1000001007.100000000")]
    best = link.skew([trips[0], link.Trip(1000.0, 1000.2, 1007.1, whole=False)])
    assert best.state == "warn"
    assert best.values == pytest.approx({"skew": 7.0, "error": 0.1})
    assert "7.0 s ahead of ours, ± 100.0 ms" in best.told
    same = link.skew([link.Trip(1000.0, 1000.2, 1000.15, whole=False)])
    assert (same.state, "agrees with ours within 100.0 ms" in same.told) == ("ok", True)


def test_a_date_that_knows_whole_seconds_only_is_less_exact():
    trip = link.read_trip(1000.0, 1000.0, b"1700000000.%N")
    assert (trip.whole, trip.error_s) == (True, 0.5)
    assert link.read_trip(1.0, 1.0, b"1700000000.25").told == 1700000000.25


@pytest.mark.parametrize("said", [b"", b"nan", b"inf", b"9" * 400, b"date: invalid option", b"-5.0"])
def test_what_is_no_time_is_refused(said):
    with pytest.raises(ValueError, match="not a time"):
        link.read_trip(0.0, 1.0, said)


def test_the_script_tells_of_a_real_account_and_leaves_nothing(tmp_path):
    venv = tmp_path / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").touch()
    (venv / "bin" / "python").symlink_to("/bin/sh")
    before = sorted(tmp_path.iterdir())
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "SHELL": "/bin/tcsh"}
    script = facts_script.script(("sh", "no-such-python"), str(tmp_path / "a cache"))
    assert "!" not in script
    assert "\n" not in script
    done = subprocess.run(["sh", "-c", script], env=env, capture_output=True, check=True, timeout=60)
    found = facts_script.read(done.stdout)
    assert found.whole, done
    assert (found.get("shell"), found.get("home"), found.get("home-writes")) == ("/bin/tcsh", str(tmp_path), "yes")
    assert found.get("cache") == str(tmp_path / "a cache")
    assert found.get("uid") == str(os.getuid())
    assert facts_script.Venv(str(venv / "bin" / "python"), str(os.getuid())) in found.venvs
    assert [each.name for each in found.pythons] == ["sh"]
    assert sorted(tmp_path.iterdir()) == before
    assert account.home(found).state in ("ok", "warn")


@pytest.mark.parametrize("version", ["Python ²", "Python ².³", "Python " + "9" * 5000 + ".1", "Python 3", "3.11", ""])
def test_what_is_no_version_has_no_number(version):
    assert Python("python3", "/p", version).number is None
    assert account.home(facts(home="/h", home_writes="yes", home_df="d 1 1 ²²² 1 /h")).values["free_bytes"] is None


@given(st.binary(max_size=600))
def test_no_answer_makes_a_line_that_moves_a_terminal_or_breaks_the_json(noise):
    found = facts_script.read(b"cache-ls " + noise + b"\nhome-writes no\nuid 0\npython " + noise + b"\n" + noise)
    for check in account.checks(found, noise):
        assert [plain(line) for line in check.lines()] == check.lines()
        json.dumps(check.to_json(), allow_nan=False)
        assert len(check.told) < 20 * SHOWN


def test_the_worst_state_counts_and_unknown_is_none_of_ours():
    states = [Check("a", "ok", ""), Check("b", "unknown", "")]
    assert worst(states) == "unknown"
    assert worst([*states, Check("c", "bad", ""), Check("d", "warn", "")]) == "bad"
    assert worst([]) == "ok"
    assert shown("x" * 300).endswith("… (300 characters)")
