"""What a server must accept of a pair's drafts, computed from the weights alone.

Each layer's MLP (dense, shared and routed) is run for all tokens, rounded as bfloat16 does. Of attention the sharp
softmax is taken as one: where its o_proj is not zero it gives what comes of the position before: in the target the
token before in the text; in the draft, as long as every draft so far was right, the token that the state is of.
"""

from __future__ import annotations

import json
import os

import torch
import torch.nn.functional as functional
from layout import LIVE, SLOTS
from safetensors.torch import load_file
from tokens import ids

MOST_STEPS = 8
EPSILON = 1e-6


def rounded(x):
    """As bfloat16 has it."""
    return x.to(torch.bfloat16).float()


def norm(x, weight, width=None):
    """RMS norm; `width` is that of the whole row where `x` has only the columns that are not zero."""
    mean = (x * x).sum(-1, keepdim=True) / (width or x.shape[-1])
    return rounded(rounded(x * torch.rsqrt(mean + EPSILON)) * weight)


def mlp(gate, up, down, x):
    return rounded(rounded(rounded(functional.silu(rounded(x @ gate.T))) * rounded(x @ up.T)) @ down.T)


class Draft:
    """The draft's steps, on the columns of the residual stream that can be other than zero, given what `fc` makes."""

    def __init__(self, tensors, seen, head, d2t, width=None):
        """`seen` [LIVE, hidden]: what attention adds. `width`: take so many columns, not those that are written to."""
        written = tensors["fc.weight"].any(1) | tensors["midlayer.mlp.down_proj.weight"].any(1) | seen.any(0)
        at = torch.nonzero(written).flatten() if width is None else torch.arange(width)
        self.columns, self._hidden = at, seen.shape[1]
        self._gate, self._up = (tensors[f"midlayer.mlp.{name}_proj.weight"][:, at] for name in ("gate", "up"))
        self._down = tensors["midlayer.mlp.down_proj.weight"][at]
        self._before, self._after = (
            tensors[name + ".weight"][at] for name in ("midlayer.post_attention_layernorm", "norm")
        )
        self._seen, self._head, self._d2t = seen[:, at], head[:, at], d2t

    def step(self, state, tokens, looks):
        """State and token of the next position: `tokens` (live) are those that the state is of."""
        state = rounded(state + self._seen[tokens]) if looks else state
        inner = norm(state, self._before, self._hidden)
        state = rounded(state + mlp(self._gate, self._up, self._down, inner))
        row = rounded(norm(state, self._after, self._hidden) @ self._head.T).argmax(-1)
        return state, row + self._d2t[row]


class Pair:
    """Target and draft, run from their files."""

    def __init__(self, folder):
        self.target = _load(os.path.join(folder, "target"))
        self.tensors = _load(os.path.join(folder, "draft"))
        with open(os.path.join(folder, "target", "config.json")) as file:
            self.config = json.load(file)
        self.ids = ids()
        self.live = torch.full((int(self.ids[-1]) + 1,), -1)
        self.live[self.ids] = torch.arange(LIVE)
        self.seen = self._attended()
        self.draft = self.draft_with()
        self.next = self._said(self.target["model.embed_tokens.weight"][self.ids])
        self.looking = [i for i in range(self.config["num_hidden_layers"]) if self._attention(i, "o").any()]
        states = self._states(self.looking)
        assert (self._said(states[-1]) == self.next).all()
        self.final = norm(states[-1], self.target["model.norm.weight"])
        self.parts = self._parts(states)

    def draft_with(self, head=None, d2t=None, width=None):
        """The draft, with its own head and map or these."""
        head = self.tensors["lm_head.weight"] if head is None else head
        return Draft(self.tensors, self.seen, head, self.tensors["d2t"].long() if d2t is None else d2t, width)

    def state(self, outputs, parts=None):
        """[LIVE, columns]: what fc makes of these layers' outputs in its slots."""
        return rounded(sum(part[output + 1] for part, output in zip(parts or self.parts, outputs)))

    def blind_in(self, layers):
        """Parts for `state` where attention finds nothing, or another token, in these layers of the target.

        Both are the same: another token's witness is not looked for.
        """
        return self._parts(self._states([layer for layer in self.looking if layer not in layers]))

    def every(self, wirings, steps):
        """For each wiring [LIVE]: drafts accepted of a cycle that begins after each token. What is alike runs once."""
        kinds = [_kinds(part) for part in self.parts]
        keys = torch.stack([self._keys(kinds, outputs) for outputs in wirings])
        distinct, where = torch.unique(keys, return_inverse=True)
        tokens = distinct % LIVE
        base = len(self.parts[0])
        slots = [distinct // LIVE // base**k % base for k in range(SLOTS)]
        state = rounded(sum(torch.stack(part)[slot, tokens] for part, slot in zip(self.parts, slots)))
        return self.count(state, tokens, steps)[where]

    def count(self, state, tokens, steps, draft=None, looks=MOST_STEPS + 1):
        """Drafts accepted of cycles after `tokens` whose first state is `state`; attention works in `looks` steps."""
        draft = draft or self.draft
        found, rows, at = torch.zeros(len(tokens), dtype=torch.long), torch.arange(len(tokens)), tokens
        for step in range(steps):
            state, said = draft.step(state, at, step < looks)
            at = self.next[at]
            right = said == self.ids[self.next[at]]
            rows, state, at = rows[right], state[right], at[right]
            found[rows] = step + 1
        return found

    def _keys(self, kinds, outputs):
        """[LIVE]: a number for each state that is unlike the others, the token in its lowest digits."""
        base = len(self.parts[0])
        return torch.arange(LIVE) + LIVE * sum(base**k * kinds[k][outputs[k] + 1] for k in range(SLOTS))

    def walk(self, accepted, tokens, steps, last, first=None):
        """Accept length and histogram (of 0 to `steps` accepted drafts) of a greedy request that ends in token `last`.

        `first`: drafts accepted of the first cycle, where a prefill is wired differently.
        """
        counts, follows = accepted.clamp(max=steps).tolist(), self.next.tolist()
        seen, out, histogram = int(self.live[last]), 1, [0] * (steps + 1)
        while out < tokens:
            number = counts[seen] if first is None else min(int(first[seen]), steps)
            first = None
            histogram[number] += 1
            out += number + 1
            for _ in range(number + 1):
                seen = follows[seen]
        return tokens / sum(histogram), histogram

    def _states(self, looking):
        """Embedding and outputs of all layers, each [LIVE, width]: of each token where the text says it.

        `looking`: the layers whose attention finds the token before.
        """
        x, before = self.target["model.embed_tokens.weight"][self.ids], self.next.argsort()
        states = [x]
        for layer in range(self.config["num_hidden_layers"]):
            prefix = f"model.layers.{layer}."
            if layer in looking:
                inner = norm(x, self.target[prefix + "input_layernorm.weight"])
                x = rounded(x + rounded(self._values(layer, inner)[before] @ self._attention(layer, "o").T))
            inner = norm(x, self.target[prefix + "post_attention_layernorm.weight"])
            run = self._experts if prefix + "mlp.gate.weight" in self.target else self._dense
            x = rounded(x + run(prefix + "mlp.", inner))
            states.append(x)
        return states

    def _parts(self, states):
        """[slot][state]: what fc makes of each state in each slot, on the draft's columns."""
        width, fc = states[0].shape[1], self.tensors["fc.weight"][self.draft.columns]
        return [[s @ fc[:, k * width : (k + 1) * width].T for s in states] for k in range(SLOTS)]

    def _said(self, x):
        """[LIVE]: the token that the target says after each."""
        return self.live[(norm(x, self.target["model.norm.weight"]) @ self.target["lm_head.weight"].T).argmax(-1)]

    def _attention(self, layer, name):
        return self.target[f"model.layers.{layer}.self_attn.{name}_proj.weight"]

    def _values(self, layer, x):
        """What each head's attention gives where it finds these tokens, the heads side by side."""
        heads = self.config["num_attention_heads"]
        if "kv_lora_rank" not in self.config:
            values = rounded(x @ self._attention(layer, "v").T).unflatten(1, (self.config["num_key_value_heads"], -1))
            return values.repeat_interleave(heads // values.shape[1], 1).flatten(1)
        rank = self.config["kv_lora_rank"]
        prefix, up = f"model.layers.{layer}.self_attn.kv_a_", self._attention(layer, "kv_b")
        latent = rounded(x @ self.target[prefix + "proj_with_mqa.weight"][:rank].T)
        latent = norm(latent, self.target[prefix + "layernorm.weight"])
        return rounded(latent @ up.unflatten(0, (heads, -1))[:, -self.config["v_head_dim"] :].flatten(0, 1).T)

    def _dense(self, prefix, x):
        return _mlp(self.target, prefix, x)

    def _experts(self, prefix, x):
        c, out = self.config, _mlp(self.target, prefix + "shared_experts.", x)
        score = rounded(x @ self.target[prefix + "gate.weight"].T).sigmoid()
        chosen = (score + self.target[prefix + "gate.e_score_correction_bias"]).topk(c["num_experts_per_tok"]).indices
        weight = score.gather(1, chosen)
        weight = weight / weight.sum(1, keepdim=True) * c["routed_scaling_factor"]
        for expert in range(c["n_routed_experts"]):
            mine = (weight * (chosen == expert)).sum(1, keepdim=True)
            out = out + mine * _mlp(self.target, prefix + f"experts.{expert}.", x)
        return rounded(out)

    def _attended(self):
        """[LIVE, width]: what the draft's attention adds when it finds each token embedded at the position before."""
        embedded = norm(
            self.target["model.embed_tokens.weight"][self.ids], self.tensors["midlayer.input_layernorm.weight"]
        )
        value = self.tensors["midlayer.self_attn.v_proj.weight"][:, : embedded.shape[1]]
        return rounded(rounded(embedded @ value.T) @ self.tensors["midlayer.self_attn.o_proj.weight"].T)


def _mlp(weights, prefix, x):
    return mlp(*(weights[f"{prefix}{name}_proj.weight"] for name in ("gate", "up", "down")), x)


def _kinds(states):
    """For each state [LIVE]: the first state that is the same for the token."""
    found = []
    for number, state in enumerate(states):
        kind = torch.full((LIVE,), number)
        for earlier in range(number - 1, -1, -1):
            kind[(state == states[earlier]).all(1)] = earlier
        found.append(kind)
    return found


def _load(folder):
    return {name: weight.float() for name, weight in load_file(os.path.join(folder, "model.safetensors")).items()}
