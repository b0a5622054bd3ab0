"""known_hosts: whom a line is about, and what follows for a key. Against ssh-keygen and sshd: tests/e2e."""

from __future__ import annotations

import base64
import hmac
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.errors import Unreachable
from console.remote.transports.host_keys import HostKey, Target, check, files_of, known, matches, read, remember

if TYPE_CHECKING:
    from pathlib import Path

OURS = HostKey("ssh-ed25519", b"\0\0\0\x0bssh-ed25519 ours")
OTHER = HostKey("ssh-ed25519", b"\0\0\0\x0bssh-ed25519 other")
NODE = Target("gpu", "gpu.example", 22)
PORT = Target("gpu", "gpu.example", 2222)


def hashed(name: str) -> str:
    salt = b"0123456789abcdefghij"
    digest = hmac.new(salt, name.encode(), "sha1").digest()
    return f"|1|{base64.b64encode(salt).decode()}|{base64.b64encode(digest).decode()}"


@pytest.mark.parametrize(
    ("names", "name", "is_about"),
    [
        ("gpu.example", "gpu.example", True),
        ("GPU.example", "gpu.EXAMPLE", True),
        ("gpu.example", "[gpu.example]:2222", False),
        ("[gpu.example]:2222", "[gpu.example]:2222", True),
        ("[gpu.example]:2222", "g:2222", False),
        ("a,gpu.example,b", "gpu.example", True),
        ("*.example", "gpu.example", True),
        ("gpu?.example", "gpu1.example", True),
        ("gpu?.example", "gpu.example", False),
        ("*,!gpu.example", "gpu.example", False),
        ("!gpu.example,*", "other.example", True),
        ("!gpu.example", "other.example", False),
        ("gpu[12]", "gpu1", False),
        (hashed("gpu.example"), "gpu.example", True),
        (hashed("gpu.example"), "other.example", False),
        ("|2|YQ==|YQ==", "a", False),
        ("|1|not base64|x", "a", False),
        ("|1|", "a", False),
    ],
)
def test_whom_a_line_is_about(names, name, is_about):
    assert matches(names, name) is is_about


def test_a_key_without_the_port_vouches_and_never_contradicts(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(f"gpu.example {OURS.text}\n")
    check(PORT, OURS, [file], accept_new=False)
    with pytest.raises(Unreachable, match="is not known"):
        check(PORT, OTHER, [file], accept_new=False)


def test_a_revoked_key_is_refused_even_when_another_line_trusts_it(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(f"gpu.example {OURS.text}\n@revoked *.example {OURS.text}\n")
    with pytest.raises(Unreachable, match=rf"REVOKED: ssh-ed25519 SHA256:.*, by {file}:2"):
        check(NODE, OURS, [file], accept_new=True)


def test_the_line_of_any_file_counts_and_a_new_key_goes_into_the_first(tmp_path: Path) -> None:
    first, second = tmp_path / "ssh" / "known_hosts", tmp_path / "global"
    second.write_text(f"other.example {OTHER.text}\n")
    check(PORT, OURS, [first, second], accept_new=True)
    assert first.read_text() == f"[gpu.example]:2222 {OURS.text}\n"
    assert first.stat().st_mode & 0o777 == 0o600
    check(PORT, OURS, [first, second], accept_new=False)
    with pytest.raises(Unreachable, match=f"CHANGED.*{second}:1"):
        check(Target("o", "other.example"), OURS, [first, second], accept_new=True)


def test_no_file_of_the_user_is_no_place_to_remember(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="is not known"):
        check(NODE, OURS, files_of([]), accept_new=True)


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match=f"cannot be remembered in {tmp_path}"):
        remember(tmp_path, "x")


def test_a_last_line_that_was_left_open_is_not_written_into(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    file.write_text("a b c")
    remember(file, "d e f")
    assert file.read_text() == "a b c\nd e f\n"


def test_what_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    lines = [
        "",
        "# gpu.example ssh-rsa AAAA",
        "gpu.example",
        "gpu.example ssh-rsa ####",
        "@other gpu.example ssh-rsa AAAA",
    ]
    file.write_text("\n".join([*lines, f"gpu.example {OURS.text} a comment", "@cert-authority"]))
    (entry,) = read(file)
    assert (entry.place, entry.key) == (f"{file}:6", OURS)
    assert list(read(tmp_path / "missing")) == []


def test_the_types_that_a_host_is_known_by(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    rsa = HostKey("ssh-rsa", b"r")
    file.write_text(f"gpu.example {rsa.text}\n@cert-authority gpu.example {OTHER.text}\ngpu.example {rsa.text}\n")
    found = known(NODE, [file])
    assert found.kinds == ("ssh-rsa",)
    assert [entry.number for entry in found.authorities] == [2]


@given(st.binary(max_size=400))
def test_no_bytes_of_a_file_break_the_reader(tmp_path_factory, data: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "hostile_known_hosts"
    file.write_bytes(data)
    found = known(NODE, [file])
    assert found.revoking(OURS) is None
