"""SIMULATED: target and draft of one rank, and the passes of one decode cycle over shapes."""

from sglang.srt.model_executor.forward_batch_info import CaptureHiddenMode, ForwardBatch, ForwardMode, SpecInput
from sglang.srt.model_executor.model_config import load_config, load_model, tensor_shapes
from sglang.standin import tensor as torch


class ModelRunner:
    def __init__(self, gpu_id):
        self.device = torch.Device(gpu_id)
        self.target = self.draft = None
        self.steps, self.draft_tokens = 0, 1

    def load_target(self, folder):
        self.target = load_model(load_config(folder), self.device)

    def load_draft(self, folder, algorithm, steps, draft_tokens):
        """Load the draft; with EAGLE3 the target is told which layers to capture, with EAGLE it is not."""
        config = load_config(folder)
        self.draft = load_model(config, self.device)
        self.steps, self.draft_tokens = steps, draft_tokens
        _check_fc(self.draft, tensor_shapes(folder).get("fc.weight"))
        if algorithm == "EAGLE3":
            # Nested ids only: at the top level of the config SGLang does not look.
            eagle_config = getattr(config, "eagle_config", None) or {}
            self.target.set_eagle3_layers_to_capture(eagle_config.get("eagle_aux_hidden_state_layer_ids"))

    def capture_one_layer(self):
        """A fault that was asked for: see `standin.faults`."""
        model = getattr(self.target, "language_model", self.target)
        del model.model.layers_to_capture[1:]

    def captured_outputs(self):
        """The layers whose outputs the target captures, as the loaded model says; None without capture."""
        model = getattr(self.target, "language_model", self.target)
        if not model.capture_aux_hidden_states:
            return None
        return sorted({layer - 1 for layer in model.model.layers_to_capture})

    def prefill(self, rows):
        if self.draft is None:
            self._run(self.target, ForwardMode.EXTEND, 1, rows, CaptureHiddenMode.NULL)
            return
        out = self._run(self.target, ForwardMode.EXTEND, 1, rows, CaptureHiddenMode.FULL)
        self._run(self.draft, ForwardMode.EXTEND, 1, rows, CaptureHiddenMode.LAST, out.hidden_states)

    def cycle(self, batch_size):
        """One decode cycle: the draft's steps, the target's verify, the draft's extend."""
        if self.draft is None:
            self._run(self.target, ForwardMode.DECODE, batch_size, batch_size, CaptureHiddenMode.NULL)
            return
        self.draft_decodes(batch_size)
        self.draft_extend(batch_size, self.verify(batch_size))

    def draft_decodes(self, batch_size):
        width = self.draft.config.hidden_size
        states = torch.Tensor((batch_size, width), torch.bfloat16, self.device)
        for _ in range(self.steps - 1):
            out = self._run(self.draft, ForwardMode.DECODE, batch_size, batch_size, CaptureHiddenMode.LAST, states)
            states = out.hidden_states

    def verify(self, batch_size):
        rows = batch_size * self.draft_tokens
        out = self._run(self.target, ForwardMode.TARGET_VERIFY, batch_size, rows, CaptureHiddenMode.FULL)
        return out.hidden_states

    def draft_extend(self, batch_size, states):
        rows = batch_size * self.draft_tokens
        self._run(self.draft, ForwardMode.DRAFT_EXTEND_V2, batch_size, rows, CaptureHiddenMode.FULL, states)

    def _run(self, model, mode, batch_size, rows, capture, states=None):
        input_ids = torch.Tensor((rows,), torch.int64, self.device)
        spec_info = None if states is None else SpecInput(states)
        forward_batch = ForwardBatch(mode, batch_size, input_ids, capture, spec_info)
        return model.forward(input_ids, forward_batch.positions, forward_batch)


def _check_fc(draft, in_file):
    fc = getattr(getattr(draft, "model", None), "fc", None)
    if fc is not None and in_file is not None and in_file != tuple(fc.weight.shape):
        raise AssertionError(
            "Attempted to load weight (torch.Size(%s)) into parameter (torch.Size(%s))"
            % (list(in_file), list(fc.weight.shape))
        )
