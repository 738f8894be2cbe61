"""What can go wrong with a stranger's table, by kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

KINDS: Final[dict[str, str]] = {
    "crash": "an exception that is no sentence for the user",
    "late": "not done within the limit",
    "died": "the process ended",
    "rows": "rows lost or added on loading",
    "names": "a column renamed on loading without need",
    "numbers": "a number read as another",
    "texts": "a text read as another",
    "dates": "a date read as another",
    "missing": "a cell lost on loading, or one that was empty filled",
    "claim": "a claim that the rows refute",
    "direction": "a rise where the rows fall, or the other way round",
    "size": "a movement beyond that of the curve, or an effect that is another one",
    "share": "a share of rows that is another one",
    "range": "a range beyond the data, or without rows",
    "sign": "a sign that contradicts the words",
    "levels": "a level that is not there, or a wrong number of further ones",
    "digits": "an exponent, nan or inf, or more digits than a number has",
    "pair": "a headline of a pair that the rows refute",
    "sum": "parts of a row that do not add up to its score, or a score that is not the prediction",
    "segment": "a segment whose share or mean is another one",
    "SQL": "SQL that differs from predict",
    "scored": "a scored file that differs from predict",
    "report": "nan, inf or an exponent in the report, or a part that failed",
}
"""Faults, in the order of the work; each counts."""

DOUBTS: Final[dict[str, str]] = {
    "NA kept": "a word for missing cells is a level of a column of texts, as Namibia would be",
    "strongest unclear": "the strongest feature of a model that predicts well has no clear effect",
    "ambiguous file": "the file can be read in two ways, and was read in the other, with a note",
}
"""What is worth a look, and no fault by itself."""


@dataclass(frozen=True)
class Fault:
    """One fault. kind : of `KINDS` or `DOUBTS`. said, right : what was said or given, and what the rows say."""

    kind: str
    column: str = ""
    said: str = ""
    right: str = ""
