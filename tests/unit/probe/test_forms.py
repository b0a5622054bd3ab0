"""The three APIs: what is asked of each, and what their events say."""

from __future__ import annotations

import json

import pytest

from remote_agent.protocol.probe import forms
from remote_agent.protocol.probe.forms import OUTPUT_IDS, GenerateReader, OpenAIReader, request_of
from remote_agent.protocol.probe.spec import parse_spec
from remote_agent.protocol.probe.stream import StreamError
from tests.unit.probe.runs import STREAM

GOOD = {"port": 8000, "max_new_tokens": 60, "text": ["Say hello."]}


def asked(**changes):
    spec = parse_spec({**GOOD, **changes})
    path, body = request_of(spec, spec.prompts[0])
    return path, json.loads(body)


def read(reader, events):
    """Tokens after each event, and whether it is known to have brought some."""
    found = [(reader.read(json.dumps(event).encode()), reader.tokens) for event in events]
    reader.end()
    return found


def test_generate_is_asked_for_text_or_ids():
    sampling = {"max_new_tokens": 60, "temperature": 0.0, "ignore_eos": True}
    assert asked() == ("/generate", {"text": "Say hello.", "stream": True, "sampling_params": sampling})
    assert asked(text=None, input_ids=[[5, 17]])[1]["input_ids"] == [5, 17]


@pytest.mark.parametrize("api", ["completions", "chat"])
def test_the_openai_forms_ask_for_the_tokens_of_each_chunk_and_for_what_the_server_knows(api):
    path, body = asked(api=api, model="kimi")
    assert path == {"completions": "/v1/completions", "chat": "/v1/chat/completions"}[api]
    assert body["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}
    assert (body["model"], body["max_tokens"], body["ignore_eos"], body["stream"]) == ("kimi", 60, True, True)
    assert body["return_spec_tokens_details"] is True
    if api == "chat":
        assert body["messages"] == [{"role": "user", "content": "Say hello."}]
    else:
        assert body["prompt"] == "Say hello."


def test_completions_take_ids_and_a_model_has_a_name_in_any_case():
    body = asked(api="completions", text=None, input_ids=[[5, 17]])[1]
    assert (body["prompt"], body["model"]) == ([5, 17], "default")


def delta(text, usage=None, **changes):
    choice = {"index": 0, "delta": {"content": text, "reasoning_content": None}, "finish_reason": None}
    return {"id": "c", "object": "chat.completion.chunk", "choices": [{**choice, **changes}], "usage": usage}


def usage(count, **changes):
    return {"prompt_tokens": 9, "completion_tokens": count, "total_tokens": 9 + count, **changes}


def test_chat_with_usage_in_each_chunk_counts_each():
    reader = OpenAIReader(keep_output=True)
    events = [
        delta(""),
        delta("Hel", usage(1)),
        delta("", usage(7), delta={"reasoning_content": "hm"}),
        delta("lo", usage(7)),
        delta("", None, finish_reason="length"),
        {"choices": [], "usage": usage(8, prompt_tokens_details={"cached_tokens": 4})},
    ]
    grown = [(False, 0), (True, 1), (True, 7), (False, 7), (False, 7), (True, 8)]
    assert read(reader, events) == grown
    assert reader.counts == forms.PER_EVENT
    assert reader.finish_reason == "length"
    assert reader.meta == {"completion_tokens": 8, "prompt_tokens": 9, "cached_tokens": 4}
    assert reader.output() == {"output_text": "Helhmlo", "output_cut": False}


def test_a_chunk_is_no_token_where_the_usage_comes_at_the_end_alone():
    reader = OpenAIReader(keep_output=False)
    events = [delta("Hello wor"), delta("ld"), {"choices": [], "usage": usage(60)}]
    assert read(reader, events[:1]) == [(False, 0)]
    assert reader.has_begun
    assert read(reader, events[1:]) == [(False, 0), (False, 60)]
    assert reader.counts == forms.FINAL
    assert reader.output() == {}


def test_what_sglext_tells_goes_by_the_names_of_meta_info():
    details = {"spec_verify_ct": 14, "spec_correct_drafts_histogram": [3, 1, 1, 1, 1, 7]}
    extension = {"spec_tokens_details": details, "cached_tokens_details": {"device": 3, "host": 1, "backend": "x"}}
    reader = OpenAIReader(keep_output=False)
    read(reader, [{"choices": [], "sglext": extension}, {"choices": [], "usage": usage(60)}])
    assert reader.meta == {**details, "cached_tokens": 4, "prompt_tokens": 9, "completion_tokens": 60}


@pytest.mark.parametrize(
    "event", [{"choices": "x"}, {"choices": [7]}, {"choices": [{"delta": 7}]}, {"usage": 7}, {"sglext": {"a": 1}}, {}]
)
def test_chunks_of_another_form_say_nothing(event):
    reader = OpenAIReader(keep_output=True)
    assert read(reader, [event]) == [(False, 0)]
    assert not reader.has_begun


@pytest.mark.parametrize("count", ["7", -1, None, True])
def test_a_usage_that_is_no_count_is_refused(count):
    with pytest.raises(StreamError, match="completion_tokens"):
        read(OpenAIReader(keep_output=False), [delta("x", {"completion_tokens": count})])


def test_an_error_inside_the_chunks_is_the_server_s():
    with pytest.raises(StreamError, match="out of memory"):
        read(OpenAIReader(keep_output=False), [{"error": {"message": "out of memory"}}])


def generated(count, **changes):
    finish = {"type": "length", "length": 60} if count == 60 else None
    return {**changes, "meta_info": {"finish_reason": finish, "completion_tokens": count}}


COUNTS = (1, 7, 7, 13, 60)


@pytest.mark.parametrize("is_cumulative", [True, False])
def test_ids_are_kept_from_either_form_of_stream(is_cumulative):
    ids = list(range(500, 560))
    befores = (0, *COUNTS[:-1])
    events = [
        generated(count, text="x", output_ids=ids[0 if is_cumulative else before : count])
        for before, count in zip(befores, COUNTS, strict=True)
    ]
    reader = GenerateReader(keep_output=True)
    read(reader, events)
    assert reader.output() == {"output_ids": ids, "output_cut": False}


@pytest.mark.parametrize("is_cumulative", [True, False])
def test_text_is_kept_where_there_are_no_ids(is_cumulative):
    text = "".join(chr(65 + n % 26) for n in range(60))
    befores = (0, *COUNTS[:-1])
    pieces = [text[0 if is_cumulative else a : b] for a, b in zip(befores, COUNTS, strict=True)]
    reader = GenerateReader(keep_output=True)
    read(reader, [generated(count, text=piece) for piece, count in zip(pieces, COUNTS, strict=True)])
    assert reader.output() == {"output_text": text, "output_cut": False}


def test_the_output_of_the_real_stream_is_kept_whole():
    reader = GenerateReader(keep_output=True)
    payloads = [line[6:] for line in STREAM.read_bytes().splitlines() if line.startswith(b"data: {")]
    for payload in payloads:
        reader.read(payload)
    reader.end()
    assert reader.output() == {"output_ids": json.loads(payloads[-1])["output_ids"], "output_cut": False}
    assert len(reader.output()["output_ids"]) == 60


@pytest.mark.parametrize("is_cumulative", [True, False])
def test_a_long_output_is_cut_and_says_so(is_cumulative):
    count = OUTPUT_IDS + 9
    reader = GenerateReader(keep_output=True)
    for n in range(9, count + 1, 5000):
        read(reader, [generated(n, output_ids=[1] * (n if is_cumulative or n == 9 else 5000))])
    read(reader, [{"output_ids": [1] * (count if is_cumulative else 5000), **generated(count)}])
    assert len(reader.output()["output_ids"]) == OUTPUT_IDS
    assert reader.output()["output_cut"] is True


def test_ids_that_are_none_are_not_kept():
    reader = GenerateReader(keep_output=True)
    read(reader, [generated(2, output_ids=[1, "x"])])
    assert reader.output()["output_ids"] is None
