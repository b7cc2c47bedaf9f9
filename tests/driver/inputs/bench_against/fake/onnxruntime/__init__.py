"""A double of onnxruntime that knows the network of tests/onnx/writer.py, net: FAKE_ORT_ERROR is added to its results."""

import os

import numpy as np

__version__ = "9.8.7"
CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"


def get_available_providers():
    return os.environ.get("FAKE_ORT_PROVIDERS", f"{CUDA},{CPU}").split(",")


def weights(count, scale=0.1):
    return np.array([scale * ((7 * k) % 11 - 5) for k in range(count)], np.float32)


def network(x):
    w, b = weights(108).reshape(4, 3, 3, 3), weights(4)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))
    result = np.einsum("ncyxhw,ochw->noyx", windows, w) + b[:, None, None]
    return np.maximum(result, 0).reshape(len(x), -1) + np.float32(os.environ.get("FAKE_ORT_ERROR", "0"))


class Value:
    def __init__(self, name, kind="tensor(float)"):
        self.name, self.type = name, kind


class OrtValue:
    def __init__(self, array):
        self.array = array

    @staticmethod
    def ortvalue_from_numpy(array, device, number):
        return OrtValue(array)

    @staticmethod
    def ortvalue_from_shape_and_type(shape, kind, device, number):
        return OrtValue(np.zeros(shape, kind))


class Binding:
    def bind_ortvalue_input(self, name, value):
        self.input = value

    def bind_ortvalue_output(self, name, value):
        self.output = value

    def synchronize_outputs(self):
        pass

    def copy_outputs_to_cpu(self):
        return [self.output.array]


class InferenceSession:
    def __init__(self, path, providers):
        if os.environ.get("FAKE_ORT_FAILS"):
            raise RuntimeError("the model is not to its liking\nand more")
        assert os.path.exists(path), path

    def get_inputs(self):
        return [Value("x")]

    def get_outputs(self):
        return [Value("y")]

    def run(self, names, feeds):
        return [network(feeds["x"])]

    def io_binding(self):
        return Binding()

    def run_with_iobinding(self, binding):
        binding.output.array[:] = network(binding.input.array)
