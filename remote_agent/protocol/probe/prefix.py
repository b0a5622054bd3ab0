"""Owns the unique prefix: no request may find another's prompt in the server's prefix cache. Pure."""

from __future__ import annotations

from typing import Tuple

from remote_agent.protocol.probe.spec import Prompt

PREFIX_IDS = 12
"""Ids put before a prompt: three different ids make 3 ** 12 = 531,441 prefixes."""


def with_prefix(prompt: Prompt, number: int) -> Prompt:
    """Return `prompt` behind a prefix that no other `number` gets. The prompt's own end, its last token too, stays.

    Token ids: a prefix of the prompt's own ids, the only ones known to be in the vocabulary. A prompt of one id
    repeated cannot be made unique and comes back as it is: `cached_tokens` tells.
    """
    if isinstance(prompt, str):
        return f"[{_scatter(number):08x}]\n{prompt}"
    return _digits(number, tuple(sorted(set(prompt)))) + prompt


def _scatter(number: int) -> int:
    # An odd factor permutes the 32-bit numbers, and neighbours differ from the first hex digit on, so that not even
    # the marker's own tokens are shared.
    return (number * 0x9E3779B1) & 0xFFFFFFFF


def _digits(number: int, ids: Tuple[int, ...]) -> Tuple[int, ...]:
    if len(ids) < 2:
        return ()
    digits = []
    for _ in range(PREFIX_IDS):  # lowest digit first: neighbours differ at the first token
        number, digit = divmod(number, len(ids))
        digits.append(ids[digit])
    return tuple(digits)
