"""SIMULATED: the EAGLE-3 draft: one Llama layer behind `fc`, which mixes the target's captured states."""

from sglang.srt.layers.logits_processor import LogitsProcessor
from sglang.srt.models.llama import LlamaForCausalLM
from sglang.standin import tensor as torch


class LlamaDecoderLayer(torch.Module):
    def __init__(self, config, device):
        self.hidden_norm = torch.RMSNorm(config.hidden_size, device)
        self.qkv_proj = torch.Linear(2 * config.hidden_size, config.hidden_size, device)

    def forward(self, positions, embeds, hidden_states, forward_batch, residual):
        residual = hidden_states
        hidden_states = torch.cat([embeds, self.hidden_norm(hidden_states)], dim=-1)
        return self.qkv_proj(hidden_states), residual


class LlamaModel(torch.Module):
    def __init__(self, config, device):
        self.config = config
        self.embed_tokens = torch.Embedding(config.vocab_size, config.hidden_size, device)
        self.hidden_size_in = getattr(config, "target_hidden_size", None) or config.hidden_size
        self.num_aux_hidden_states = getattr(config, "num_aux_hidden_states", None)
        if self.num_aux_hidden_states is None:
            eagle_config = getattr(config, "eagle_config", None) or {}
            layer_ids = eagle_config.get("eagle_aux_hidden_state_layer_ids")
            self.num_aux_hidden_states = len(layer_ids) if layer_ids else 3
        self.fc = torch.Linear(self.hidden_size_in * self.num_aux_hidden_states, config.hidden_size, device)
        self.layers = [LlamaDecoderLayer(config, device) for _ in range(config.num_hidden_layers)]
        self.norm = torch.RMSNorm(config.hidden_size, device)

    def forward(self, input_ids, positions, forward_batch, input_embeds=None):
        embeds = self.embed_tokens(input_ids) if input_embeds is None else input_embeds

        hidden_states = forward_batch.spec_info.hidden_states
        if hidden_states.shape[-1] != embeds.shape[-1]:
            hidden_states = self.fc(hidden_states)

        residual = None
        for layer in self.layers:
            hidden_states, residual = layer(positions, embeds, hidden_states, forward_batch, residual)
        hidden_states_to_logits, hidden_states_to_aux = self.norm(hidden_states, residual)
        return hidden_states_to_logits, [hidden_states_to_aux]


class LlamaForCausalLMEagle3(LlamaForCausalLM):
    def __init__(self, config, device):
        self.config = config
        self.model = LlamaModel(config, device)
        draft_vocab_size = getattr(config, "draft_vocab_size", None) or config.vocab_size
        self.lm_head = torch.Linear(config.hidden_size, draft_vocab_size, device)
        self.logits_processor = LogitsProcessor(config)
        self.capture_aux_hidden_states = True


EntryClass = [LlamaForCausalLMEagle3]
