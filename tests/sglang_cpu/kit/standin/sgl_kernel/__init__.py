"""Pure-torch stand-in for SGLang's kernel package, so that a real, unmodified SGLang runs on a CPU in tests.

Only what SGLang calls on the CPU path with a small Llama and an EAGLE-3 draft at topk 1 is here. Each function is
written from what it has to do, in plain torch, and favours being readable over being fast. Nothing else is defined: an
import of another name fails, as it should.
"""

import ctypes

import torch

__version__ = "99.0.0"


# --- attention -------------------------------------------------------------------------------------------------------
def _attend(q, k, v, first_position, scaling, logit_cap, causal, window):
    """q [n, heads, d] at positions first_position.., over k and v [m, kv_heads, d] at positions 0..m-1."""
    rep = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(rep, 1), v.repeat_interleave(rep, 1)
    scores = torch.einsum("nhd,mhd->hnm", q.float(), k.float()) * scaling
    if logit_cap and logit_cap > 0:
        scores = logit_cap * torch.tanh(scores / logit_cap)
    rows = torch.arange(q.shape[0])[:, None] + first_position
    cols = torch.arange(k.shape[0])[None, :]
    if causal:
        scores = scores.masked_fill(cols > rows, float("-inf"))
    if window > 0:
        scores = scores.masked_fill(cols <= rows - window, float("-inf"))
    return torch.einsum("hnm,mhd->nhd", scores.softmax(-1), v.float())


def decode_attention_cpu(*args):
    args = list(args)
    if len(args) == 19:  # newer versions pass two scales for a quantised cache
        del args[3:5]
    q, k_cache, v_cache, out, k, v, loc, _, table, req, seq_lens, scaling, cap, cross, window, *_rest = args
    if k is not None and not cross:
        k_cache[loc] = k.view(-1, *k_cache.shape[1:]).to(k_cache.dtype)
        v_cache[loc] = v.view(-1, *v_cache.shape[1:]).to(v_cache.dtype)
    for i, n in enumerate(seq_lens.tolist()):
        at = table[req[i], :n].long()
        out[i] = _attend(q[i : i + 1], k_cache[at], v_cache[at], n - 1, scaling, cap, True, window)[0].to(out.dtype)


def extend_attention_cpu(*args):
    args = list(args)
    if len(args) >= 21:
        del args[6:8]
    q, _k, _v, out, k_cache, v_cache, table, req, seq_lens, lens, starts, _max, scaling, cap, cross, window, *rest = (
        args
    )
    if len(rest) > 2 and rest[2] is not None:
        raise NotImplementedError("the stand-in has no token trees: use --speculative-eagle-topk 1")
    causal = not cross and (len(rest) < 4 or rest[3] is not False)
    for i, (n, total, start) in enumerate(zip(lens.tolist(), seq_lens.tolist(), starts.tolist())):
        total = max(total, n)
        at = table[req[i], :total].long()
        part = _attend(q[start : start + n], k_cache[at], v_cache[at], total - n, scaling, cap, causal, window)
        out[start : start + n] = part.to(out.dtype)


# SGLang reaches these two as torch.ops.sgl_kernel.NAME. A plain attribute does: nothing traces or compiles them here.
torch.ops.sgl_kernel.decode_attention_cpu = decode_attention_cpu
torch.ops.sgl_kernel.extend_attention_cpu = extend_attention_cpu


# --- speculative decoding, topk 1 ------------------------------------------------------------------------------------
def _chain_only(topk):
    if topk != 1:
        raise NotImplementedError("the stand-in has no token trees: use --speculative-eagle-topk 1")


def build_tree_kernel_efficient_cpu(
    parents, selected, seq_lens, mask, positions, index, next_token, next_sibling, topk, steps, width, mask_mode
):
    """Lay out a chain of `width` tokens per request: the last sampled token and the draft's guesses after it."""
    _chain_only(topk)
    bs = seq_lens.numel()
    step = torch.arange(width)
    positions.copy_((seq_lens.view(-1, 1) + step).flatten())
    index.copy_(torch.arange(bs * width).view(bs, width))
    next_token.copy_(torch.where(step < width - 1, step + 1, -1).expand(bs, width))
    next_sibling.fill_(-1)
    chain = torch.ones(width, width).tril().bool()
    if int(mask_mode) == 1:  # the drafted tokens only
        mask.view(-1)[: bs * width * width] = chain.flatten().repeat(bs)
    elif int(mask_mode) == 0:  # each row also has the whole prefix
        at = 0
        for n in seq_lens.tolist():
            block = torch.cat([torch.ones(width, n, dtype=torch.bool), chain], 1).flatten()
            mask[at : at + block.numel()] = block
            at += block.numel()
    else:
        raise NotImplementedError("packed tree mask")


def verify_tree_greedy_cpu(
    *,
    predicts,
    accept_index,
    accept_token_num,
    candidates,
    retrive_index,
    retrive_next_token,
    retrive_next_sibling,
    target_predict,
):
    """Walk each request's draft from its root while the target's choice is among the children; then add the bonus."""
    wanted = target_predict.reshape(-1).tolist()
    for b in range(candidates.shape[0]):
        node, accepted = 0, 0
        last = int(retrive_index[b, 0])
        accept_index[b, 0] = last
        while accepted + 1 < accept_index.shape[1]:
            child = int(retrive_next_token[b, node])
            while child != -1 and int(candidates[b, child]) != wanted[last]:
                child = int(retrive_next_sibling[b, child])
            if child == -1:
                break
            predicts[last] = wanted[last]
            accepted += 1
            node, last = child, int(retrive_index[b, child])
            accept_index[b, accepted] = last
        accept_token_num[b] = accepted
        predicts[last] = wanted[last]


def _rows(req, start, end):
    return [(r, s, e) for r, s, e in zip(req.tolist(), start.tolist(), end.tolist())]


def assign_req_to_token_pool_cpu(req, table, start, end, slots, pool_len):
    at = 0
    for r, s, e in _rows(req, start, end):
        table[r, s:e] = slots[at : at + e - s].to(table.dtype)
        at += e - s


def assign_extend_cache_locs_cpu(req, table, start, end, slots, pool_len):
    at = 0
    for r, s, e in _rows(req, start, end):
        slots[at : at + e - s] = table[r, s:e].to(slots.dtype)
        at += e - s


def assign_draft_cache_locs_contiguous_cpu(req, table, seq_lens, slots, pool_len, topk, steps):
    n = topk * steps
    for i, (r, s) in enumerate(zip(req.tolist(), seq_lens.tolist())):
        slots[i * n : (i + 1) * n] = table[r, s : s + n].to(slots.dtype)


def build_draft_decode_metadata_cpu(table, req, seq_lens, topk, steps, pool_len):
    _chain_only(topk)
    return table[req].contiguous()


def fill_bonus_tokens_cpu(tokens, lens, bonus, stride):
    at = torch.arange(lens.numel()) * stride + lens.long() - 1
    bonus.copy_(tokens.reshape(-1)[at].to(bonus.dtype))


def fill_accept_out_cache_loc_cpu(accept_index, slots, accepted):
    keep = accept_index.reshape(-1)
    keep = keep[keep > -1].long()
    accepted.view(-1)[: keep.numel()] = slots.view(-1)[keep]


def rotate_input_ids_cpu(ids, starts, lens, new, select=None):
    new = new.reshape(-1)
    for i, (s, n) in enumerate(zip(starts.tolist(), lens.tolist())):
        if n > 0:
            ids[s : s + n - 1] = ids[s + 1 : s + n].clone()
            ids[s + n - 1 if select is None else int(select[i])] = new[i].to(ids.dtype)


def copy_all_layer_kv_cache_cpu(pointers, strides, target, source):
    """Copy cache rows given by address: all are read before the first is written."""
    to, frm = target.tolist(), source.tolist()
    for base, size in zip(pointers.tolist(), strides.tolist()):
        held = [ctypes.string_at(base + s * size, size) for s in frm]
        for t, row in zip(to, held):
            ctypes.memmove(base + t * size, row, size)
