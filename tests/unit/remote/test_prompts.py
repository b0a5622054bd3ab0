"""What is asked while connecting, and what is said of a question that nobody answered."""

from __future__ import annotations

from console.remote import prompts
from console.remote.prompts import Question, Questions
from console.remote.transports import failures
from console.remote.transports.ssh_failure import not_asked

KEY = prompts.passphrase("/h/.ssh/id_ed25519", "gpu", again=False)


async def test_after_a_question_that_was_left_no_other_is_put():
    asked: list[str] = []

    async def ask(question: Question) -> str | None:
        asked.append(question.what)
        return None

    questions = Questions(ask)
    assert await questions.put(KEY) is None
    assert await questions.put(prompts.password("gpu")) is None
    assert asked == ["the passphrase of /h/.ssh/id_ed25519"]
    error = failures.refused_us("gpu", "denied", questions)
    assert error.message.endswith("the question for the passphrase of /h/.ssh/id_ed25519 was not answered")
    assert error.exit_code == 3


async def test_where_nobody_is_the_error_says_what_would_be_asked_and_what_to_do():
    questions = Questions(None)
    assert await questions.put(prompts.password("gpu")) is None
    error = failures.refused_us("gpu", "denied", questions)
    assert "it asks for a password, and there is no terminal to ask on" in error.message
    assert "ssh-add" in error.hint


async def test_a_question_that_stands_too_long_is_left(monkeypatch):
    import asyncio

    async def ask(_question: Question) -> str | None:
        await asyncio.Event().wait()
        return "too late"

    monkeypatch.setattr(prompts, "ANSWER_S", 0.01)
    questions = Questions(ask)
    assert await questions.put(KEY) is None
    assert "was not answered" in questions.why


def test_what_an_ssh_that_may_not_ask_would_have_asked():
    denied = "me@gpu: Permission denied (publickey,password,keyboard-interactive).\n"
    accepted = "debug1: Server accepts key: /h/my key ED25519 SHA256:abc/+ explicit\n"
    assert not_asked(accepted + denied, lambda path: path == "/h/my key").what == "the passphrase of /h/my key"
    assert not_asked(accepted + denied, lambda _path: False).what == "a password"
    assert not_asked("me@gpu: Permission denied (publickey).\n", lambda _path: True) is None
