"""From a fitted additive model to an ONNX graph: codes of cells, sums of looked-up scores, and the link."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gamcore.additions.onnx.codes import codes
from gamcore.additions.onnx.graph import Graph
from gamcore.io.formula import ClassFormula, Formula, ScoringError, TaskFormula, formula_of
from gamcore.model.loss import LinkName
from gamcore.model.losses import LOSSES
from gamcore.model.output_names import free_names

if TYPE_CHECKING:
    import onnx

INVERSES: Final[dict[LinkName, str]] = {"identity": "Identity", "log": "Exp", "logit": "Sigmoid"}
"""The operator that turns a score into a prediction, by link."""

NUMBER: Final = np.dtype(np.float64)


def to_onnx(model: Any, exposure: str = "", init_score: str = "", unit: str = "") -> onnx.ModelProto:
    """Return a fitted additive model, a model file or a scorecard as an ONNX model that predicts in doubles.

    Inputs are vectors (n,), one per column, named after it: numbers and booleans are doubles (NaN is missing), levels
    are texts (the name of the level; an empty one is missing), dates are int64 microseconds since 1970-01-01, in UTC
    where times have a zone (numpy's NaT is missing). Outputs are vectors (n,) under the names that the numbers of a row
    have everywhere (`model.output_names`): of several classes, a score and a chance each and the likeliest class.

    exposure, init_score : inputs, doubles, of a model that was trained with them; with an exposure there is also
    "expected", the rate times the exposure. unit : that of the target, for names.

    It uses operator sets 17 and `ai.onnx.ml` 3, those of ONNX 1.12. Numbers that the model refuses (infinite
    ones, dates beyond the years 1 to 9999) are not refused: they get the bin at that end.

    Raises ScoringError for trees of several tasks, a level without a name, and a model without a term; ImportError
    without `pip install "shapewise[onnx]"`.
    """
    formula = formula_of(model, unit)
    if isinstance(formula, TaskFormula):
        raise ScoringError("Trees of several tasks are not written as ONNX: use to_python or to_json.")
    taken = {bins.feature.column for bins in formula.bins} | {name for name in (exposure, init_score) if name}
    if "" in taken:
        raise ScoringError("A column without a name cannot be an input of ONNX: name it and train again.")
    names = free_names(taken, formula.names)
    graph = Graph({*taken, *names})
    coded = cache(lambda place: codes(graph, formula.bins[place]))
    if isinstance(formula, ClassFormula):
        scores = [_score(graph, part, coded, "") for part in formula.formulas]
        _classes(graph, scores, formula.classes, names)
    else:
        _additive(graph, formula, _score(graph, formula, coded, init_score), names, exposure)
    return graph.model(f"A model of Shapewise: {formula.loss} loss.")


def _score(graph: Graph, formula: Formula, coded: Any, init_score: str) -> str:
    """Return the sum of a formula's parts, and of what is given beside them."""
    if not (formula.terms or formula.pairs):
        raise ScoringError(
            "The model has no term, so there is nothing to write: its prediction is the same everywhere."
        )
    parts = [graph.input(init_score, float, "score to add to")] if init_score else []
    parts.append(graph.constant(float(formula.intercept)))
    parts += [graph.apply("Gather", graph.constant(scores), coded(place)) for place, scores in formula.terms]
    for (first, second), table in formula.pairs:
        row = graph.apply("Mul", coded(first), graph.constant(table.shape[1]))
        cell = graph.apply("Add", row, coded(second))
        parts.append(graph.apply("Gather", graph.constant(table.ravel()), cell))
    for triple in formula.triples:
        cell = graph.constant(0)
        for place, of_codes, side in zip(triple.features, triple.parts, triple.scores.shape, strict=True):
            part = graph.apply("Gather", graph.constant(of_codes.astype(np.int64)), coded(place))
            cell = graph.apply("Add", graph.apply("Mul", cell, graph.constant(side)), part)
        parts.append(graph.apply("Gather", graph.constant(triple.scores.ravel()), cell))
    return graph.apply("Sum", *parts)


def _additive(graph: Graph, formula: Formula, score: str, names: list[str], exposure: str) -> None:
    """Give out the score, and the prediction, or the rate and with an exposure the total."""
    linked = score
    if formula.points is not None:
        beyond = graph.apply("Sub", score, graph.constant(float(formula.points.offset)))
        linked = graph.apply("Div", beyond, graph.constant(float(formula.points.factor)))
    answer = graph.apply(INVERSES[LOSSES[formula.loss].link_name], linked)
    graph.output(score, names[0], NUMBER)
    graph.output(answer, names[1], NUMBER)
    if exposure:
        if "exposure" not in formula.given:
            raise ScoringError("The model was trained without an exposure, so it cannot be multiplied by one.")
        total = graph.apply("Mul", answer, graph.input(exposure, float, "exposure, NaN is missing"))
        graph.output(total, names[2], NUMBER)


def _classes(graph: Graph, scores: list[str], classes: tuple[Any, ...], names: list[str]) -> None:
    """Give out a score and a chance of each class, and the likeliest, the first of equal ones."""
    columns = [graph.apply("Unsqueeze", score, graph.constant([1])) for score in scores]
    table = graph.apply("Concat", *columns, axis=1)
    chances = graph.apply("Softmax", table, axis=1)
    for k, score in enumerate(scores):
        graph.output(score, names[k], NUMBER)
        graph.output(graph.apply("Gather", chances, graph.constant(k), axis=1), names[len(scores) + k], NUMBER)
    labels = np.array(classes)
    if labels.dtype.kind == "U":
        labels = labels.astype(object)
    likeliest = graph.apply("ArgMax", table, axis=1, keepdims=0)
    graph.output(graph.apply("Gather", graph.constant(labels), likeliest), names[-1], labels.dtype)
