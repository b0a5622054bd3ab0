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
    draft_model_path: NodePath | None = None
    draft_model_revision: Word | None = None
    draft_load_format: Word | None = None
    draft_model_quantization: Word | None = None
    draft_attention_backend: Word | None = None
    attention_mode: Word | None = None
    eagle_topk: Positive | None = None
    num_draft_tokens: Positive | None = None
    num_steps: Positive | None = None
    token_map: NodePath | None = None
    accept_threshold_single: StrictFloat | None = None
    accept_threshold_acc: StrictFloat | None = None


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
    varies: tuple[VariedKey, ...] = ("speculative",)
    """Dotted keys in which the two may differ; any other difference withholds the verdict."""


class ProbeSpec(Form):
    """How throughput is measured, in blocks of requests; what is missing is decided by `console.probe.workload`."""

    prompt: Prompt | None = None
    max_new_tokens: Positive | None = None
    requests_per_block: Positive | None = None
    blocks: Positive | None = None
    warmup: Count | None = None
    """Requests before the first block, discarded."""
    concurrency: Positive | None = None
    temperature: Annotated[StrictFloat, Field(ge=0)] | None = None
    flush_cache: StrictBool | None = None
    timeout_s: Annotated[StrictFloat, Field(gt=0)] | None = None
    """Seconds for one request."""
    api: Literal["generate", "completions", "chat"] | None = None
    model: Word | None = None
    """The name that the OpenAI forms ask for; SGLang takes any."""
    keep_output: StrictBool | None = None
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
    description: StrictStr = ""
    extends: StrictStr | None = None

    python: NodePath = "${python}"
    """The serving interpreter: an absolute path, or a name that the node looks up."""
    module: Module = "sglang.launch_server"
    cwd: AbsolutePath | None = None
    log_path: AbsolutePath
    gpus: Devices | None = None
    """Device indices (CUDA_VISIBLE_DEVICES); None leaves the node's."""

    model_path: NodePath
    tokenizer_path: NodePath | None = None
    served_model_name: Word | None = None
    revision: Word | None = None
    load_format: Word | None = None
    trust_remote_code: StrictBool = False
    dtype: Word | None = None
    quantization: Word | None = None
    kv_cache_dtype: Word | None = None
    context_length: Positive | None = None
    device: Word | None = None
    tp_size: Positive = 1
    pp_size: Positive | None = None
    dp_size: Positive | None = None
    ep_size: Positive | None = None
    nnodes: Positive | None = None
    node_rank: Count | None = None
    dist_init_addr: Address | None = None
    mem_fraction_static: Annotated[StrictFloat, Field(gt=0, lt=1)] | None = None
    max_running_requests: Positive | None = None
    max_total_tokens: Positive | None = None
    chunked_prefill_size: StrictInt | None = None
    page_size: Positive | None = None
    host: Word | None = None
    port: Port = 30000
    num_continuous_decode_steps: Positive | None = None
    attention_backend: Word | None = None
    prefill_attention_backend: Word | None = None
    decode_attention_backend: Word | None = None
    sampling_backend: Word | None = None
    grammar_backend: Word | None = None
    disable_custom_all_reduce: StrictBool = False
    disable_overlap_schedule: StrictBool = False
    disable_radix_cache: StrictBool = False
    disable_cuda_graph: StrictBool = False
    skip_server_warmup: StrictBool = False
    enable_metrics: StrictBool = False
    decode_log_interval: Positive | None = None
    watchdog_timeout: StrictFloat | None = None
    log_level: Word | None = None
    log_level_http: Word | None = None

    speculative: Speculative | None = None
    args: dict[FlagName, Argument] = Field(default_factory=dict)
    """Flags without a key of their own."""
    env: dict[EnvName, StrictStr] = Field(default_factory=dict)
    secret_env: dict[EnvName, SecretRef] = Field(default_factory=dict)
    api_key: SecretRef | None = None
    admin_api_key: SecretRef | None = None

    patches: tuple[PatchChoice, ...] = ()
    expect: Expect = Field(default_factory=Expect)
    training: Training = Field(default_factory=Training)
    baseline: Baseline | None = None
    probe: ProbeSpec = Field(default_factory=ProbeSpec)
    sweep: dict[SweptKey, Annotated[list[Any], Field(min_length=1)]] = Field(default_factory=dict)
    """Axes of a sweep: of each dotted key, or `env.NAME`, the values to try. Each is checked as --set would be."""
    ready_timeout_s: Annotated[StrictFloat, Field(gt=0)] | None = None
    """Seconds; None waits while the log or a child is busy."""

    @property
    def patch_ids(self) -> tuple[str, ...]:
        """The patches that it wants, without their options."""
        return tuple(choice.id for choice in self.patches)
