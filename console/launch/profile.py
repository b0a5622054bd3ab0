"""The form of a launch profile. Secrets stand in it by reference only, so a Profile may be stored and shown."""

# no `from __future__ import annotations`: pydantic reads these annotations while the module runs
from typing import Annotated, Any, Literal, cast, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from console.launch.patch_choice import PatchChoice
from console.launch.values import (
    AbsolutePath,
    Address,
    Argument,
    Count,
    Devices,
    EnvName,
    FlagName,
    Module,
    NodePath,
    Port,
    Positive,
    ProfileName,
    Prompt,
    SecretRef,
    Site,
    Word,
)
from console.validation import Path_, known_keys, nearest

MEASURED = ("sglang", "tree", "gpu", "workload", "machine_id")
"""What two runs may differ in besides the profile: first words of a comparison's keys (`tree.git_head`)."""


def _varied_key(key: str) -> str:
    parts = key.split(".")
    return key if parts[0] in MEASURED else _known_key(key)


def _known_key(key: str) -> str:
    parts = key.split(".")
    for length, part in enumerate(parts):
        known = known_keys(Profile, tuple(parts[:length]))
        if known and part not in known:
            near = nearest(part, known)
            raise ValueError(f"a profile has no key {key!r}" + (f" (nearest: {near})" if near else ""))
    return key


def _swept_key(key: str) -> str:
    first = key.partition(".")[0]
    if first in _NOT_SWEPT:
        raise ValueError(f"{first} is not for sweeping: it changes nothing of what a server does")
    if first in ("env", "secret_env", "args", "speculative") and not key.partition(".")[2]:
        raise ValueError(f"{key} has keys of its own: name one, such as {key}.NAME")
    return _known_key(key)


_NOT_SWEPT = {
    *("name", "description", "extends", "log_path", "api_key", "admin_api_key", "secret_env"),
    *("expect", "training", "baseline", "sweep", "ready_timeout_s"),
}
SweptKey = Annotated[StrictStr, AfterValidator(_swept_key)]
VariedKey = Annotated[StrictStr, AfterValidator(_varied_key)]


class Form(BaseModel):
    """What all parts share: no unknown key, no change after validation."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


def scalar_of(path: Path_) -> type:
    """The type that a key of the server wants, as one scalar: bool, int, float or str."""
    form = Speculative if path[0] == "speculative" else Profile
    field = form.model_fields.get(str(path[-1]))
    return (_scalar(field.annotation) if field else None) or str


def _scalar(annotation: Any) -> type | None:
    if annotation in (bool, int, float, str):
        return cast(type, annotation)
    return next((found for each in get_args(annotation) if (found := _scalar(each))), None)


class Speculative(Form):
    """`--speculative-*`. Missing numbers are left to the server."""

    algorithm: Word
    """EAGLE3 for an EAGLE-3 draft; EAGLE would run it without a warning, and accept nothing."""
    draft_model_path: NodePath | None = None
    """The draft: a folder of the node, or the id of a hub."""
    draft_model_revision: Word | None = None
    """Branch, tag or commit of a draft from a hub."""
    draft_load_format: Word | None = None
    """How the draft's weights are read, as `load_format` for the target's."""
    draft_model_quantization: Word | None = None
    """The draft's quantization, where its config does not say it."""
    draft_attention_backend: Word | None = None
    """Attention kernels of the draft; without it the target's."""
    attention_mode: Word | None = None
    """Which kernels verify and draft-extend take: those of prefill or of decode."""
    eagle_topk: Positive | None = None
    """Branches of the draft at each step; 1 is a chain."""
    num_draft_tokens: Positive | None = None
    """Tokens that one verify looks at; with topk 1 it is num_steps + 1."""
    num_steps: Positive | None = None
    """Steps that the draft runs for each verify."""
    token_map: NodePath | None = None
    """The table of a draft with a smaller vocabulary than its target's."""
    accept_threshold_single: StrictFloat | None = None
    """A token is taken when the target gives it at least this probability; 1.0 changes nothing."""
    accept_threshold_acc: StrictFloat | None = None
    """The target's probability p counts as min(1, p / this); 1.0 changes nothing."""


class Expect(Form):
    """What the measurements should show."""

    widths: dict[Site, Positive] = Field(default_factory=dict)
    """Last dimension by site of the shape table."""
    accept_len: Annotated[StrictFloat, Field(ge=1)] | None = None
    """sum(completion_tokens) / sum(spec_verify_ct), the bonus token in it."""


class Training(Form):
    """How the draft was trained."""

    capture_layer_outputs: tuple[StrictInt, ...] = ()
    """The target's layers whose outputs were captured, 0-based, in the order of concatenation; -1 is the embedding."""


class Baseline(Form):
    """What this profile is held against."""

    profile: ProfileName
    """Its name."""
    varies: tuple[VariedKey, ...] = ("speculative",)
    """Dotted keys in which the two may differ; any other difference withholds the verdict."""


class ProbeSpec(Form):
    """How throughput is measured, in blocks of requests; what is missing is decided by `console.probe.workload`."""

    prompt: Prompt | None = None
    """The name of a shipped set, a text, or token ids such as [5, 17, 300]."""
    max_new_tokens: Positive | None = None
    """Tokens of each answer."""
    requests_per_block: Positive | None = None
    """Requests of one block; the block is what counts as one measurement."""
    blocks: Positive | None = None
    """Blocks, at the least with `adaptive`."""
    warmup: Count | None = None
    """Requests before the first block, discarded."""
    concurrency: Positive | None = None
    """Requests under way at once."""
    temperature: Annotated[StrictFloat, Field(ge=0)] | None = None
    """0 is greedy."""
    flush_cache: StrictBool | None = None
    """Empty the prefix cache before each block; never on a server that is not ours."""
    timeout_s: Annotated[StrictFloat, Field(gt=0)] | None = None
    """Seconds for one request."""
    api: Literal["generate", "completions", "chat"] | None = None
    """SGLang's own form, or those of OpenAI."""
    model: Word | None = None
    """The name that the OpenAI forms ask for; SGLang takes any."""
    keep_output: StrictBool | None = None
    """Keep the text of the answers in the run."""
    adaptive: StrictBool | None = None
    """Blocks are added until the interval is as narrow as `half_width`, or the budget is spent."""
    half_width: Annotated[StrictFloat, Field(ge=0.001, le=0.5)] | None = None
    """Relative: 0.02 is 2 %."""
    budget_min: Annotated[StrictFloat, Field(gt=0, le=1440)] | None = None
    """Minutes after which no further block is begun."""

    def given(self) -> dict[str, Any]:
        """Return the keys that the profile sets."""
        return self.model_dump(exclude_none=True)


class Profile(Form):
    """One way to start one server. Keys of the server are flags of the same name (`console.launch.flags`)."""

    name: ProfileName
    """Its file's name; it may be left out."""
    description: StrictStr = ""
    """One line for lists."""
    extends: StrictStr | None = None
    """The profile that this one lies over: its name, or a path that begins beside this file."""

    python: NodePath = "${python}"
    """The serving interpreter: an absolute path, or a name that the node looks up."""
    module: Module = "sglang.launch_server"
    """What `python -m` starts."""
    cwd: AbsolutePath | None = None
    """The folder that the server starts in; without it the account's home."""
    log_path: AbsolutePath
    """The server's stdout and stderr, on the node; an existing file is renamed, never cut."""
    gpus: Devices | None = None
    """Device indices (CUDA_VISIBLE_DEVICES); None leaves the node's."""

    model_path: NodePath
    """The target: a folder of the node, or the id of a hub."""
    tokenizer_path: NodePath | None = None
    """The tokenizer, where it is not the model's."""
    served_model_name: Word | None = None
    """The name under which the OpenAI endpoints serve it."""
    revision: Word | None = None
    """Branch, tag or commit of a model from a hub."""
    load_format: Word | None = None
    """How weights are read: auto, safetensors, dummy (random weights) and others."""
    trust_remote_code: StrictBool = False
    """Run Python code that comes with the model."""
    dtype: Word | None = None
    """Type of weights and activations: auto, bfloat16, float16 and others."""
    quantization: Word | None = None
    """Quantization of the weights, where the config does not say it."""
    kv_cache_dtype: Word | None = None
    """Type of the KV cache; auto is the model's."""
    context_length: Positive | None = None
    """Longest context in tokens; without it the config's."""
    device: Word | None = None
    """cuda, cpu and others; without it what is found."""
    tp_size: Positive = 1
    """Tensor parallel: GPUs over which each layer is divided."""
    pp_size: Positive | None = None
    """Pipeline parallel: stages of layers, each on tp_size GPUs."""
    dp_size: Positive | None = None
    """Data parallel: copies that share the requests (with DP attention, groups within TP)."""
    ep_size: Positive | None = None
    """Expert parallel: over how many ranks the experts are divided."""
    nnodes: Positive | None = None
    """Nodes that one server spans."""
    node_rank: Count | None = None
    """This node's place among them, from 0."""
    dist_init_addr: Address | None = None
    """host:port of the first node, where the ranks meet."""
    mem_fraction_static: Annotated[StrictFloat, Field(gt=0, lt=1)] | None = None
    """Part of the GPU memory for weights and KV cache together."""
    max_running_requests: Positive | None = None
    """Most requests at once; with speculation SGLang sets 48 where none is given."""
    max_total_tokens: Positive | None = None
    """Tokens in the KV cache; without it what fits."""
    chunked_prefill_size: StrictInt | None = None
    """Most tokens of one prefill chunk; -1 does not divide prompts."""
    page_size: Positive | None = None
    """Tokens of one page of the KV cache."""
    host: Word | None = None
    """Where it listens; 0.0.0.0 is every interface, and wants an api_key."""
    port: Port = 30000
    """Where it listens."""
    num_continuous_decode_steps: Positive | None = None
    """Declared by SGLang, and read by no release."""
    attention_backend: Word | None = None
    """Attention kernels: fa3, flashinfer, triton, trtllm_mla and others, by release."""
    prefill_attention_backend: Word | None = None
    """Those of prefill alone."""
    decode_attention_backend: Word | None = None
    """Those of decode alone."""
    sampling_backend: Word | None = None
    """Sampling kernels: flashinfer or pytorch."""
    grammar_backend: Word | None = None
    """Structured output: xgrammar, outlines, llguidance or none."""
    disable_custom_all_reduce: StrictBool = False
    """All-reduce by NCCL instead of SGLang's own kernel."""
    disable_overlap_schedule: StrictBool = False
    """Schedule and forward one after the other."""
    disable_radix_cache: StrictBool = False
    """No prefix cache."""
    disable_cuda_graph: StrictBool = False
    """No CUDA graphs: needed to print shapes, for a replayed graph runs no Python; slower."""
    skip_server_warmup: StrictBool = False
    """No request of its own before it says that it is ready."""
    enable_metrics: StrictBool = False
    """Prometheus figures at /metrics."""
    decode_log_interval: Positive | None = None
    """Decode steps between two lines of the log; SGLang has 40."""
    watchdog_timeout: StrictFloat | None = None
    """Seconds after which a forward that hangs ends the server."""
    log_level: Word | None = None
    """debug, info, warning or error."""
    log_level_http: Word | None = None
    """The same for the HTTP server; without it log_level's."""

    speculative: Speculative | None = None
    """Speculative decoding; without it there is none."""
    args: dict[FlagName, Argument] = Field(default_factory=dict)
    """Flags without a key of their own."""
    env: dict[EnvName, StrictStr] = Field(default_factory=dict)
    """Environment of the server; text, so numbers in quotes. Shown and stored: no secrets."""
    secret_env: dict[EnvName, SecretRef] = Field(default_factory=dict)
    """Environment whose values come from the console's own, such as ${HF_TOKEN}; masked everywhere."""
    api_key: SecretRef | None = None
    """Asked of every request, such as ${MY_KEY}; reaches the server by a private file, never by argv."""
    admin_api_key: SecretRef | None = None
    """The same for the endpoints that change the server."""

    patches: tuple[PatchChoice, ...] = ()
    """Patches by id, or {id, options}: docs/patches.md."""
    expect: Expect = Field(default_factory=Expect)
    """What the measurements should show."""
    training: Training = Field(default_factory=Training)
    """How the draft was trained."""
    baseline: Baseline | None = None
    """What this profile is held against."""
    probe: ProbeSpec = Field(default_factory=ProbeSpec)
    """How throughput is measured."""
    sweep: dict[SweptKey, Annotated[list[Any], Field(min_length=1)]] = Field(default_factory=dict)
    """Axes of a sweep: of each dotted key, or `env.NAME`, the values to try. Each is checked as --set would be."""
    ready_timeout_s: Annotated[StrictFloat, Field(gt=0)] | None = None
    """Seconds; None waits while the log or a child is busy."""

    @property
    def patch_ids(self) -> tuple[str, ...]:
        """The patches that it wants, without their options."""
        return tuple(choice.id for choice in self.patches)
