"""Secrets in running text are masked; what only looks like one is left, and bytes keep their offsets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.launch.secret_text import known_secrets, masked_bytes, masked_text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("api_key='abcd1234', host='::'", "api_key='***', host='::'"),
        ('{"admin_api_key": "abcd1234"}', '{"admin_api_key": "***"}'),
        ("--api-key abcd1234 --port 8000", "--api-key *** --port 8000"),
        ("--hf-token=abcd1234", "--hf-token=***"),
        ("HF_TOKEN=abcd1234 python", "HF_TOKEN=*** python"),
        ("Authorization: Bearer abcdefgh.ijkl", "Authorization: Bearer ***"),
        ("key sk-0123456789abcdefXYZ end", "key *** end"),
        ("https://user:hunter22@host/x", "https://user:***@host/x"),
        ("password: hunter22", "password: ***"),
    ],
)
def test_a_secret_is_masked_by_its_name_or_its_form(text, masked):
    assert masked_text(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "api_key=None, admin_api_key=None, tokenizer_path='/models/x'",
        "Prefill batch, #new-token: 4096, #cached-token: 1024, token usage: 0.12, #queue-req: 0",
        "max_total_tokens=123456, eos_token='<|end|>', bos_token_id=163584",
        "--max-new-tokens 400 --tokenizer-mode auto",
        "NCCL_PROTO=LL128 EAGLE3_DEBUG=1",
        "api_key=***",
        "ssl_keyfile_password=None, chat_template=None, hf_chat_template_name=None",
    ],
)
def test_what_is_no_secret_is_left(text):
    assert masked_text(text) == text


def test_a_known_value_is_masked_wherever_it_stands():
    known = known_secrets({"MY_API_KEY": "s3cr3t-value", "MY_TOKEN": "short", "PATH": "/usr/bin:/bin"})
    assert known == ("s3cr3t-value",)
    assert masked_text("it said s3cr3t-value twice: s3cr3t-value", known) == "it said *** twice: ***"
    assert masked_bytes(b"it said s3cr3t-value\n", known) == b"it said ************\n"


@given(st.binary(max_size=300))
def test_bytes_keep_their_length_and_their_line_ends(data):
    masked = masked_bytes(data, ("s3cr3t-value",))
    assert len(masked) == len(data)
    assert [at for at, byte in enumerate(masked) if byte == 10] == [at for at, byte in enumerate(data) if byte == 10]
