"""SIMULATED: from hidden states to logits, and which hidden states are kept for the draft."""

from sglang.srt.model_executor.forward_batch_info import ForwardBatch, ForwardMode
from sglang.standin import tensor as torch


class LogitsMetadata:
    def __init__(self, forward_mode, capture_hidden_mode, batch_size):
        self.forward_mode = forward_mode
        self.capture_hidden_mode = capture_hidden_mode
        self.batch_size = batch_size

    @classmethod
    def from_forward_batch(cls, forward_batch):
        return cls(forward_batch.forward_mode, forward_batch.capture_hidden_mode, forward_batch.batch_size)


class LogitsProcessorOutput:
    def __init__(self, next_token_logits, hidden_states=None):
        self.next_token_logits = next_token_logits
        self.hidden_states = hidden_states


class LogitsProcessor(torch.Module):
    def __init__(self, config):
        self.config = config

    def forward(self, input_ids, hidden_states, lm_head, logits_metadata, aux_hidden_states=None):
        if isinstance(logits_metadata, ForwardBatch):
            logits_metadata = LogitsMetadata.from_forward_batch(logits_metadata)
        pruned_states, aux_pruned_states = self._get_pruned_states(hidden_states, aux_hidden_states, logits_metadata)
        hidden_states_to_store = self._get_hidden_states_to_store(
            hidden_states, aux_hidden_states, pruned_states, aux_pruned_states, logits_metadata
        )
        return LogitsProcessorOutput(lm_head(pruned_states), hidden_states_to_store)

    def _get_pruned_states(self, hidden_states, aux_hidden_states, logits_metadata):
        """A prompt needs logits for its last token only."""
        if logits_metadata.forward_mode != ForwardMode.EXTEND:
            return hidden_states, aux_hidden_states
        last = slice(-logits_metadata.batch_size, None)
        aux_pruned_states = None if aux_hidden_states is None else [each[last] for each in aux_hidden_states]
        return hidden_states[last], aux_pruned_states

    def _get_hidden_states_to_store(
        self, hidden_states, aux_hidden_states, pruned_states, aux_pruned_states, logits_metadata
    ):
        hidden_states_to_store = None
        if logits_metadata.capture_hidden_mode.need_capture():
            if logits_metadata.capture_hidden_mode.is_full():
                if aux_hidden_states is not None:
                    aux_hidden_states = torch.cat(aux_hidden_states, dim=-1)
                    hidden_states_to_store = aux_hidden_states
                else:
                    hidden_states_to_store = hidden_states
            elif logits_metadata.capture_hidden_mode.is_last():
                if aux_hidden_states is not None:
                    aux_pruned_states = torch.cat(aux_pruned_states, dim=-1)
                    hidden_states_to_store = aux_pruned_states
                else:
                    hidden_states_to_store = pruned_states
        return hidden_states_to_store
