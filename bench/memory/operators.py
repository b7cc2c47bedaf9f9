"""The operators that are measured: what each takes, what it means in f64, how PyTorch computes it, on which shapes.

A function of a library gets the inputs in this order, then the output, all contiguous; where a type has a choice, its header
decides. Scalars are found by their names.
"""

import math
import types
from dataclasses import dataclass, field, replace

try:
    import torch
    import torch.nn.functional as F
except ImportError:  # the table can be read without
    torch = F = None

T = "T"  # the type of a case: f16, bf16 or f32
ROUNDING = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24, "f64": 2.0**-53}
BYTES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "i32": 4, "i64": 8}
MATRICES = ((8192, 1024), (8192, 4096), (65536, 768), (4096, 32768), (256, 262144))
NCHW, NHWC = (64, 256, 56, 56), (64, 56, 56, 256)
CLASSES = (16, 64, 224, 224)  # of each pixel
GROUPS = 32
SORTED, FIRST = (
    ((8192, 4096), (65536, 768)),
    8,
)  # matrices, and how many of each row topk takes
VOCABULARY = 65536
COMPOSED = ((8192, 4096),)
EPSILON = 1e-5


@dataclass(frozen=True)
class Tensor:
    """`dtypes`: what a function may want it to hold, the first one what PyTorch gets. `fill`: normal, weight (around one),
    rows (indices of a table's rows, all different) or classes (indices below `classes`)."""

    shape: tuple
    dtypes: tuple = (T,)
    fill: str = "normal"
    classes: int = 0


@dataclass(frozen=True)
class Operator:
    """`tensors(shape)`: inputs and the output. `reference`: of inputs in f64, unless `is_exact`: then of the inputs as they are,
    and each element has to be the same. `tolerance(unit, n)`: relative and absolute, where unit is the output's rounding and n
    how many elements go into one."""

    tensors: object
    torch: object
    reference: object
    tolerance: object = None
    shapes: tuple = MATRICES
    is_exact: bool = False
    scalars: dict = field(default_factory=dict)
    touched: object = None  # bytes read, where that is not all of the inputs
    depth: object = lambda shape: shape[-1]


@dataclass(frozen=True)
class Case:
    name: str
    shape: tuple
    dtype: str

    @property
    def operator(self):
        return OPERATORS[self.name]

    @property
    def label(self):
        return "x".join(map(str, self.shape))

    @property
    def title(self):
        return f"{self.name}_{self.dtype}_{self.label}"

    def tensors(self):
        """Inputs and the output, with the case's type where the table says T."""
        inputs, output = self.operator.tensors(self.shape)
        return [
            replace(t, dtypes=tuple(self.dtype if d == T else d for d in t.dtypes))
            for t in (*inputs, output)
        ]

    def traffic(self):
        """Bytes read and written: each input and the output once."""
        *inputs, output = self.tensors()
        read = sum(size(t) for t in inputs)
        if self.operator.touched:
            read = self.operator.touched(self.shape, BYTES[self.dtype])
        return read, size(output)

    @property
    def is_reduction(self):
        read, written = self.traffic()
        return 8 * written < read


def size(tensor):
    return math.prod(tensor.shape) * BYTES[tensor.dtypes[0]]


# ---- shapes -----------------------------------------------------------------------------------------------------


def elementwise(shape):
    return [Tensor(shape)], Tensor(shape)


def pairs(shape):
    return [Tensor(shape), Tensor(shape)], Tensor(shape)


def of_channels(axis, *fills):
    """With vectors along an axis."""
    return lambda shape: (
        [Tensor(shape), *(Tensor((shape[axis],), fill=f) for f in fills)],
        Tensor(shape),
    )


def along(axes, *dtypes):
    """Without some axes."""
    return lambda shape: (
        [Tensor(shape)],
        Tensor(tuple(n for a, n in enumerate(shape) if a not in axes), dtypes),
    )


def along_rows(*dtypes):
    return lambda shape: ([Tensor(shape)], Tensor(shape[:-1], dtypes))


def along_columns(*dtypes):
    return along((0,), *dtypes)


def half_channels(shape):
    n, c, h, w = shape
    return [Tensor((n, c // 2, h, w)), Tensor((n, c // 2, h, w))], Tensor(shape)


def first_columns(shape):
    return [Tensor(shape)], Tensor((*shape[:-1], FIRST))


def classified(shape):
    rows, classes = shape
    return [Tensor(shape), Tensor((rows,), ("i64", "i32"), "classes", classes)], Tensor(
        ()
    )


def halves(shape):
    half = (shape[0], shape[1] // 2)
    return [Tensor(half), Tensor(half)], Tensor(shape)


def looked_up(shape):
    rows, width = shape
    return [
        Tensor((rows,), ("i64", "i32"), "rows"),
        Tensor((VOCABULARY, width)),
    ], Tensor(shape)


def pooled_nhwc(shape):
    n, h, w, c = shape
    return [Tensor(shape)], Tensor((n, (h - 1) // 2 + 1, (w - 1) // 2 + 1, c))


def pooled_nchw(shape):
    n, c, h, w = shape
    return [Tensor(shape)], Tensor((n, c, (h - 1) // 2 + 1, (w - 1) // 2 + 1))


def twice_as_large(shape):
    n, c, h, w = shape
    return [Tensor(shape)], Tensor((n, c, 2 * h, 2 * w))


# ---- meanings ---------------------------------------------------------------------------------------------------


def layer_norm(x, weight, bias):
    return F.layer_norm(x, (x.shape[-1],), weight, bias, EPSILON)


def rms_norm(x, weight):
    return F.rms_norm(x, (x.shape[-1],), weight, EPSILON)


def exact_rms_norm(x, weight):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPSILON) * weight


def bias_gelu_add(x, bias, residual):
    return F.gelu(x + bias) + residual


def exact_bias_gelu_add(x, bias, residual):
    y = x + bias
    return 0.5 * y * (1 + torch.erf(y * math.sqrt(0.5))) + residual


def group_norm(x, weight, bias):
    return F.group_norm(x, GROUPS, weight, bias, EPSILON)


def batch_norm(x, mean, var, weight, bias):
    return F.batch_norm(x, mean, var, weight, bias, False, 0.0, EPSILON)


def bias_gelu_add_nchw(x, bias, residual):
    return F.gelu(x + bias.view(-1, 1, 1)) + residual


def exact_bias_gelu_add_nchw(x, bias, residual):
    return exact_bias_gelu_add(x, bias.view(-1, 1, 1), residual)


def residual_layer_norm(x, weight, bias, residual):
    return layer_norm(x + residual, weight, bias)


def residual_rms_norm(x, weight, residual):
    return rms_norm(x + residual, weight)


def exact_residual_rms_norm(x, weight, residual):
    return exact_rms_norm(x + residual, weight)


def masked_softmax(x, mask):
    return torch.softmax(x * 0.125 + mask, -1)


def bias_gelu(x, bias):
    return F.gelu(x + bias)


def swiglu(gate, up):
    return F.silu(gate) * up


def first_argmax(x):
    """The first of equal ones, as NumPy has it."""
    indices = torch.arange(x.shape[-1], device=x.device)
    return torch.where(x == x.amax(-1, keepdim=True), indices, x.shape[-1]).amin(-1)


def max_pool_nhwc(x):
    return F.max_pool2d(x.permute(0, 3, 1, 2), 3, 2, 1).permute(0, 2, 3, 1)


def max_pool_nchw(x):
    return F.max_pool2d(x, 3, 2, 1)


def avg_pool_nchw(x):
    return F.avg_pool2d(x, 3, 2, 1)


def avg_pool_nhwc(x):
    return F.avg_pool2d(x.permute(0, 3, 1, 2), 3, 2, 1).permute(0, 2, 3, 1)


def upsample(x):
    return F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)


def cross_entropy(x, target):
    return F.cross_entropy(x, target.long())


def sorted_rows(x):
    return torch.sort(x, -1).values


def largest_columns(x):
    return torch.topk(x, FIRST, -1).values


# ---- tolerances: of the last rounding, and of what sums and functions in f32 may lose before ---------------------


def of_values(relative, absolute):
    return lambda unit, n: (1.01 * unit + relative, absolute)


def of_sums(unit, n):
    """Sums of n normal numbers are as large as √n, and so is each of the partial sums that gets rounded."""
    return 1.01 * unit + 2.0**-23, 2.0**-18 * math.sqrt(n)


def of_means(unit, n):
    relative, absolute = of_sums(unit, n)
    return relative, absolute / n


def composed(unit, n):
    """Operators round what they return, and later ones magnify it."""
    return 16 * unit + 1e-5, 16 * unit + 1e-5


def softmax_tolerance(unit, n):
    return 1.01 * unit + 4e-6, 2.0**-25 if unit == ROUNDING[
        "f16"
    ] else 1e-12  # half of the least f16


POOL = {"window": 3, "kernel": 3, "kernel_size": 3, "stride": 2, "padding": 1}
NORM = {"eps": EPSILON, "epsilon": EPSILON}


def permute(shape, *dims):
    return Operator(
        lambda shape: ([Tensor(shape)], Tensor(tuple(shape[d] for d in dims))),
        lambda x: x.permute(dims).contiguous(),
        lambda x: x.permute(dims),
        shapes=(shape,),
        is_exact=True,
    )


OPERATORS = {
    "softmax": Operator(
        elementwise,
        lambda x: torch.softmax(x, -1),
        lambda x: torch.softmax(x, -1),
        softmax_tolerance,
    ),
    "layer_norm": Operator(
        of_channels(-1, "weight", "normal"),
        layer_norm,
        layer_norm,
        of_values(1e-5, 1e-5),
        scalars=NORM,
    ),
    "rms_norm": Operator(
        of_channels(-1, "weight"),
        rms_norm,
        exact_rms_norm,
        of_values(1e-5, 1e-6),
        scalars=NORM,
    ),
    "row_sum": Operator(
        along_rows(T, "f32"), lambda x: x.sum(-1), lambda x: x.sum(-1), of_sums
    ),
    "row_max": Operator(
        along_rows(T), lambda x: x.amax(-1), lambda x: x.amax(-1), is_exact=True
    ),
    "column_sum": Operator(
        along_columns(T, "f32"),
        lambda x: x.sum(0),
        lambda x: x.sum(0),
        of_sums,
        depth=lambda shape: shape[0],
    ),
    "column_max": Operator(
        along_columns(T), lambda x: x.amax(0), lambda x: x.amax(0), is_exact=True
    ),
    "bias_gelu_add": Operator(
        lambda shape: (
            [Tensor(shape), Tensor(shape[-1:]), Tensor(shape)],
            Tensor(shape),
        ),
        bias_gelu_add,
        exact_bias_gelu_add,
        of_values(2e-7, 4e-6),
    ),
    "transpose": Operator(
        lambda shape: ([Tensor(shape)], Tensor(shape[::-1])),
        lambda x: x.t().contiguous(),
        lambda x: x.t(),
        is_exact=True,
    ),
    "cumsum": Operator(
        elementwise,
        lambda x: torch.cumsum(x, -1),
        lambda x: torch.cumsum(x, -1),
        of_sums,
    ),
    "argmax": Operator(
        along_rows("i64", "i32"),
        lambda x: torch.argmax(x, -1),
        first_argmax,
        is_exact=True,
    ),
    "concat": Operator(
        halves,
        lambda a, b: torch.cat((a, b), -1),
        lambda a, b: torch.cat((a, b), -1),
        is_exact=True,
    ),
    "embedding": Operator(
        looked_up,
        lambda index, table: F.embedding(index, table),
        lambda index, table: table[index.long()],
        shapes=((16384, 768), (16384, 4096)),
        is_exact=True,
        touched=lambda shape, unit: shape[0] * (8 + shape[1] * unit),
    ),
    "max_pool": Operator(
        pooled_nhwc,
        max_pool_nhwc,
        max_pool_nhwc,
        shapes=((128, 112, 112, 64),),
        is_exact=True,
        scalars=POOL,
    ),
    "max_pool_nchw": Operator(
        pooled_nchw,
        max_pool_nchw,
        max_pool_nchw,
        shapes=((128, 64, 112, 112),),
        is_exact=True,
        scalars=POOL,
    ),
    # Activations, sorts and losses.
    "softmax_4d": Operator(
        elementwise,
        lambda x: torch.softmax(x, -1),
        lambda x: torch.softmax(x, -1),
        softmax_tolerance,
        shapes=((32, 12, 512, 512),),
    ),
    "softmax_nchw": Operator(
        elementwise,
        lambda x: torch.softmax(x, 1),
        lambda x: torch.softmax(x, 1),
        softmax_tolerance,
        shapes=(CLASSES,),
        depth=lambda shape: shape[1],
    ),
    "layer_norm_nhwc": Operator(
        of_channels(-1, "weight", "normal"),
        layer_norm,
        layer_norm,
        of_values(1e-5, 1e-5),
        shapes=(NHWC,),
        scalars=NORM,
    ),
    "group_norm": Operator(
        of_channels(1, "weight", "normal"),
        group_norm,
        group_norm,
        of_values(1e-5, 1e-5),
        shapes=((32, 320, 64, 64),),
        scalars=NORM,
    ),
    "batch_norm": Operator(
        of_channels(1, "normal", "weight", "weight", "normal"),
        batch_norm,
        batch_norm,
        of_values(1e-5, 1e-5),
        shapes=(NCHW,),
        scalars=NORM,
    ),
    "channel_sum_nchw": Operator(
        along((0, 2, 3), T, "f32"),
        lambda x: x.sum((0, 2, 3)),
        lambda x: x.sum((0, 2, 3)),
        of_sums,
        shapes=(NCHW,),
        depth=lambda shape: math.prod(shape) // shape[1],
    ),
    "channel_sum_nhwc": Operator(
        along((0, 1, 2), T, "f32"),
        lambda x: x.sum((0, 1, 2)),
        lambda x: x.sum((0, 1, 2)),
        of_sums,
        shapes=(NHWC,),
        depth=lambda shape: math.prod(shape[:-1]),
    ),
    "spatial_mean_nchw": Operator(
        along((2, 3), T, "f32"),
        lambda x: x.mean((2, 3)),
        lambda x: x.mean((2, 3)),
        of_means,
        shapes=(NCHW,),
        depth=lambda shape: shape[2] * shape[3],
    ),
    "spatial_mean_nhwc": Operator(
        along((1, 2), T, "f32"),
        lambda x: x.mean((1, 2)),
        lambda x: x.mean((1, 2)),
        of_means,
        shapes=(NHWC,),
        depth=lambda shape: shape[1] * shape[2],
    ),
    "token_sum": Operator(
        along((1,), T, "f32"),
        lambda x: x.sum(1),
        lambda x: x.sum(1),
        of_sums,
        shapes=((256, 196, 768),),
        depth=lambda shape: shape[1],
    ),
    "argmax_nchw": Operator(
        along((1,), "i64", "i32"),
        lambda x: torch.argmax(x, 1),
        lambda x: first_argmax(x.movedim(1, -1)),
        shapes=(CLASSES,),
        is_exact=True,
    ),
    "bias_gelu_add_nchw": Operator(
        lambda shape: (
            [Tensor(shape), Tensor((shape[1],)), Tensor(shape)],
            Tensor(shape),
        ),
        bias_gelu_add_nchw,
        exact_bias_gelu_add_nchw,
        of_values(2e-7, 4e-6),
        shapes=(NCHW,),
    ),
    "nchw_to_nhwc": permute(NCHW, 0, 2, 3, 1),
    "nhwc_to_nchw": permute(NHWC, 0, 3, 1, 2),
    "heads": permute((32, 512, 16, 128), 0, 2, 1, 3),
    "concat_nchw": Operator(
        half_channels,
        lambda a, b: torch.cat((a, b), 1),
        lambda a, b: torch.cat((a, b), 1),
        shapes=(NCHW,),
        is_exact=True,
    ),
    "cumsum_4d": Operator(
        elementwise,
        lambda x: torch.cumsum(x, -1),
        lambda x: torch.cumsum(x, -1),
        of_sums,
        shapes=((32, 12, 512, 512),),
    ),
    "avg_pool_nchw": Operator(
        pooled_nchw,
        avg_pool_nchw,
        avg_pool_nchw,
        of_values(1e-6, 1e-6),
        shapes=((128, 64, 112, 112),),
        scalars=POOL,
    ),
    "avg_pool_nhwc": Operator(
        pooled_nhwc,
        avg_pool_nhwc,
        avg_pool_nhwc,
        of_values(1e-6, 1e-6),
        shapes=((128, 112, 112, 64),),
        scalars=POOL,
    ),
    "upsample_nchw": Operator(
        twice_as_large,
        upsample,
        upsample,
        of_values(1e-6, 2e-6),
        shapes=((64, 64, 56, 56),),
    ),
    "sort": Operator(
        elementwise, sorted_rows, sorted_rows, shapes=SORTED, is_exact=True
    ),
    "topk": Operator(
        first_columns,
        largest_columns,
        lambda x: sorted_rows(x).flip(-1)[..., :FIRST],
        shapes=SORTED,
        is_exact=True,
    ),
    "cross_entropy": Operator(
        classified,
        cross_entropy,
        cross_entropy,
        of_values(1e-5, 1e-5),
        shapes=((4096, 32768),),
    ),
    # Compositions, bench/memory/composed.hds: 64 MiB for each f16 tensor.
    "residual_layer_norm": Operator(
        lambda s: (
            [Tensor(s), Tensor(s[-1:], fill="weight"), Tensor(s[-1:]), Tensor(s)],
            Tensor(s),
        ),
        residual_layer_norm,
        residual_layer_norm,
        composed,
        shapes=COMPOSED,
    ),
    "residual_rms_norm": Operator(
        lambda s: ([Tensor(s), Tensor(s[-1:], fill="weight"), Tensor(s)], Tensor(s)),
        residual_rms_norm,
        exact_residual_rms_norm,
        composed,
        shapes=COMPOSED,
    ),
    "masked_softmax": Operator(
        pairs, masked_softmax, masked_softmax, composed, shapes=COMPOSED
    ),
    "bias_gelu": Operator(
        of_channels(-1, "normal"), bias_gelu, bias_gelu, composed, shapes=COMPOSED
    ),
    "swiglu": Operator(pairs, swiglu, swiglu, composed, shapes=COMPOSED),
    "mse": Operator(
        lambda shape: ([Tensor(shape), Tensor(shape)], Tensor(())),
        lambda x, y: F.mse_loss(x, y),
        lambda x, y: F.mse_loss(x, y),
        of_values(1e-5, 1e-5),
        shapes=((8192, 4096),),
    ),
}


def cases(operators=None, shapes=None, dtypes=("f16", "f32")):
    """All cases of the table, or those of some operators and shapes (texts such as 8192x1024), which need not be in it: operators
    of matrices take any matrix."""
    found = []
    for name, operator in OPERATORS.items():
        if operators and name not in operators:
            continue
        takes_any = operator.shapes in (MATRICES, SORTED)
        more = [
            s
            for s in map(extents, shapes or [])
            if takes_any and len(s) == 2 and s not in operator.shapes
        ]
        found += [
            Case(name, shape, dtype)
            for shape in (*operator.shapes, *more)
            for dtype in dtypes
        ]
    return [c for c in found if not shapes or c.label in shapes]


def extents(shape):
    return tuple(int(n) for n in shape.split("x"))


# ---- tensors ----------------------------------------------------------------------------------------------------


def torch_type(dtype):
    return {
        "f16": torch.float16,
        "bf16": torch.bfloat16,
        "f32": torch.float32,
        "f64": torch.float64,
        "i32": torch.int32,
        "i64": torch.int64,
    }[dtype]


def filled(tensor, device, generator):
    dtype = torch_type(tensor.dtypes[0])
    if tensor.fill == "rows":
        return torch.randperm(VOCABULARY, device=device, generator=generator)[
            : tensor.shape[0]
        ].to(dtype)
    if tensor.fill == "classes":
        return torch.randint(
            tensor.classes,
            tensor.shape,
            device=device,
            generator=generator,
            dtype=dtype,
        )
    x = torch.randn(tensor.shape, device=device, generator=generator, dtype=dtype)
    return 1 + 0.125 * x if tensor.fill == "weight" else x


def compiled(case):
    """PyTorch's function as code of its own, so that each case is compiled for itself, however many there are."""
    function = case.operator.torch
    code = function.__code__.replace(co_name=case.title)
    return types.FunctionType(
        code,
        function.__globals__,
        case.title,
        function.__defaults__,
        function.__closure__,
    )


def expected(case, inputs):
    """The result from the definition, in f64 or exact."""
    if case.operator.is_exact:
        return case.operator.reference(*inputs)
    return case.operator.reference(*(x.double() for x in inputs))


def wrong(case, result, reference, dtype):
    """What is wrong with the result, or None: the number of wrong elements and the first of them."""
    if case.operator.is_exact:
        bad = result != reference.to(result.dtype)
    else:
        relative, absolute = case.operator.tolerance(
            ROUNDING[dtype], case.operator.depth(case.shape)
        )
        bad = ~(
            (result.double() - reference).abs() <= relative * reference.abs() + absolute
        )
    count = int(bad.sum())
    if not count:
        return None
    at = int(bad.flatten().to(torch.uint8).argmax())
    was, right = result.flatten()[at].item(), reference.flatten()[at].item()
    return f"wrong: {count} of {bad.numel()} elements; number {at} is {was!r} instead of {right!r}"
