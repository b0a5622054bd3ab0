"""SIMULATED: the command line of sglang 0.5.12.post1, and what SGLang makes of it before anything loads."""

import argparse
import json
import os
import traceback

from sglang.srt.model_executor.model_config import load_config
from sglang.standin import log

_FLAGS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "flags.tsv")
_SPECULATIVE = ("EAGLE", "EAGLE3", "NEXTN")
_OTHER_SPECULATIVE = ("STANDALONE", "NGRAM", "DFLASH", "FROZEN_KV_MTP")
_LONGER = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"


class ArgumentsRefused(Exception):
    """SGLang would end here with exit code 1 and a traceback that ends in these words."""

    def traceback(self):
        frames = "".join(traceback.format_tb(self.__traceback__))
        return "Traceback (most recent call last):\n%s%s" % (frames, self)


class ServerArgs:
    """Every option as an attribute, in the order in which SGLang lists them."""

    def __init__(self, values):
        self.__dict__.update(values)

    def __repr__(self):
        return "ServerArgs(%s)" % ", ".join("%s=%r" % item for item in self.values().items())

    def values(self):
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    @property
    def speculative(self):
        return self.speculative_algorithm is not None


def _flags():
    with open(_FLAGS, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                names, dest, kind, default = line.rstrip("\n").split("\t")
                yield names.split(), dest, kind, json.loads(default)


def _parser():
    parser = argparse.ArgumentParser(prog="sglang serve")
    types = {"int": int, "float": float, "str": str, "json": json.loads}
    for names, dest, kind, default in _flags():
        options = {"dest": dest, "default": default, "help": argparse.SUPPRESS if kind == "json" else dest}
        if kind == "flag":
            options["action"] = "store_true"
        elif kind == "bool":
            options["action"] = argparse.BooleanOptionalAction
        else:
            many, _, inner = kind.partition(":")
            options["type"] = types[inner or many]
            if many == "list":
                options["nargs"] = "*"
            options["metavar"] = dest.upper()
            options["required"] = dest == "model_path"
        parser.add_argument(*names, **options)
    return parser


def _with_config_file(argv):
    """Put the options of `--config FILE` in front of the others, which win."""
    if "--config" not in argv:
        return argv
    at = argv.index("--config")
    kinds = {name.lstrip("-"): kind for names, _, kind, _ in _flags() for name in names}
    extra = []
    with open(argv[at + 1], encoding="utf-8") as file:
        for line in file:
            key, colon, value = line.partition(":")
            key, value = key.strip().replace("_", "-"), value.strip().strip("\"'")
            if not colon or key.startswith("#"):
                continue
            if kinds.get(key) == "flag":
                extra += ["--" + key] if value.lower() == "true" else []
            else:
                extra += ["--" + key, value]
    return extra + argv[:at] + argv[at + 2:]


def prepare_server_args(argv):
    """Parse and resolve. Unknown or ambiguous options end the process with exit code 2, as argparse does it."""
    args = ServerArgs(vars(_parser().parse_args(_with_config_file(list(argv)))))
    args.tokenizer_path = args.tokenizer_path or args.model_path
    args.served_model_name = args.served_model_name or args.model_path
    args._target = _open_model(args.model_path)
    _resolve_memory(args)
    _resolve_speculative(args)
    _resolve_context(args)
    return args


def _open_model(path):
    if not os.path.isdir(path):
        # What transformers answers when a folder is not there and its name is no repository either.
        raise ArgumentsRefused(
            "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or "
            "'namespace/repo_name': '%s'. Use `repo_type` argument if needed.\n\n"
            "The above exception was the direct cause of the following exception:\n\n"
            "OSError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '%s'. Use `repo_type` "
            "argument if needed." % (path, path)
        )
    try:
        return load_config(path)
    except (OSError, ValueError) as error:
        raise ArgumentsRefused("%s: %s" % (type(error).__name__, error)) from None


def _resolve_memory(args):
    args.device, args.page_size = args.device or "cuda", args.page_size or 1
    if args.mem_fraction_static is None:
        args.mem_fraction_static = 0.837 if args.speculative else 0.857
    if args.chunked_prefill_size is None:
        args.chunked_prefill_size = 8192
    if args.disable_cuda_graph:
        args.cuda_graph_bs = []
    elif not args.cuda_graph_bs:
        args.cuda_graph_bs = [bs for bs in (1, 2, 4, 8) if bs <= (args.cuda_graph_max_bs or 8)]
    args.cuda_graph_max_bs = max(args.cuda_graph_bs, default=0)


def _resolve_speculative(args):
    if args.speculative_algorithm is None:
        return
    if args.speculative_algorithm not in _SPECULATIVE:
        known = args.speculative_algorithm in _OTHER_SPECULATIVE
        why = "The stand-in does not play %s" if known else "Unknown speculative algorithm '%s'"
        raise ArgumentsRefused("ValueError: " + why % args.speculative_algorithm)
    if args.speculative_algorithm == "NEXTN":
        args.speculative_algorithm = "EAGLE"
    if args.speculative_draft_model_path is None:
        raise ArgumentsRefused("ValueError: The stand-in has no MTP weights: give --speculative-draft-model-path")
    args._draft = _open_model(args.speculative_draft_model_path)
    _resolve_steps(args)
    if args.max_running_requests is None:
        args.max_running_requests = 48
        log.line(
            "Max running requests is reset to 48 for speculative decoding. You can override this by explicitly "
            "setting --max-running-requests."
        )
    log.line("Spec v2 is enabled by default for eagle/eagle3/standalone speculative decoding.")


def _resolve_steps(args):
    wanted = (args.speculative_num_steps, args.speculative_eagle_topk, args.speculative_num_draft_tokens)
    if wanted == (None, None, None):
        wanted = (3, 1, 4)
    elif None in wanted[:2]:
        raise ArgumentsRefused(
            "AssertionError: speculative_num_steps, speculative_eagle_topk and speculative_num_draft_tokens go together"
        )
    steps, topk, draft_tokens = wanted
    if topk != 1:
        raise ArgumentsRefused("ValueError: The stand-in plays --speculative-eagle-topk 1 only")
    if draft_tokens != steps + 1:
        log.line(
            "speculative_num_draft_tokens is adjusted to speculative_num_steps + 1 when speculative_eagle_topk == 1"
        )
    args.speculative_num_steps, args.speculative_eagle_topk, args.speculative_num_draft_tokens = steps, 1, steps + 1


def _resolve_context(args):
    derived = args._target.text().max_position_embeddings
    args._context_len = args.context_length or derived
    limits = [derived]
    if args.speculative:
        limits.append(args._draft.text().max_position_embeddings)
    for limit in limits:
        if args._context_len > limit and os.environ.get(_LONGER, "").lower() not in ("1", "true"):
            raise ArgumentsRefused(
                "ValueError: User-specified context_length (%d) is greater than the derived context_length (%d). "
                "This may lead to incorrect model outputs or CUDA errors. To allow overriding this maximum, set the "
                "env var %s=1" % (args._context_len, limit, _LONGER)
            )
