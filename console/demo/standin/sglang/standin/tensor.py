"""SIMULATED: tensors that have a shape, a dtype and a device but no values, and the few modules of our models.

Shapes that do not fit raise the sentences that torch raises.
"""


class DType:
    def __init__(self, name, itemsize):
        self.name, self.itemsize = name, itemsize

    def __repr__(self):
        return "torch." + self.name


bfloat16 = DType("bfloat16", 2)
float32 = DType("float32", 4)
int64 = DType("int64", 8)


class Device:
    def __init__(self, index):
        self.type, self.index = "cuda", index

    def __repr__(self):
        return "device(type='cuda', index=%d)" % self.index

    def __str__(self):
        return "cuda:%d" % self.index


class Size(tuple):
    __slots__ = ()

    def __repr__(self):
        return "torch.Size(%s)" % list(self)

    def numel(self):
        count = 1
        for dim in self:
            count *= dim
        return count


class Tensor:
    __slots__ = ("device", "dtype", "shape")

    def __init__(self, shape, dtype, device):
        self.shape, self.dtype, self.device = Size(shape), dtype, device

    def __repr__(self):
        return "tensor(..., device='%s', size=%s, dtype=%s)" % (self.device, tuple(self.shape), self.dtype)

    def __len__(self):
        return self.shape[0]

    def __add__(self, other):
        if not isinstance(other, Tensor):
            return NotImplemented
        for dim in range(-1, -1 - min(len(self.shape), len(other.shape)), -1):
            if self.shape[dim] != other.shape[dim]:
                raise RuntimeError(
                    "The size of tensor a (%d) must match the size of tensor b (%d) at non-singleton dimension %d"
                    % (self.shape[dim], other.shape[dim], len(self.shape) + dim)
                )
        return self

    def __getitem__(self, index):
        """Rows picked by a tensor of row numbers, or by a slice."""
        if isinstance(index, slice):
            rows = len(range(*index.indices(self.shape[0])))
        else:
            rows = index.shape[0]
        return Tensor((rows,) + tuple(self.shape[1:]), self.dtype, self.device)

    def dim(self):
        return len(self.shape)

    def numel(self):
        return self.shape.numel()

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]


def cat(tensors, dim=0):
    first = tensors[0]
    at = dim % len(first.shape)
    for number, other in enumerate(tensors):
        for axis, (want, got) in enumerate(zip(first.shape, other.shape)):
            if axis != at and want != got:
                raise RuntimeError(
                    "Sizes of tensors must match except in dimension %d. Expected size %d but got size %d for tensor "
                    "number %d in the list." % (at, want, got, number)
                )
    shape = list(first.shape)
    shape[at] = sum(each.shape[at] for each in tensors)
    return Tensor(shape, first.dtype, first.device)


class Module:
    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)


class Linear(Module):
    def __init__(self, in_features, out_features, device):
        self.in_features, self.out_features = in_features, out_features
        self.weight = Tensor((out_features, in_features), bfloat16, device)

    def forward(self, x):
        if x.shape[-1] != self.in_features:
            raise RuntimeError(
                "mat1 and mat2 shapes cannot be multiplied (%dx%d and %dx%d)"
                % (x.shape[0], x.shape[-1], self.in_features, self.out_features)
            )
        return Tensor(x.shape[:-1] + (self.out_features,), x.dtype, x.device)


class Embedding(Module):
    def __init__(self, rows, width, device):
        self.weight = Tensor((rows, width), bfloat16, device)

    def forward(self, input_ids):
        return Tensor((input_ids.shape[0], self.weight.shape[1]), bfloat16, self.weight.device)


class RMSNorm(Module):
    def __init__(self, width, device):
        self.weight = Tensor((width,), bfloat16, device)

    def forward(self, x, residual=None):
        return x if residual is None else (x, x + residual)
