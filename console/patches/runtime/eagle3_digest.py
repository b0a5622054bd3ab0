# spec-console runtime: eagle3-digest
"""Digests of EAGLE-3's captured states, from inside an SGLang server that has EAGLE3_DIGEST=1.

Put here by spec-console and called by the lines marked `# spec-console eagle3-digest`; taken away by its revert.
A record is one line for each captured state, written with one os.write to the server's standard output:

    [EAGLE3_DIGEST] site=target.aux rank=0 model=LlamaForCausalLM mode=EXTEND seq=7 state=0 of=3 rows=6 width=1024
    mean=0.01 absmax=3.5 nan=0 sum32=0f3a9c01

A packed tensor is split by the target's hidden size. Of each state the first EAGLE3_DIGEST_ROWS (64; `read=64` says so)
are read as float32: mean and absmax without the NaNs, how many NaNs, and a checksum of the bits, each weighted by its
column: two states with one sum32 are the same states. `embed` (draft.fc_in): in how many rows the state is the
embedding of its own token, as the draft embeds it one row before: a captured embedding has it in most.

Reading values waits for the GPU, once a record: it costs speed, so few are read. While a CUDA graph is captured
nothing is read, and `capturing=yes` is said once for each site, model and mode; a replayed graph says nothing.
No failure reaches the server.

Environment: EAGLE3_DIGEST_FIRST (20) records of each site, model and mode are read, then every EAGLE3_DIGEST_EVERY
(200; 0: none); EAGLE3_DIGEST_RANKS ("0,3") and EAGLE3_DIGEST_SITES ("draft.fc_in") say who reads, default all.
"""

import sys

from console.patches.runtime.records import Channel, mode_of, model_of, number, rank, untraced

_CHANNEL = Channel("EAGLE3_DIGEST", 20, 200)
_ROWS = number("EAGLE3_DIGEST_ROWS", 64) or 1
_BITS = {1: "int8", 2: "int16", 4: "int32", 8: "int32"}

_told = set()


def digest(site, owner, value, forward_batch=None, embeds=None):
    """Write what `value` holds: a tensor (rows, states × hidden), or a list of tensors (rows, hidden); None: nothing.

    `owner` is the module at the site, for its config; `embeds` the draft's embeddings (rows, hidden) of the same rows.
    """
    if value is None:
        return
    try:
        seq = _CHANNEL.next_seq()
        if not _CHANNEL.is_chosen(site):
            return
        key = (site, model_of(owner), mode_of(forward_batch))
        head = f"site={site} rank={rank()} model={key[1]} mode={key[2]} seq={seq}"
        torch = sys.modules["torch"]
        if _is_capturing(torch):
            if key not in _told:
                _told.add(key)
                _CHANNEL.write(f"{head} capturing=yes")
        elif _CHANNEL.is_due(key):
            _write_states(torch, head, _states(owner, value), embeds)
    except Exception as error:
        _CHANNEL.report(site, error)


def _is_capturing(torch):
    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()


def _states(owner, value):
    if not hasattr(value, "shape"):
        return [_two_dimensional(tensor) for tensor in value]
    packed = _two_dimensional(value)
    width, hidden = packed.shape[-1], _target_hidden(owner)
    if hidden and width > hidden and width % hidden == 0:
        return [packed[:, start : start + hidden] for start in range(0, width, hidden)]
    return [packed]


def _two_dimensional(tensor):
    return tensor if len(tensor.shape) == 2 else tensor.reshape(-1, tensor.shape[-1])


def _target_hidden(owner):
    config = getattr(owner, "config", None)
    for one in (config, getattr(config, "text_config", None)):
        for name in ("target_hidden_size", "hidden_size"):
            size = getattr(one, name, None)
            if isinstance(size, int) and size > 0:
                return size
    return 0


def _write_states(torch, head, states, embeds):
    has_values = [state.shape[0] > 0 and state.shape[1] > 0 for state in states]
    parts = [_measured(torch, state, embeds) for state, has in zip(states, has_values) if has]
    measured = iter(torch.stack(parts).tolist() if parts else ())  # the one copy from the device
    for index, (state, has) in enumerate(zip(states, has_values)):
        rows, width = state.shape
        read = f" read={_ROWS}" if rows > _ROWS else ""
        place = f"state={index} of={len(states)} rows={rows} width={width}{read}"
        values = _values(next(measured), embeds) if has else "mean=- absmax=- nan=0 sum32=-"
        _CHANNEL.write(f"{head} {place} {values}")


def _measured(torch, state, embeds):
    """Return mean, absmax, NaNs, checksum and rows like the embedding as one float64 tensor on the state's device."""
    rows = state[:_ROWS].contiguous()
    values = rows.to(torch.float32)
    is_nan = torch.isnan(values)
    values = values.masked_fill(is_nan, 0)
    nans = is_nan.sum()
    mean = values.sum(dtype=torch.float64) / (values.numel() - nans).clamp(min=1)
    bits = rows.view(getattr(torch, _BITS[rows.element_size()])).to(torch.int64)
    columns = torch.arange(1, bits.shape[1] + 1, device=rows.device)
    checksum = torch.remainder((bits * columns).sum(), 1 << 32)
    like = torch.zeros_like(nans) if embeds is None else _like_embedding(rows, embeds)
    return torch.stack([one.to(torch.float64) for one in (mean, values.abs().amax(), nans, checksum, like)])


def _like_embedding(rows, embeds):
    """Count the rows that equal the draft's embedding one row before: its input is the target's, shifted by one."""
    before = embeds[: rows.shape[0]]
    if before.shape != rows.shape:
        return (rows[:0] != 0).sum()
    return (rows[1:] == before[:-1].to(rows.dtype)).all(-1).sum()


def _values(measured, embeds):
    mean, absmax, nans, checksum, like = measured
    text = f"mean={mean:.6g} absmax={absmax:.6g} nan={int(nans)} sum32={int(checksum):08x}"
    return text if embeds is None else f"{text} embed={int(like)}"


digest = untraced(digest)
