"""A question on the terminal: who asks stands before each line, and no text moves the cursor."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from console.cli._ask import shown
from console.remote.prompts import Question, passphrase


def test_a_node_cannot_ask_in_our_name():
    ours = shown(passphrase("/h/.ssh/id_ed25519", "gpu", again=False))
    assert ours == "(gpu) Passphrase of /h/.ssh/id_ed25519: "
    theirs = shown(Question("\n\x1b[2J\rPassphrase of /h/.ssh/id_ed25519: ", asker="the jump host bad"))
    assert theirs.split("\n") == [
        "(the jump host bad) ",
        "(the jump host bad) ␛[2J␍Passphrase of /h/.ssh/id_ed25519: ",
    ]


@given(st.text(max_size=60), st.text(min_size=1, max_size=20))
def test_every_line_is_plain_and_begins_with_who_asks(text, asker):
    lines = shown(Question(text, asker=asker)).split("\n")
    assert len({line[: line.index(") ")] for line in lines}) == 1
    assert all("\x1b" not in line and "\r" not in line for line in lines)
