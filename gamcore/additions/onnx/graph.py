"""An ONNX graph in the making."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from gamcore.common.extras import extra

if TYPE_CHECKING:
    import onnx

OPERATORS: Final = {"": 17, "ai.onnx.ml": 3}
"""Versions of the operator sets: the first of `ai.onnx.ml` whose trees compare doubles is the third."""

FILE_VERSION: Final = 8
"""The version of the file format that came with them, so that runtimes since 2022 read it."""


class Graph:
    """Values by name, each an input, a constant, or what an operator makes of others; all are vectors over rows.

    taken : names that values of the graph's own may not have.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        with extra("onnx"):
            import onnx
        self._onnx: Any = onnx
        self._taken = {*taken}
        self._count = 0
        self._inputs: dict[str, Any] = {}
        self._outputs: list[Any] = []
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def input(self, name: str, kind: type, about: str) -> str:
        """Return an input, declared once. kind : float, int (64 bits) or str. about : what it holds, for the reader."""
        if name not in self._inputs:
            self._inputs[name] = self._vector(name, np.dtype(object if kind is str else kind))
            self._inputs[name].doc_string = about
        return name

    def output(self, value: str, name: str, kind: np.dtype[Any]) -> None:
        """Give a value out under a name."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self._vector(name, kind))

    def constant(self, value: Any) -> str:
        """Return a constant: a number or an array of numbers, texts or truth values."""
        name = self._name()
        self._constants.append(self._onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def apply(self, operator: str, *values: str, domain: str = "", **settings: Any) -> str:
        """Return what an operator makes of values. settings : its attributes."""
        name = self._name()
        node = self._onnx.helper.make_node(operator, [*values], [name], domain=domain, **settings)
        self._nodes.append(node)
        return name

    def cast(self, value: str, kind: type) -> str:
        """Return a value as floats or whole numbers, of 64 bits."""
        return self.apply("Cast", value, to=self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def as_tensor(self, values: NDArray[Any]) -> Any:
        """Return numbers as an attribute."""
        return self._onnx.numpy_helper.from_array(values)

    def model(self, about: str) -> onnx.ModelProto:
        """Return the graph as a checked model. about : what it is, for the reader."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, "model", [*self._inputs.values()], self._outputs, self._constants)
        sets = [helper.make_opsetid(domain, version) for domain, version in OPERATORS.items()]
        model: onnx.ModelProto = helper.make_model(
            graph, opset_imports=sets, ir_version=FILE_VERSION, producer_name="shapewise", doc_string=about
        )
        self._onnx.checker.check_model(model)
        return model

    def _name(self) -> str:
        """Return a name that no value has."""
        while (name := f"value {self._count}") in self._taken:
            self._count += 1
        self._count += 1
        return name

    def _vector(self, name: str, kind: np.dtype[Any]) -> Any:
        helper = self._onnx.helper
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(kind), ["rows"])
