"""Which names and texts are secrets."""

from __future__ import annotations

import pytest

from console.launch.secrets import Secrets, looks_secret, masked_env, reference


@pytest.mark.parametrize("name", ["HF_TOKEN", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "PASSWORD", "db_password"])
def test_names_that_say_secret(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize("name", ["TOKENIZERS_PARALLELISM", "NCCL_PROTO", "SGLANG_MAX_TOKENS", "MONKEY", "KEYS"])
def test_names_that_do_not(name: str) -> None:
    assert not looks_secret(name)


@pytest.mark.parametrize(("text", "name"), [("${A_1}", "A_1"), ("${A}x", ""), ("$A", ""), ("${}", ""), ("", "")])
def test_a_reference_is_the_whole_text(text: str, name: str) -> None:
    assert reference(text) == name


def test_values_are_masked() -> None:
    secrets = Secrets({"A": "value"})
    assert repr(secrets) == "Secrets(A=***)"
    assert secrets.masked() == {"A": "***"}
    assert masked_env({"X": "1", "Y": "2", "Z_TOKEN": "3"}, ("Y",)) == {"X": "1", "Y": "***", "Z_TOKEN": "***"}
