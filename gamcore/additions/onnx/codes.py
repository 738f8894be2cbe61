"""Cells to codes in an ONNX graph, as `Bins.encode` makes them: 0 missing, 1 to K the values, K + 1 never seen.

A feature's cuts are one balanced tree, which compares doubles; its leaves are the codes, whole numbers that single
precision, in which trees of `ai.onnx.ml` 3 answer, holds exactly. Scores are then looked up in tables of doubles.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gamcore.additions.onnx.graph import Graph
from gamcore.common.types import Floats
from gamcore.data.binning import Bins
from gamcore.data.dates import DAY
from gamcore.io.formula import ScoringError

NO_TIME: Final = np.iinfo(np.int64).min
"""What numpy's NaT is as a whole number."""

ABOUT: Final = {
    "number": "number, NaN is missing",
    "boolean": "0 or 1, NaN is missing",
    "category": "name of the level, empty is missing",
    "date": f"microseconds since 1970-01-01, {NO_TIME} is missing",
}
"""What an input holds, by the kind of its column."""


def codes(graph: Graph, bins: Bins) -> str:
    """Return the codes of a feature, of its column's input."""
    feature = bins.feature
    if feature.part != "value":
        time = graph.input(feature.column, int, ABOUT["date"])
        return _present(graph, bins, _no_time(graph, time), _month(graph, time) if feature.part == "month" else
                        _weekday(graph, time))  # fmt: skip
    if feature.kind == "category":
        return _levels(graph, bins, graph.input(feature.column, str, ABOUT["category"]))
    if feature.kind == "date":
        time = graph.input(feature.column, int, ABOUT["date"])
        days = graph.apply("Div", graph.cast(time, float), graph.constant(float(DAY)))
        return _present(graph, bins, _no_time(graph, time), _bin(graph, days, bins.cuts))
    number = graph.input(feature.column, float, ABOUT[feature.kind])
    missing = graph.apply("IsNaN", number)
    if feature.kind == "boolean":
        return _present(graph, bins, missing, _boolean(graph, bins, number))
    for code in feature.missing:
        is_code = graph.apply("Equal", number, graph.constant(float(code)))
        missing = graph.apply("Or", missing, is_code)
    return _present(graph, bins, missing, _bin(graph, number, bins.cuts))


def _present(graph: Graph, bins: Bins, missing: str, code: str) -> str:
    """Return codes with 0 where a cell is missing, and everywhere if no training row had a value."""
    zero = graph.constant(0)
    return graph.apply("Where", missing, zero, code if bins.n_values else zero)


def _levels(graph: Graph, bins: Bins, text: str) -> str:
    """Return the codes of level names."""
    place = {"": 0} | dict.fromkeys(bins.feature.missing, 0)
    if "" in bins.codes_of_levels and "" not in bins.feature.missing:
        raise ScoringError(
            f"{bins.feature.column!r} has a level without a name, which in ONNX is a missing cell: name it and train "
            "again, or use to_json."
        )
    place = bins.codes_of_levels | place
    return graph.apply(
        "LabelEncoder", text, domain="ai.onnx.ml",
        keys_strings=[*place], values_int64s=[*place.values()], default_int64=bins.unseen,
    )  # fmt: skip


def _boolean(graph: Graph, bins: Bins, number: str) -> str:
    """Return the codes of 0 and 1; any other number was never seen."""
    code = graph.constant(bins.unseen)
    for value, level in enumerate(bins.feature.levels):
        is_value = graph.apply("Equal", number, graph.constant(float(value)))
        code = graph.apply("Where", is_value, graph.constant(bins.codes_of_levels.get(level, bins.unseen)), code)
    return code


def _no_time(graph: Graph, time: str) -> str:
    return graph.apply("Equal", time, graph.constant(NO_TIME))


def _bin(graph: Graph, number: str, cuts: Floats) -> str:
    """Return 1 + the number of cuts that are not above each number."""
    column = graph.apply("Unsqueeze", number, graph.constant([1]))
    leaf = graph.apply("TreeEnsembleRegressor", column, domain="ai.onnx.ml", **_tree(graph, cuts))
    return graph.cast(graph.apply("Squeeze", leaf, graph.constant([1])), int)


def _tree(graph: Graph, cuts: Floats) -> dict[str, Any]:
    """Return a balanced tree over cuts as attributes of the operator, nodes before what is below them."""
    modes, splits, left, right, leaves = list[str](), list[float](), list[int](), list[int](), dict[int, int]()

    def grow(first: int, last: int) -> int:
        """Add the tree of the codes from the first to the last, and return its root."""
        node, middle = len(modes), (first + last + 1) // 2
        is_leaf = first == last
        modes.append("LEAF" if is_leaf else "BRANCH_LT")
        splits.append(0.0 if is_leaf else float(cuts[middle - 2]))
        left.append(0)
        right.append(0)
        if is_leaf:
            leaves[node] = first
        else:
            left[node], right[node] = grow(first, middle - 1), grow(middle, last)
        return node

    grow(1, cuts.size + 1)
    nothing = [0] * len(modes)
    return {
        "n_targets": 1, "nodes_treeids": nothing, "nodes_nodeids": [*range(len(modes))], "nodes_featureids": nothing,
        "nodes_modes": modes, "nodes_values_as_tensor": graph.as_tensor(np.array(splits)),
        "nodes_truenodeids": left, "nodes_falsenodeids": right,
        "target_treeids": nothing[: len(leaves)], "target_nodeids": [*leaves], "target_ids": nothing[: len(leaves)],
        "target_weights_as_tensor": graph.as_tensor(np.array([*leaves.values()], np.float64)),
    }  # fmt: skip


def _weekday(graph: Graph, time: str) -> str:
    """Return 1 for Monday to 7 for Sunday; 1970-01-01 was a Thursday."""
    day = _Whole(graph, time) // DAY
    return ((day + 3) % 7 + 1).name


def _month(graph: Graph, time: str) -> str:
    """Return the month, 1 to 12: a year that begins in March has its leap day at its end.

    Months from March on have 31, 30, 31, 30, 31 days, again and again, which is what 153 and 5 count.
    """
    in_cycle = (_Whole(graph, time) // DAY + 719_468) % 146_097  # of 400 years; from the first of March of the year 0
    year = (in_cycle - in_cycle // 1_460 + in_cycle // 36_524 - in_cycle // 146_096) // 365
    in_year = in_cycle - (year * 365 + year // 4 - year // 100)
    return (((in_year * 5 + 2) // 153 + 2) % 12 + 1).name


class _Whole:
    """Whole numbers in a graph, with the arithmetic of Python's: quotients are rounded down."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def _with(self, operator: str, other: _Whole | int) -> _Whole:
        name = other.name if isinstance(other, _Whole) else self.graph.constant(other)
        return _Whole(self.graph, self.graph.apply(operator, self.name, name))

    def __add__(self, other: _Whole | int) -> _Whole:
        return self._with("Add", other)

    def __sub__(self, other: _Whole | int) -> _Whole:
        return self._with("Sub", other)

    def __mul__(self, other: int) -> _Whole:
        return self._with("Mul", other)

    def __mod__(self, other: int) -> _Whole:
        return self._with("Mod", other)

    def __floordiv__(self, other: int) -> _Whole:
        return (self - self % other)._with("Div", other)
