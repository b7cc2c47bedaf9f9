"""Where Hidet has what reads models: hidet.graph.from_onnx and hidet.torch are the same."""

from hidet.graph.onnx import from_onnx

__all__ = ["from_onnx"]
