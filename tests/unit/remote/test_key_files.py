"""Which key files a passphrase locks, as ssh-keygen writes them; and files that are none."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.remote.transports import key_files

keygen = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen")


@keygen
@pytest.mark.parametrize("form", [(), ("-t", "ecdsa", "-m", "PEM"), ("-t", "ecdsa", "-m", "PKCS8")])
def test_a_passphrase_is_seen_in_every_form(form, tmp_path):
    kind = form or ("-t", "ed25519")
    for name, phrase in (("open", ""), ("locked", "sesame")):
        words = ["ssh-keygen", "-q", *kind, "-N", phrase, "-f", str(tmp_path / name)]
        subprocess.run(words, check=True)
    locked = tmp_path / "locked"
    assert not key_files.is_locked(tmp_path / "open")
    assert key_files.is_locked(locked)
    names = [str(tmp_path / name) for name in ("open", "locked", "missing")]
    assert key_files.usable(names) == [tmp_path / "open", locked]
    (tmp_path / "locked.pub").unlink()
    assert (locked in key_files.usable(names)) == (not form), "an old form shows no public half of its own"


@given(st.binary(max_size=300))
def test_no_file_makes_it_fail(data):
    assert key_files.locks(data) in (True, False)
    assert key_files.locks(b"-----BEGIN OPENSSH PRIVATE KEY-----\n" + data) in (True, False)


def test_a_file_that_is_not_there_locks_nothing(tmp_path):
    assert not key_files.is_locked(tmp_path / "none")
    assert key_files.there([str(tmp_path)]) == []
