"""Convolutions of 8-bit integers by cuDNN, which PyTorch does not offer: its functions from before graphs, results in f32."""

import ctypes
import glob
import sysconfig

NHWC, INT8, INT32, FLOAT, CROSS_CORRELATION = 1, 3, 4, 0, 1
TENSOR_OP_MATH = 1
MOST_ALGORITHMS = 8
WORKSPACE = 256 << 20


class Performance(ctypes.Structure):
    """cudnnConvolutionFwdAlgoPerf_t"""

    _fields_ = [
        ("algo", ctypes.c_int), ("status", ctypes.c_int), ("time", ctypes.c_float), ("memory", ctypes.c_size_t),
        ("determinism", ctypes.c_int), ("math", ctypes.c_int), ("reserved", ctypes.c_int * 3),
    ]  # fmt: skip


class Failed(Exception):
    """cuDNN has nothing for this, or is not there."""


class Library:
    def __init__(self):
        paths = glob.glob(sysconfig.get_path("purelib") + "/nvidia/*/lib/libcudnn.so.*") or ["libcudnn.so.9"]
        try:
            self.dll = ctypes.CDLL(paths[0])
        except OSError as error:
            raise Failed(str(error)) from error
        self.handle, self.workspace, self.algorithm = ctypes.c_void_p(), None, None
        self.call("cudnnCreate", ctypes.byref(self.handle))

    def call(self, name, *arguments):
        function = getattr(self.dll, name, None)
        status = function(*arguments) if function else "no such function"
        if status:
            raise Failed(f"{name} gave {status}")

    def described(self, kind, set_by, *values):
        made = ctypes.c_void_p()
        self.call(f"cudnnCreate{kind}Descriptor", ctypes.byref(made))
        self.call(set_by, made, *values)
        return made

    def convolution(self, x, w, y, stride, padding):
        """A function of a stream that computes y = x * w by the algorithm that cudnnFind had first for the first call: x
        [N, H, W, C] and w [K, R, S, C] of i8, y [N, P, Q, K] of f32, all on the GPU. C and K are multiples of 4."""
        image = lambda t: (t.shape[0], t.shape[3], t.shape[1], t.shape[2])
        of_x = self.described("Tensor", "cudnnSetTensor4dDescriptor", NHWC, INT8, *image(x))
        of_y = self.described("Tensor", "cudnnSetTensor4dDescriptor", NHWC, FLOAT, *image(y))
        of_w = self.described("Filter", "cudnnSetFilter4dDescriptor", INT8, NHWC, *image(w))
        how = (padding, padding, stride, stride, 1, 1, CROSS_CORRELATION, INT32)
        of = self.described("Convolution", "cudnnSetConvolution2dDescriptor", *how)
        self.call("cudnnSetConvolutionMathType", of, TENSOR_OP_MATH)
        at = [ctypes.c_void_p(t.data_ptr()) for t in (x, w, y)]
        if self.algorithm is None:
            self.find(of_x, at[0], of_w, at[1], of, of_y, at[2])
        scale = [ctypes.byref(ctypes.c_float(v)) for v in (1, 0)]

        def call(stream):
            self.call("cudnnSetStream", self.handle, ctypes.c_void_p(stream))
            first = self.handle, scale[0], of_x, at[0], of_w, at[1], of, self.algorithm
            self.call("cudnnConvolutionForward", *first, *self.space(), scale[1], of_y, at[2])

        call.operands = x, w, y  # as long as the call
        return call

    def space(self):
        return ctypes.c_void_p(self.workspace.data_ptr()), ctypes.c_size_t(WORKSPACE)

    def find(self, *operands):
        """Sets the algorithm."""
        import torch

        self.workspace = torch.empty(WORKSPACE, dtype=torch.uint8, device="cuda")
        found, count = (Performance * MOST_ALGORITHMS)(), ctypes.c_int()
        results = MOST_ALGORITHMS, ctypes.byref(count), found
        self.call("cudnnFindConvolutionForwardAlgorithmEx", self.handle, *operands, *results, *self.space())
        usable = [p for p in found[: count.value] if p.status == 0 and p.memory <= WORKSPACE]
        if not usable:
            raise Failed("no algorithm")
        self.algorithm = usable[0].algo
