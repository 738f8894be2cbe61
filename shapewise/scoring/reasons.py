"""Reasons for the decisions of a stored model: how they are told, kept with the model, and what is told, kept with the
names of its table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, get_args

import numpy as np
import pandas as pd

from gamcore.common.numbers import LARGE, exact
from gamcore.data.binning import Bins
from gamcore.data.codes import code_of
from gamcore.data.column_names import Names
from gamcore.data.labels import cut
from gamcore.data.past import of_the_past
from gamcore.data.years import are_years, is_year_of
from gamcore.decide.fairness import sensitive
from gamcore.estimators.additive import AdditiveEstimator, single_model
from gamcore.explain.counterfactuals import Possible
from gamcore.explain.reasons import BASES, MOST, Base
from gamcore.io.formula import Formula
from gamcore.io.reasons import with_reasons
from gamcore.model.output_names import PREDICTION
from shapewise.store.names import known
from shapewise.store.workspace import ModelAbout
from shapewise.training.dataset import Data

Answer = Literal["yes", "no"]
ANSWERS: Final[tuple[Answer, ...]] = get_args(Answer)
MOST_ROWS: Final = 20_000
"""Training rows that the base is taken from."""

MOST_CELL: Final = 300
MOST_LETTER: Final = 20_000
"""Most letters of a cell in a letter, and of a letter: a template may name a column of long texts again and again."""

FIELD: Final = re.compile(r"\{([^{}]*)\}")
FACTS: Final = ("opening", "decision", "reasons")
OPENINGS: Final[dict[bool, str]] = {
    True: "We are glad to tell you that we have decided in your favour.",
    False: "We are sorry to tell you that we could not decide in your favour.",
}
"""First sentences of letters, by whether the answer is good for the person."""

UNASKED: Final = "Say on Rows, under Letter, which answer is good for the person"
LETTER: Final = """\
Dear customer,

we have looked at your case. {opening}

The main reasons were:
{reasons}

Please write to us if one of these is wrong.
"""


@dataclass(frozen=True)
class Telling:
    """What is said of the decisions of a model.

    line : the prediction from which the answer is yes. letter : a template with `FACTS`, the prediction (or rate) and
    names of columns. fixed : columns that may not change to flip a decision; None for the sensitive ones and those
    of the past. limits : by column, the least and the most that it may change to. any_way : whether
    changes may also lead to sentinels, or against the direction of a curve. helps : the answer that is good for the
    person; None until somebody has said so.
    """

    line: float
    base: Base = "average"
    most: int = MOST
    letter: str = LETTER
    fixed: tuple[str, ...] | None = None
    limits: dict[str, tuple[float | None, float | None]] = field(default_factory=dict)
    any_way: bool = False
    helps: Answer | None = None

    def possible(self, features: Iterable[Bins], names: Names) -> Possible:
        """Return what may change of some features, whose columns are shown by names."""
        over = {bins.feature.column: of_the_past(bins) for bins in features}
        hidden = is_sensitive(names, list(over))
        usual = tuple(name for name, past in over.items() if hidden[name] or past)
        fixed = usual if self.fixed is None else self.fixed
        return Possible(fixed, self.limits, past=True, sentinels=self.any_way, any_way=self.any_way)

    def opening(self, answer: Answer) -> str:
        """Return the first sentence of a letter with an answer; ValueError where nobody has said which is good."""
        if self.helps is None:
            raise ValueError(f"{UNASKED}.")
        return OPENINGS[answer == self.helps]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return asdict(self)


def telling(model: ModelAbout, usual_line: float) -> Telling:
    """Return how the reasons of a model are told. usual_line : the line where none has been chosen."""
    kept: dict[str, Any] = {"line": usual_line} | model.reasons
    if kept.get("base") not in BASES:
        kept["base"] = BASES[0]
    kept["fixed"] = None if kept.get("fixed") is None else tuple(kept["fixed"])
    if kept.get("helps") not in ANSWERS:
        kept["helps"] = None
    kept["limits"] = {name: (low, high) for name, (low, high) in kept.get("limits", {}).items()}
    return known(Telling, kept)


def usual_line(model: ModelAbout, estimator: AdditiveEstimator) -> float:
    """Return the line where none has been chosen: the base rate or mean, and no effect for a model of an effect."""
    if model.spec.get("treatment"):
        return 0.0
    inner = single_model(estimator)
    base = float(inner.loss.inverse_link(np.array(inner.base_score)))
    return min(max(round(base, 2), 0.01), 0.99) if inner.loss.is_binary else base


def is_sensitive(names: Names, columns: list[str]) -> dict[str, bool]:
    """Return for each column whether it must not be a reason: as people have said, else by its name."""
    by_name = sensitive(columns)
    by_person = {name: names.of(name).sensitive for name in columns}
    return {name: name in by_name if hidden is None else hidden for name, hidden in by_person.items()}


def texts(names: Names, features: list[str]) -> dict[str, tuple[str, str]]:
    """Return by feature what is told where it raised the score, and where it lowered it."""
    both = {}
    for name in features:
        own, shown = names.of(name), names.term(name)
        both[name] = own.up or f"{shown} raises it", own.down or f"{shown} lowers it"
    return both


def explained(estimator: AdditiveEstimator, data: Data, names: Names, how: Telling) -> Formula:
    """Return a model that tells reasons. data : its rows; the base is taken from those of training."""
    rows = np.flatnonzero(~data.held_out)
    if rows.size > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False))
    bins = estimator.model_.bins
    columns = list(dict.fromkeys(column.feature.column for column in bins))
    hidden = [name for name, on in is_sensitive(names, columns).items() if on]
    most = min(how.most, len(bins))
    return with_reasons(estimator, data.X.iloc[rows], how.line, base=how.base, most=most,
                        texts=texts(names, [column.feature.name for column in bins]), sensitive=hidden)  # fmt: skip


def cell_text(names: Names, column: str, cell: object, maybe_code: bool = False) -> str:
    """Return a cell as people read it: with the names of levels, the unit and the form of its column. maybe_code :
    whether whole numbers may be those of customers, say, in which no mark stands between thousands."""
    if pd.isna(cell):
        return "missing"
    short = str(cell).removesuffix(" 00:00:00")
    if isinstance(cell, int | float | np.number) and not isinstance(cell, bool):
        level = names.of(column).levels.get(code_of(str(float(cell)), column, "number"))
        is_float, value = isinstance(cell, float | np.floating), float(cell)
        as_it_is = not is_float and (maybe_code or abs(value) >= LARGE or are_years(np.array([value])))
        written = short if as_it_is else exact(value, 6)
        measure = names.of(column).measure.of_years(is_year_of(column, value))
        short = level or measure.say(float(cell), written)
    return names.level(column, short)


def fields_of(names: Names, cells: Mapping[Any, object], facts: Mapping[str, str]) -> dict[str, str]:
    """Return what the fields of a letter stand for: cells by their columns' own and shown names, and what is told of
    the decision, which comes first. facts : texts of `FACTS`, and the prediction."""
    cells_in_words: dict[str, str] = {}
    for column, cell in cells.items():
        text = cut(cell_text(names, str(column), cell, maybe_code=True), MOST_CELL)
        cells_in_words |= {str(column): text, names.column(str(column)): text}
    return cells_in_words | dict(facts)


def wrong_in(template: str, names: Names, columns: Iterable[str], predicted: str = PREDICTION) -> str:
    """Return what is wrong with a template of letters to the rows of a table; empty where nothing is. predicted : what
    a prediction is called."""
    there = {*FACTS, predicted, *(name for column in columns for name in (column, names.column(column)))}
    unknown = next((name for name in FIELD.findall(template) if name not in there), None)
    if unknown is not None:
        return (f"The letter names {{{unknown}}}, which is no column of the table: use {{decision}}, {{reasons}}, "
                f"{{{predicted}}} or a column.")  # fmt: skip
    if {"{", "}"} & set(FIELD.sub("", template)):
        return "A brace of the letter has no partner: write a field as {decision}."
    return ""


def letter(template: str, fields: Mapping[str, str]) -> str:
    """Return a letter, cut at MOST_LETTER. fields : what each stands for, by name; what stands for nothing stays."""
    pieces, left = list[str](), MOST_LETTER + 1
    for place, part in enumerate(FIELD.split(template)):  # texts and, between them, fields
        pieces.append((fields.get(part, f"{{{part}}}") if place % 2 else part)[:left])
        left -= len(pieces[-1])
        if left <= 0:
            break
    return cut("".join(pieces), MOST_LETTER)


def listed(reasons: list[str]) -> str:
    """Return reasons as lines of a letter."""
    return "\n".join(f"{number}. {text}" for number, text in enumerate(reasons, 1)) or "none"
