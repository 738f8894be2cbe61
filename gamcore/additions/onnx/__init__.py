"""Additive models as ONNX graphs, in doubles: they predict in other runtimes as they do here."""

from gamcore.additions.onnx.export import to_onnx

__all__ = ["to_onnx"]
