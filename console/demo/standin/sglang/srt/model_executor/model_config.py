"""SIMULATED: a model folder: config.json as an object, tensor shapes from the safetensors header."""

import json
import os

MODULES = {
    "DeepseekV2ForCausalLM": "deepseek_v2",
    "DeepseekV3ForCausalLM": "deepseek_v2",
    "KimiK25ForConditionalGeneration": "kimi_k25",
    "LlamaForCausalLM": "llama",
    "LlamaForCausalLMEagle3": "llama_eagle3",
}
_HEADER_CAP = 64 << 20


class Config:
    def __init__(self, values):
        for name, value in values.items():
            setattr(self, name, Config(value) if name == "text_config" else value)

    def text(self):
        return getattr(self, "text_config", self)


def load_config(folder):
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = Config(json.load(file))
    named = list(getattr(config, "architectures", None) or [])
    if not any(name in MODULES for name in named):
        raise ValueError(
            "Model architectures %s are not supported for now. Supported architectures: %s" % (named, MODULES.keys())
        )
    return config


def load_model(config, device):
    from importlib import import_module

    name = next(name for name in config.architectures if name in MODULES)
    return getattr(import_module("sglang.srt.models." + MODULES[name]), name)(config, device)


def tensor_shapes(folder):
    """Tensor name to shape, from every safetensors file in the folder."""
    shapes = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".safetensors"):
            with open(os.path.join(folder, name), "rb") as file:
                length = int.from_bytes(file.read(8), "little")
                header = json.loads(file.read(min(length, _HEADER_CAP)))
            shapes.update({key: tuple(value["shape"]) for key, value in header.items() if key != "__metadata__"})
    return shapes
