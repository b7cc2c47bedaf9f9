"""A GPU through the driver's own library: modules, guarded buffers, launches, times. Needs numpy and nothing else.

A buffer lies between two guards and begins at a multiple of 16 bytes and of nothing larger, which is all that the
language promises of a tensor. Guards and fresh outputs hold bytes that are NaN in every float format: reads outside of a buffer
and of elements that were never written show in the results.
"""

import ctypes
import json
import os
import pathlib
import sys
import time

import numpy as np

from formats import STORAGE

GUARD_BYTE = 0xFF
BEFORE, AFTER = 256 + 16, 256
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
NOT_READY = 600  # CUDA_ERROR_NOT_READY
KERNEL_SECONDS = 60  # that what was launched may take
ATTRIBUTES = {"registers": 4, "local_bytes": 3, "static_shared_bytes": 1}  # CU_FUNC_ATTRIBUTE_NUM_REGS, …


class DriverError(Exception):
    pass


class Device:
    """The first GPU, with its primary context current."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self("cuInit", 0)
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self("cuDeviceGet", ctypes.byref(device), 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self("cuCtxSetCurrent", self.context)
        name = ctypes.create_string_buffer(100)
        self("cuDeviceGetName", name, 100, device)
        self.name, self.launched = name.value.decode(), "nothing"

    def __call__(self, function, *args):
        """Calls a function of the driver; an error is an exception with the driver's words."""
        status = getattr(self.cuda, function)(*args)
        if status:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorString(status, ctypes.byref(text))
            raise DriverError(f"{function}: {(text.value or b'unknown error').decode()} ({status})")

    def allocate(self, size):
        at = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(max(size, 1)))
        return at.value

    def free(self, at):
        self("cuMemFree_v2", ctypes.c_uint64(at))

    def fill(self, at, byte, size):
        if size:
            self("cuMemsetD8_v2", ctypes.c_uint64(at), ctypes.c_ubyte(byte), ctypes.c_size_t(size))

    def upload(self, at, array):
        array = np.ascontiguousarray(array)
        if array.nbytes:
            self(
                "cuMemcpyHtoD_v2",
                ctypes.c_uint64(at),
                array.ctypes.data_as(ctypes.c_void_p),
                ctypes.c_size_t(array.nbytes),
            )

    def download(self, at, shape, dtype):
        array = np.empty(shape, dtype)
        if array.nbytes:
            self(
                "cuMemcpyDtoH_v2",
                array.ctypes.data_as(ctypes.c_void_p),
                ctypes.c_uint64(at),
                ctypes.c_size_t(array.nbytes),
            )
        return array

    def copy(self, to, at, size):
        self("cuMemcpyDtoD_v2", ctypes.c_uint64(to), ctypes.c_uint64(at), ctypes.c_size_t(size))

    def wait(self):
        """Until the default stream is done. Nothing waits for a kernel that does not end: neither its context nor the program
        could be left as usual."""
        begin = time.monotonic()
        while self.cuda.cuStreamQuery(None) == NOT_READY:
            waited = time.monotonic() - begin
            if waited > KERNEL_SECONDS:
                sys.stdout.flush()
                print(f"'{self.launched}' does not end: {KERNEL_SECONDS} s on the GPU", file=sys.stderr, flush=True)
                os._exit(1)
            if waited > 0.01:
                time.sleep(0.001)

    def synchronize(self):
        self.wait()
        self("cuCtxSynchronize")

    def time_us(self, work, repeats=20, warm_up=3):
        """The median time of work() on the device."""
        begin, end = ctypes.c_void_p(), ctypes.c_void_p()
        self("cuEventCreate", ctypes.byref(begin), 0)
        self("cuEventCreate", ctypes.byref(end), 0)
        times = []
        for turn in range(warm_up + repeats):
            self("cuEventRecord", begin, None)
            work()
            self("cuEventRecord", end, None)
            self.wait()
            self("cuEventSynchronize", end)
            milliseconds = ctypes.c_float()
            self("cuEventElapsedTime", ctypes.byref(milliseconds), begin, end)
            if turn >= warm_up:
                times.append(1000.0 * milliseconds.value)
        return float(np.median(times))


class Buffer:
    """Device memory for an array, between guards. Without content it is poisoned."""

    def __init__(self, device, shape, dtype, content=None):
        self.device, self.shape, self.dtype = device, tuple(shape), np.dtype(dtype)
        self.size = int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize
        self.base = device.allocate(BEFORE + self.size + AFTER)
        self.at = self.base + BEFORE
        device.fill(self.base, GUARD_BYTE, BEFORE + self.size + AFTER)
        if content is not None:
            assert content.shape == self.shape and content.dtype == self.dtype, (
                content.shape,
                content.dtype,
                self.shape,
            )
            device.upload(self.at, content)

    def get(self):
        return self.device.download(self.at, self.shape, self.dtype)

    def guards_are_intact(self):
        before = self.device.download(self.base, BEFORE, np.uint8)
        after = self.device.download(self.at + self.size, AFTER, np.uint8)
        return bool((before == GUARD_BYTE).all() and (after == GUARD_BYTE).all())

    def free(self):
        self.device.free(self.base)


def evaluate(expr, names):
    """An expression of the interface: an integer, or a text in Python's syntax (docs/interface.md)."""
    return expr if isinstance(expr, int) else eval(expr, {"__builtins__": {"min": min, "max": max}}, names)


SCALARS = {
    "bool": ctypes.c_bool,
    "i8": ctypes.c_int8,
    "u8": ctypes.c_uint8,
    "i16": ctypes.c_int16,
    "u16": ctypes.c_uint16,
    "i32": ctypes.c_int32,
    "u32": ctypes.c_uint32,
    "i64": ctypes.c_int64,
    "u64": ctypes.c_uint64,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}


class Kernel:
    """A function of a loaded module and its interface."""

    def __init__(self, device, module, interface):
        self.device, self.interface, self.name = device, interface, interface["name"]
        self.function = ctypes.c_void_p()
        device("cuModuleGetFunction", ctypes.byref(self.function), module, self.name.encode())

    def parameters(self, *kinds):
        return [p for p in self.interface["parameters"] if p["kind"] in kinds]

    def attribute(self, name):
        value = ctypes.c_int()
        self.device("cuFuncGetAttribute", ctypes.byref(value), ATTRIBUTES[name], self.function)
        return value.value

    def launch(self, values):
        """Launches with a value for each parameter: addresses of tensors and pointers, numbers. Does not wait."""
        slots = []
        for p in self.interface["parameters"]:
            is_address = p["kind"] in ("tensor", "pointer")
            slots.append(ctypes.c_uint64(values[p["name"]]) if is_address else SCALARS[p["dtype"]](values[p["name"]]))
        numbers = {p["name"]: values[p["name"]] for p in self.parameters("size", "scalar")}
        grid, block = ([evaluate(a, numbers) for a in self.interface[key]] for key in ("grid", "block"))
        dynamic = evaluate(self.interface["dynamic_shared_bytes"], numbers)
        if 0 in grid:
            return
        if dynamic > 48 * 1024:
            self.device("cuFuncSetAttribute", self.function, MAX_DYNAMIC_SHARED, dynamic)
        addresses = (ctypes.c_void_p * max(len(slots), 1))(*(ctypes.addressof(slot) for slot in slots))
        self.device.launched = self.name
        self.device("cuLaunchKernel", self.function, *grid, *block, dynamic, None, addresses, None)


def load(device, cubin, interface):
    """The kernels of a cubin by name; `interface` is the JSON file that belongs to it."""
    module = ctypes.c_void_p()
    device("cuModuleLoadData", ctypes.byref(module), pathlib.Path(cubin).read_bytes())
    document = json.loads(pathlib.Path(interface).read_text(encoding="utf-8"))
    return {k["name"]: Kernel(device, module, k) for k in document["kernels"]}


def storage_of(parameter):
    return np.dtype(STORAGE[parameter["dtype"]])
