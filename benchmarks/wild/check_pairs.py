"""Headlines of pairs, read back from their words and held against the rows of the cell that they name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd

from benchmarks.wild.faults import Fault
from benchmarks.wild.read_back import EFFECT, EXPONENT, RANGE, half_digit, places, value
from benchmarks.wild.rows import cells_of, views
from gamcore.common.types import Bools
from gamcore.data.binning import encode_table
from gamcore.estimators.additive import single_model
from gamcore.estimators.gam import GAMClassifier, GAMRegressor
from gamcore.explain.sentences import read_surface
from gamcore.explain.support import FEW_ROWS
from gamcore.explain.surfaces import Surface, SurfaceAxis
from gamcore.model.losses import LOSSES

TELLS: Final = re.compile(rf" together: ({EFFECT})(?: points)? where (.+)$")


def check(estimator: GAMRegressor | GAMClassifier, X: pd.DataFrame) -> tuple[list[Fault], int]:
    """Return the faults of all headlines of pairs on all scales, and how many there are. X : the training rows."""
    wrong, n = list[Fault](), 0
    codes = encode_table(X, estimator.model_.bins, in_training=True)
    for label, view in views(estimator):
        model = single_model(view)
        cells = {bins.feature.name: cells_of(X, bins) for bins in model.bins}
        for pair in model.pairs:
            i, j = pair.features
            names = (model.bins[i].feature.name, model.bins[j].feature.name)
            scores, link = pair.scores[codes[i], codes[j]], view.explain_pair(*names)
            for scale in LOSSES[model.loss.name].scales:
                n += 1
                surface = link.on(scale)
                column = f"{' and '.join(names)}{f' ({label})' if label else ''} on {scale}"
                wrong += [
                    Fault(fault.kind, column, fault.said, fault.right) for fault in of_pair(surface, scores, cells)
                ]
    return wrong, n


def of_pair(surface: Surface, scores: Any, cells: dict[str, Any]) -> Iterator[Fault]:
    """Yield what the rows say against a headline. scores : (n,) of the pair, on the link scale. cells : by feature."""
    sentence = read_surface(surface)
    rest = sentence.removeprefix(" and ".join(surface.names))
    if EXPONENT.search(rest.replace("×", "")):
        yield Fault("digits", said=sentence, right="a number as people write it")
    tells = TELLS.search(rest)
    if not tells:
        return
    inside = cell_rows(tells[2], surface, cells)
    if inside is None:
        return  # one of several levels, or a name with the words of the sentence in it
    if inside.sum() < FEW_ROWS:
        yield Fault("pair", said=sentence, right=f"{int(inside.sum())} rows in the cell")
        return
    mean = np.array(float(scores[inside].mean()))
    true = float(LOSSES[surface.margins[0].loss].effect(mean, surface.scale, surface.base))
    text = tells[1].removeprefix("over ").removeprefix("under ").removeprefix("×")
    beyond = tells[1].startswith(("over", "under"))
    if not beyond and abs(true - value(text)) > half_digit(text) * (1 + 1e-6) + 1e-6 * abs(true) + 1e-9:
        yield Fault("pair", said=sentence, right=f"mean of the cell's {int(inside.sum())} rows {true:.6g}")


def cell_rows(words: str, surface: Surface, cells: dict[str, Any]) -> Bools | None:
    """Return which rows (n,) are in the cell that a headline names; None where its words do not tell."""
    first, second = surface.names
    parts = words.split(f" and {second} is ")
    if len(parts) != 2 or not parts[0].startswith(f"{first} is "):
        return None
    inside_first = _axis_rows(parts[0].removeprefix(f"{first} is "), surface.first, cells[first])
    other = _axis_rows(parts[1], surface.second, cells[second])
    return None if inside_first is None or other is None else inside_first & other


def _axis_rows(words: str, axis: SurfaceAxis, cells: Any) -> Bools | None:
    if axis.labels:
        return np.asarray(cells == words) if words in {name for names in axis.members for name in names} else None
    match = re.fullmatch(rf"(at least )?{RANGE}", words)
    if not match:
        return None
    place = places(match[2], match[3], axis.kind == "date")
    high = np.inf if match[1] else place.high
    return np.asarray((cells >= place.low) & (cells <= high))
