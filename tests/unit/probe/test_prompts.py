"""The shipped prompt sets: of their lengths, and the same everywhere."""

from __future__ import annotations

import hashlib
import re
from collections import Counter

import pytest

from console.errors import UsageError
from console.probe.prompts import LONG, load_prompt_set, prompt_set_names

WRITTEN = tuple(name for name in prompt_set_names() if name != LONG)


def about_tokens(text: str) -> int:
    """Words and signs. In the written sets cl100k, o200k and Llama 3 make 1.01 to 1.18 tokens of each."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def test_the_sets_have_their_names():
    assert {"chat", "code", "extraction", "long"} <= set(prompt_set_names())
    with pytest.raises(UsageError, match="no prompt set 'longer'"):
        load_prompt_set("longer")


@pytest.mark.parametrize("name", prompt_set_names())
def test_no_two_prompts_of_a_set_begin_alike(name):
    prompts = load_prompt_set(name)
    assert len(prompts) >= 3
    assert len({prompt[:40] for prompt in prompts}) == len(prompts)


@pytest.mark.parametrize("name", WRITTEN)
def test_a_written_set_is_three_prompts_of_about_a_thousand_tokens(name):
    prompts = load_prompt_set(name)
    assert len(prompts) == 3, "a block is by default one pass over a set"
    for prompt in prompts:
        assert 900 < about_tokens(prompt) < 1_300
        assert prompt.isascii()


def test_no_line_of_the_written_sets_is_said_twice():
    """What repeats is easy to draft. Lines without a word are left out: code has its closing braces."""
    lines = [line for name in WRITTEN for prompt in load_prompt_set(name) for line in prompt.splitlines()]
    told = Counter(line for line in lines if re.search("[A-Za-z]", line))
    assert [line for line, times in told.items() if times > 1] == []


def test_the_long_set_is_long_and_the_same_on_each_machine():
    prompts = load_prompt_set("long")
    for prompt in prompts:
        assert 7_500 < about_tokens(prompt) < 9_000
        assert "{" not in prompt
        entries = prompt.splitlines()[:-2]
        assert len({entry.split(". ", 1)[1] for entry in entries}) == len(entries) == 165
    digest = hashlib.sha256("".join(prompts).encode()).hexdigest()
    assert digest == "4e63119f07549cb61a7c28f856bd8a2a4a176c1270cec9a082628da809f67e4e", (
        "an edited set has other results: say so in the release notes, then change this"
    )
