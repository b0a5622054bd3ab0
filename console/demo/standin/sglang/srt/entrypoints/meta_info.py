"""SIMULATED: what /generate answers: cumulative text and ids, and the meta_info of sglang 0.5.12.post1."""

import json
import time
import uuid


class Answer:
    def __init__(self, rid, prompt_ids, max_new_tokens, server):
        self._rid = rid if isinstance(rid, str) else uuid.uuid4().hex
        self._prompt_ids, self._max_new_tokens = prompt_ids, max_new_tokens
        self._args, self._batch = server.args, server.batch
        self._cached = server.batch.cached_tokens(prompt_ids)
        self._start, self._received = time.monotonic(), time.time()
        self._text, self._ids = [], []
        self._histogram = [0] * ((server.args.speculative_num_steps or 0) + 1)
        self._verified = 0
        self._first_at = None

    def chunks(self):
        """Yield once for each chunk that comes; `json` then gives the state after it."""
        for chunk in self._batch.generate(self._prompt_ids, self._max_new_tokens):
            self._first_at = self._first_at or time.monotonic()
            self._ids.extend(map(str, chunk.ids))
            self._text.extend(" t%d" % token for token in chunk.ids)
            if chunk.accepted is not None:
                self._verified += 1
                self._histogram[chunk.accepted] += 1
            yield

    def json(self):
        return (
            '{"text":"%s","output_ids":[%s],"meta_info":%s}'
            % ("".join(self._text), ",".join(self._ids), json.dumps(self._meta_info(), separators=(",", ":")))
        ).encode("ascii")

    def _meta_info(self):
        done = len(self._ids) >= self._max_new_tokens
        meta = {
            "id": self._rid,
            "finish_reason": {"type": "length", "length": self._max_new_tokens} if done else None,
            "prompt_tokens": len(self._prompt_ids),
            "weight_version": self._args.weight_version,
            "num_retractions": 0,
            "queue_time": 0.0,
            "reasoning_tokens": 0,
            "completion_tokens": len(self._ids),
            "cached_tokens": self._cached,
            "dp_rank": None,
            "simulated": True,
        }
        if done:
            meta.update(self._at_the_end())
        return meta

    def _at_the_end(self):
        now = time.monotonic()
        end = {
            "e2e_latency": now - self._start,
            "request_received_ts": self._received,
            "request_finished_ts": self._received + now - self._start,
            "decode_throughput": (len(self._ids) - 1) / max(1e-9, now - self._first_at),
        }
        if self._args.speculative and self._verified:
            end.update(self._speculation())
        return end

    def _speculation(self):
        correct = sum(drafts * count for drafts, count in enumerate(self._histogram))
        proposed = self._verified * (self._args.speculative_num_draft_tokens - 1)
        return {
            "spec_accept_rate": correct / proposed,
            "spec_accept_length": len(self._ids) / self._verified,
            "spec_num_correct_drafts": correct,
            "spec_num_proposed_drafts": proposed,
            "spec_verify_ct": self._verified,
            "spec_accepted_drafts": correct,
            "spec_proposed_drafts": proposed,
            "spec_correct_drafts_histogram": self._histogram,
            "spec_accept_histogram": self._histogram,
        }
