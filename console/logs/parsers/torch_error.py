"""torch's and SGLang's sentences that carry shapes or sizes, mostly the last line of a traceback.

`mat1 and mat2` is the sentence of a wrong capture count: mat1's columns are what was concatenated, mat2's rows what
`fc` was built for.
"""

from console.logs.parser import Fields, Parser
from console.logs.sentences import sentence

_SENTENCES = (
    (
        "matmul",
        sentence(
            "mat1 and mat2 shapes",
            r"cannot be multiplied \(<mat1_rows:int>x<mat1_columns:int> and <mat2_rows:int>x<mat2_columns:int>\)",
        ),
    ),
    ("dtype", sentence("must have the same dtype", r"same dtype, but got <mat1_dtype:word> and <mat2_dtype:word>")),
    (
        "dtype",
        sentence(
            "to have the same dtype",
            r"same dtype, but got: (?:c10::)?<mat1_dtype:word> != (?:c10::)?<mat2_dtype:word>",
        ),
    ),
    (
        "size_mismatch",
        sentence(
            "size mismatch for",
            r"mismatch for <tensor:word>: copying a param with shape torch\.Size\(\[<checkpoint_shape:dims>\]\) from "
            r"checkpoint, the shape in current model is torch\.Size\(\[<model_shape:dims>\]\)",
        ),
    ),
    (
        "broadcast",
        sentence(
            "The size of tensor a",
            r"tensor a \(<a:int>\) must match the size of tensor b \(<b:int>\) "
            r"at non-singleton dimension <dimension:int>",
        ),
    ),
    (
        "expand",
        sentence(
            "The expanded size of the tensor",
            r"\(<expanded:int>\) must match the existing size \(<existing:int>\) "
            r"at non-singleton dimension <dimension:int>",
        ),
    ),
    (
        "concatenate",
        sentence(
            "Sizes of tensors must match",
            r"except in dimension <dimension:int>\. Expected size <expected:int> but got size <got:int> "
            r"for tensor number <tensor_number:int>",
        ),
    ),
    (
        "view",
        sentence("is invalid for input of size", r"shape '\[<wanted:dims>\]' is invalid for input of size <size:int>"),
    ),
    (
        "copy",
        sentence(
            "match the broadcast shape",
            r"output with shape \[<output:dims>\] doesn't match the broadcast shape \[<broadcast:dims>\]",
        ),
    ),
    (
        "normalized_shape",
        sentence(
            "Given normalized_shape=",
            r"normalized_shape=\[<wanted:dims>\], expected input with shape \[\*, [\d, ]{1,120}\], "
            r"but got input of size ?\[<got:dims>\]",
        ),
    ),
    (
        "split",
        sentence(
            "split_with_sizes expects",
            r"to sum exactly to <size:int> \(input tensor's size at dimension <dimension:int>\), "
            r"but got split_sizes=\[<split_sizes:dims>\]",
        ),
    ),
    (
        "weight_shape",
        sentence(
            "loaded_weight.shape=",
            r"param\.data\.shape=torch\.Size\(\[<model_shape:dims>\]\), "
            r"loaded_weight\.shape=torch\.Size\(\[<checkpoint_shape:dims>\]\)",
        ),
    ),
    (
        "weight_shape",
        sentence(
            "Attempted to load weight",
            r"load weight \(torch\.Size\(\[<checkpoint_shape:dims>\]\)\) into parameter "
            r"\(torch\.Size\(\[<model_shape:dims>\]\)\)",
        ),
    ),
    (
        "batched_matmul",
        sentence(
            "first two dimensions of batch2",
            r"batch2 tensor to be: \[<wanted:dims>\] but got: \[<got:dims>\]",
        ),
    ),
    ("captures", sentence("aux hidden states", r"captured <captured:int> of <wanted:int> aux hidden states")),
    (
        "out_of_memory",
        sentence(
            "CUDA out of memory",
            r"CUDA out of memory\.(?: Tried to allocate <tried:size>\.)?(?: GPU <gpu:int>)?",
        ),
    ),
    ("cuda_error", sentence("CUDA error: ", r"CUDA error: <cause:text>")),
)


def torch_sentence(message: str) -> Fields | None:
    """Return the fields of the first such sentence: `error` names it, `during` what it broke where that is told."""
    for error, known in _SENTENCES:
        if (numbers := known.read(message)) is not None:
            fields: Fields = {"error": error, "sentence": message.strip(), **numbers}
            if "Capture " in message and "graph failed" in message:
                fields["during"] = "graph_capture"
            return fields
    return None


PARSER = Parser(
    kind="torch_error",
    hints=("Error", "Exception", "mat1 and", "mismatch for", "hidden states", "CUDA "),
    parse=torch_sentence,
)
