"""SIMULATED: what a forward pass is told about its batch."""

from enum import IntEnum, auto


class ForwardMode(IntEnum):
    EXTEND = auto()
    DECODE = auto()
    MIXED = auto()
    IDLE = auto()
    TARGET_VERIFY = auto()
    DRAFT_EXTEND = auto()
    DRAFT_EXTEND_V2 = auto()


class CaptureHiddenMode(IntEnum):
    NULL = 0
    LAST = 1
    FULL = 2

    def need_capture(self):
        return self != CaptureHiddenMode.NULL

    def is_full(self):
        return self == CaptureHiddenMode.FULL

    def is_last(self):
        return self == CaptureHiddenMode.LAST


class SpecInput:
    """What the worker hands to the draft: the states of the pass before."""

    def __init__(self, hidden_states):
        self.hidden_states = hidden_states


class ForwardBatch:
    def __init__(self, forward_mode, batch_size, input_ids, capture_hidden_mode, spec_info=None):
        self.forward_mode = forward_mode
        self.batch_size = batch_size
        self.input_ids = input_ids
        self.positions = input_ids
        self.capture_hidden_mode = capture_hidden_mode
        self.spec_info = spec_info
        self.mm_input_embeds = None
