"""SIMULATED: Kimi-K2.5 hands text to its language model, a DeepSeek-V3."""

from sglang.srt.models.deepseek_v2 import DeepseekV3ForCausalLM
from sglang.standin import tensor as torch


class KimiK25ForConditionalGeneration(torch.Module):
    def __init__(self, config, device):
        self.config = config
        self.language_model = DeepseekV3ForCausalLM(config.text_config, device)

    def forward(self, input_ids, positions, forward_batch, input_embeds=None):
        return self.language_model(input_ids, positions, forward_batch, input_embeds)

    def set_eagle3_layers_to_capture(self, layer_ids=None):
        self.language_model.set_eagle3_layers_to_capture(layer_ids)


EntryClass = [KimiK25ForConditionalGeneration]
