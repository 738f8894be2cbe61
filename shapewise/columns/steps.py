"""Steps from a table as it was loaded to the one that is worked on: computed columns, and columns of another type.

A step goes by single rows, so that it can be repeated on any part of a table and on its newer versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import pandas as pd
import pyarrow as pa

from gamcore.common.numbers import are, counted
from gamcore.data.columns import Kind, read_texts
from shapewise import patience
from shapewise.columns.evaluate import Kinds, as_series, evaluate, kind_of_formula, read_cells
from shapewise.columns.formula import FormulaError, columns_of, parse
from shapewise.columns.functions import Texts
from shapewise.ingest.amounts import SIGNS, WRITINGS
from shapewise.ingest.types import COMPACT_DATE, Tally, TypePlan, convert, trimmed

MOST_STEPS: Final = 100
LONGEST_NAME: Final = 80
KINDS: Final[dict[Kind, str]] = {"number": "number", "category": "category", "date": "date"}
"""What a column can be made into, in words."""

MOSTLY: Final = 0.5
"""Share of a column's values that must be dates before it is offered as dates."""

FORMS: Final = {
    "ISO8601": "", "%d-%m-%Y": ", the day first", "%m-%d-%Y": ", the month first", COMPACT_DATE: ", as in 20260131",
}  # fmt: skip
"""Ways to write dates, with what is said of them."""


class StepError(ValueError):
    """A step that a table does not allow; the message says why."""


@dataclass(frozen=True)
class Computed:
    """A new column by a formula."""

    column: str
    formula: str

    def words(self) -> str:
        """Return the step as it is read."""
        return f"{self.column} = {self.formula}"

    def needs(self) -> list[str]:
        """Return the columns that it reads."""
        return columns_of(parse(self.formula))

    def kind(self, kinds: Kinds) -> Kind:
        """Return what the column will be; StepError or FormulaError where the table does not allow it."""
        if self.column in kinds:
            raise StepError(f"the table has a column {self.column} already: give this one another name")
        if not self.column or self.column != " ".join(self.column.split()) or len(self.column) > LONGEST_NAME:
            raise StepError(f"a column needs a name of at most {LONGEST_NAME} characters")
        return kind_of_formula(parse(self.formula), kinds)

    def apply(self, frame: pd.DataFrame, kinds: Kinds, _tally: Tally) -> pd.Series:
        """Return the column for some rows."""
        return evaluate(parse(self.formula), frame, kinds)

    def to_dict(self) -> dict[str, Any]:
        """Return the step as plain JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Retyped:
    """A column read as another kind. form : of dates, a key of FORMS; writing and sign : of numbers in text."""

    column: str
    to: Kind
    form: str = ""
    writing: str = ""
    sign: str = ""

    def words(self) -> str:
        """Return the step as it is read."""
        return f"{self.column} as {KINDS[self.to]}{self.how}"

    @property
    def how(self) -> str:
        """How its cells are read, after a comma; empty where they are plain."""
        parts = [part for part in (self.writing, SIGNS.get(self.sign, "")) if part]
        return FORMS.get(self.form, "") + (f", with {' and '.join(parts)}" if parts else "")

    def needs(self) -> list[str]:
        """Return the columns that it reads."""
        return [self.column]

    def kind(self, kinds: Kinds) -> Kind:
        """Return what the column will be; StepError where the table does not allow it."""
        if self.column not in kinds:
            raise StepError(f"the table has no column {self.column}")
        kind = kinds[self.column]
        if kind is None:
            raise StepError(f"the cells of {self.column} are not all of one type")
        if (kind, self.to) in (("date", "number"), ("boolean", "date")):
            raise StepError(f"{self.column} is a {kind}, which cannot be read as a {self.to}")
        return self.to

    def apply(self, frame: pd.DataFrame, kinds: Kinds, tally: Tally) -> pd.Series:
        """Return the column for some rows; cells that cannot be read are missing, and tallied."""
        series, kind = frame[self.column], kinds[self.column]
        assert kind is not None
        if kind == self.to or (kind, self.to) == ("boolean", "number"):
            return as_series(self.to, read_cells(series, kind)).set_axis(series.index)
        texts = _texts(series, kind)
        if self.to == "category":
            return texts
        plan = TypePlan("date" if self.to == "date" else "number", self.form, writing=self.writing, sign=self.sign)
        cells = convert(trimmed(pa.array(texts, pa.string(), from_pandas=True)), plan, tally).to_pandas()
        return cells.astype("datetime64[us]" if self.to == "date" else "float64").set_axis(series.index)

    def to_dict(self) -> dict[str, Any]:
        """Return the step as plain JSON."""
        return {name: value for name, value in asdict(self).items() if value}


Step = Computed | Retyped


def _texts(series: pd.Series, kind: Kind) -> pd.Series:
    """Return a column as the names of its levels, as models know them."""
    cells = series
    if kind == "boolean":
        cells = series.astype(object).map({True: "True", False: "False"})
    codes, names = read_texts(cells)
    return as_series("category", Texts(codes, [name.removesuffix(" 00:00:00") for name in names])).set_axis(
        series.index
    )


def from_dict(plain: dict[str, Any]) -> Step:
    """Return the step that `to_dict` wrote; StepError where it is none."""
    try:
        return Computed(**plain) if "formula" in plain else Retyped(**plain)
    except TypeError as error:
        raise StepError(f"a step is not understood: {str(plain)[:80]}") from error


def readings(series: pd.Series, kind: Kind) -> list[Retyped]:
    """Return the ways to read a column as another kind, of each the one that fits the most cells."""
    name = str(series.name)
    if kind in ("boolean", "date"):
        return [Retyped(name, "category"), *([Retyped(name, "number")] if kind == "boolean" else [])]
    cells = _texts(series, kind).drop_duplicates()
    ways = [] if kind == "category" else [Retyped(name, "category")]
    if kind == "category":
        ways += _best([Retyped(name, "number", writing=writing, sign=sign) for writing in WRITINGS
                       for sign in ("", *SIGNS)], cells)[:1]  # fmt: skip
    return ways + _best([Retyped(name, "date", form=form) for form in FORMS], cells, MOSTLY)


def _best(ways: list[Retyped], cells: pd.Series, least: float = 0.0) -> list[Retyped]:
    """Return those of several ways that read the most cells, one at least, and at least this share."""
    frame, counts = cells.rename(ways[0].column).to_frame(), []
    for way in ways:
        patience.look()
        if way.sign and not cells.str.contains(way.sign, regex=False).any():
            counts.append(0)
            continue
        counts.append(int(way.apply(frame, {way.column: "category"}, Tally()).notna().sum()))
    most = max(counts)
    return [way for way, count in zip(ways, counts, strict=True) if count == most > least * len(cells)]


@dataclass(frozen=True)
class Replayed:
    """The steps that a table allows, the kinds of its columns after them, and those left out, with the reason."""

    steps: list[Step]
    kinds: dict[str, Kind | None]
    left_out: list[tuple[Step, str]] = field(default_factory=list)

    def sentences(self) -> list[str]:
        """Return a sentence per step that is left out."""
        return [f"{step.words()} is left out: {reason.rstrip('.')}." for step, reason in self.left_out]


def replay(steps: Sequence[Step], kinds: Kinds) -> Replayed:
    """Return which of some steps a table with columns of these kinds allows, in their order."""
    known, kept, left_out = dict(kinds), list[Step](), list[tuple[Step, str]]()
    for step in steps:
        try:
            known[step.column] = step.kind(known)
            kept.append(step)
        except (StepError, FormulaError) as error:
            left_out.append((step, str(error)))
    return Replayed(kept, known, left_out)


def apply(
    steps: Sequence[Step], frame: pd.DataFrame, kinds: Kinds, tallies: dict[str, Tally] | None = None
) -> pd.DataFrame:
    """Return some rows of a table with the columns of all steps.

    kinds : of the whole table's columns. tallies : filled with what could not be read, by column. Raises StepError,
    FormulaError, and TableError where a cell is not of its column's kind.
    """
    known, columns = dict(kinds), dict(frame.items())
    for step in steps:
        kind = step.kind(known)
        tally = Tally() if tallies is None else tallies.setdefault(step.column, Tally())
        part = pd.DataFrame({name: columns[name] for name in step.needs()}, index=frame.index)
        columns[step.column] = step.apply(part, known, tally).rename(step.column)
        known[step.column] = kind
    return pd.DataFrame(columns, index=frame.index, copy=False)


def needed_for(columns: Sequence[str], steps: Sequence[Step]) -> list[Step]:
    """Return the steps that some columns come from, directly or through others, in their order."""
    wanted, kept = set(columns), list[Step]()
    for step in reversed(steps):
        if step.column in wanted:
            kept.insert(0, step)
            wanted |= set(step.needs())
    return kept


def notes_of(tallies: dict[str, Tally]) -> list[str]:
    """Return a sentence per column with cells that could not be read, which are missing."""
    return [
        f"{name}: {counted(tally.odd, 'cell')} ({', '.join(tally.examples['odd'])}) could not be read and "
        f"{are(tally.odd)} missing."
        for name, tally in tallies.items() if tally.odd
    ]  # fmt: skip
