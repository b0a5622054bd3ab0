# spec-console runtime: eagle3-shapes
"""Shape records of EAGLE-3 tensors, from inside an SGLang server that has EAGLE3_DEBUG=1.

Put here by spec-console and called by the lines marked `# spec-console eagle3-shapes`; taken away by its revert.
A record is one line, written with one os.write to the server's standard output:

    [EAGLE3_DEBUG] site=draft.fc_in rank=0 model=LlamaForCausalLMEagle3 mode=EXTEND seq=12 shape=(6,21504) ...

Only shapes, types and devices are read, never a value: nothing here waits for the GPU, and nothing is illegal while a
CUDA graph is captured. No failure reaches the server.

Environment: EAGLE3_DEBUG_FIRST (200) records of each site, model and mode are written, then every EAGLE3_DEBUG_EVERY
(100; 0: none); EAGLE3_DEBUG_RANKS ("0,3") and EAGLE3_DEBUG_SITES ("draft.fc_in") say who writes, default all.
"""

from console.patches.runtime.records import Channel, mode_of, model_of, rank, token, untraced

_CHANNEL = Channel("EAGLE3_DEBUG", 200, 100)


def record(site, owner, value, forward_batch=None):
    """Write the shape of `value` (a tensor, or a list of tensors; None: nothing is written).

    `owner` is the module at the site, for its config's architecture; `forward_batch` has the `forward_mode`.
    """
    if value is None:
        return
    try:
        seq = _CHANNEL.next_seq()
        if not _CHANNEL.is_chosen(site):
            return
        model, mode = model_of(owner), mode_of(forward_batch)
        if _CHANNEL.is_due((site, model, mode)):
            head = f"site={site} rank={rank()} model={model} mode={mode} seq={seq}"
            _CHANNEL.write(f"{head} {_describe(value)}")
    except Exception as error:
        _CHANNEL.report(site, error)


def _describe(value):
    if hasattr(value, "shape"):
        tensors, shapes = [value], "shape=" + _shape(value)
    else:
        tensors = list(value)
        shapes = "shapes=" + (";".join(map(_shape, tensors)) or "[]")
    return f"{shapes} dtype={_all('dtype', tensors)} device={_all('device', tensors)}"


def _shape(tensor):
    return f"({','.join(str(int(size)) for size in tensor.shape)})"


def _all(name, tensors):
    """Return the one value that all have, or all the different ones, as 'torch.bfloat16' → 'bfloat16'."""
    found = dict.fromkeys(token(str(getattr(tensor, name)).replace("torch.", "")) for tensor in tensors)
    return ";".join(found) or "?"


record = untraced(record)
