"""SIMULATED: DeepSeek-V2/V3, the language model of Kimi-K2 and Kimi-K2.5."""

from sglang.srt.layers.logits_processor import LogitsProcessor
from sglang.standin import tensor as torch


class DeepseekV2DecoderLayer(torch.Module):
    def __init__(self, config, layer_id, device):
        self.layer_id = layer_id
        self.input_layernorm = torch.RMSNorm(config.hidden_size, device)

    def forward(self, positions, hidden_states, forward_batch, residual):
        if residual is None:
            residual = hidden_states
        return self.input_layernorm(hidden_states, residual)


class DeepseekV2Model(torch.Module):
    def __init__(self, config, device):
        self.config = config
        self.embed_tokens = torch.Embedding(config.vocab_size, config.hidden_size, device)
        self.layers = [DeepseekV2DecoderLayer(config, i, device) for i in range(config.num_hidden_layers)]
        self.norm = torch.RMSNorm(config.hidden_size, device)
        self.layers_to_capture = []

    def forward(self, input_ids, positions, forward_batch, input_embeds=None):
        hidden_states = self.embed_tokens(input_ids) if input_embeds is None else input_embeds
        residual = None
        aux_hidden_states = []
        for i in range(len(self.layers)):
            if i in self.layers_to_capture:
                aux_hidden_states.append(hidden_states + residual)
            layer = self.layers[i]
            hidden_states, residual = layer(positions, hidden_states, forward_batch, residual)
        hidden_states, _ = self.norm(hidden_states, residual)
        if len(aux_hidden_states) == 0:
            return hidden_states
        return hidden_states, aux_hidden_states


class DeepseekV2ForCausalLM(torch.Module):
    def __init__(self, config, device):
        self.config = config
        self.model = DeepseekV2Model(config, device)
        self.lm_head = torch.Linear(config.hidden_size, config.vocab_size, device)
        self.logits_processor = LogitsProcessor(config)
        self.capture_aux_hidden_states = False

    def forward(self, input_ids, positions, forward_batch, input_embeds=None):
        hidden_states = self.model(input_ids, positions, forward_batch, input_embeds)
        aux_hidden_states = None
        if self.capture_aux_hidden_states:
            hidden_states, aux_hidden_states = hidden_states

        return self.logits_processor(input_ids, hidden_states, self.lm_head, forward_batch, aux_hidden_states)

    def set_eagle3_layers_to_capture(self, layer_ids=None):
        self.capture_aux_hidden_states = True
        if layer_ids is None:
            num_layers = self.config.num_hidden_layers
            self.model.layers_to_capture = [2, num_layers // 2, num_layers - 3]
        else:
            # The input of layer i is the output of layer i - 1.
            self.model.layers_to_capture = [val + 1 for val in layer_ids]


class DeepseekV3ForCausalLM(DeepseekV2ForCausalLM):
    pass


EntryClass = [DeepseekV2ForCausalLM, DeepseekV3ForCausalLM]
