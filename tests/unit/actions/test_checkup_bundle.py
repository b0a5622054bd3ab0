"""The doctor's report for somebody else: no secret in it, no name that need not be, nobody else's to read."""

from __future__ import annotations

import json
import stat
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.actions.check_nodes import Checked
from console.actions.checkup import bundle
from console.actions.checkup.check import Check
from console.actions.checkup.names import known_names
from console.actions.connection import Configured
from console.errors import Refused, UsageError
from console.remote.transports.honoured import Option

TOKEN = "hf_" + "Ab3" * 12
SECRETS = (
    TOKEN,
    "hunter2secret",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdef",
    "b3BlbnNzaC1rZXktdjEAAAAA",
)
FOREIGN = (
    f"login banner {TOKEN}\npassword=hunter2secret; X_API_KEY: hunter2secret\nhttps://me:hunter2secret@proxy/x "
    f"{SECRETS[2]}\n-----BEGIN OPENSSH PRIVATE KEY-----\n{SECRETS[3]}\n-----END OPENSSH PRIVATE KEY-----\nend"
)


def read(path) -> tuple[dict[str, object], str]:
    with tarfile.open(path) as tar:
        texts = {member.name.rpartition("/")[2]: tar.extractfile(member).read().decode() for member in tar}
        owners = {(member.uid, member.uname, member.mtime) for member in tar}
    assert owners == {(0, "", 0)}, "nothing of who wrote it"
    return json.loads(texts["report.json"]), texts["report.txt"]


def test_secrets_are_masked_in_both_forms_and_the_file_is_the_users_alone(tmp_path):
    path = tmp_path / "report.tgz"
    report = {"env": {"HF_TOKEN": "plain words", "LANG": "C"}, "checks": [{"told": FOREIGN}]}
    bundle.write(path, report, FOREIGN.splitlines(), {})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    told, text = read(path)
    assert told["env"] == {"HF_TOKEN": "***", "LANG": "C"}
    for secret in SECRETS[:3]:
        assert secret not in json.dumps(told)
        assert secret not in text
    assert SECRETS[3] not in json.dumps(told)
    assert told["checks"][0]["told"].endswith("\nend"), "what is no secret stays"


def test_nothing_is_written_over_and_no_link_followed(tmp_path):
    there = tmp_path / "there"
    there.write_text("mine")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    for path in (there, link):
        with pytest.raises(Refused, match="is there already"):
            bundle.write(path, {}, [], {})
    with pytest.raises(UsageError, match="cannot be written"):
        bundle.write(tmp_path / "no" / "folder", {}, [], {})
    assert there.read_text() == "mine"
    assert not (tmp_path / "elsewhere").exists()


def test_names_of_hosts_users_and_homes_are_replaced_everywhere(monkeypatch, tmp_path):
    monkeypatch.setattr("socket.gethostname", lambda: "laptop7.corp.example")
    monkeypatch.setenv("HOME", "/home/alice")
    monkeypatch.setattr("getpass.getuser", lambda: "alice")
    way = Configured(
        Checked("gpu-a", "asyncssh", "bob@gpu-a.corp.example:22 through carol@bastion.corp.example:2222"),
        (Option("hostname", "10.1.2.3", "honoured"),),
    )
    checks = [
        Check("shell", "ok", "", values={"user": "bobby", "hostname": "gpu-a-inner"}),
        Check("home", "ok", "", values={"path": "/data/bobby"}),
        Check("servers", "ok", "", values={"runs": [{"operator": "dave@laptop9"}]}),
    ]
    names = known_names("gpu-a", way, checks)
    words = (
        "bob@gpu-a.corp.example:22 through carol@bastion.corp.example:2222; gpu-a, gpu-a-inner at 10.1.2.3 or fe80::1; "
        "bobby in /data/bobby/x; alice in /home/alice/.ssh on laptop7; dave@laptop9; from 127.0.0.1 at 12:34:56"
    )
    told = bundle.renamed({"host": words}, names)["host"]
    for name in ("bob", "carol", "gpu-a", "bastion", "alice", "laptop", "dave", "10.1.2.3", "fe80", "corp.example"):
        assert name not in told, told
    assert "127.0.0.1 at 12:34:56" in told
    assert told.count(names["gpu-a.corp.example"]) >= 1


def test_a_common_word_is_no_name():
    assert bundle.aliases(["localhost", "ab", "gpu"], ["root"], ["/h"]) == {"gpu": "host-1"}


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)))
def test_whatever_is_told_comes_through(value):
    assert json.dumps(bundle.renamed(bundle.masked(value), {"gpu-a": "host-1"}))
