"""What the doctor says of a column, as data: words are made from a finding, which counts what it says.

Rows can refute it: `tests/support/refuting.py` looks at every cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from gamcore.common.numbers import count, counted, percent
from gamcore.data.labels import levels_in_words

FindingKind = Literal[
    "unusable", "empty", "constant", "sparse", "id", "group", "levels", "yes or no", "days", "missing code",
    "open end", "copy", "cut", "later", "large", "pooled", "task",
]  # fmt: skip
Cure = Literal["leave out", "group", "levels", "as missing", "as dates"]
"""What one press does about a finding, and another press undoes."""

CURES: Final[dict[FindingKind, Cure]] = {
    "empty": "leave out", "constant": "leave out", "id": "leave out", "copy": "leave out", "cut": "leave out",
    "group": "group", "levels": "levels", "yes or no": "levels", "missing code": "as missing", "days": "as dates",
}  # fmt: skip

MOST_LEVELS: Final = 253
"""Most frequent levels that are kept apart."""

LARGEST_WHOLE: Final = 2**53
DAYS_FORM: Final = "%Y%m%d"
LATER_WORDS: Final = "by its name, it may be known only after the outcome: check when it is filled in"


@dataclass(frozen=True)
class Finding:
    """One thing that is said of a column.

    rows : for how many it is true. n : of how many rows, or of how many with a value. distinct : values. of : another
    column. values : codes, as texts; of an end, also the nearest of the others. said : words of another place.
    sampled : whether the rows are a sample of the table. relabelled : a copy under other values.
    """

    kind: FindingKind
    column: str
    rows: int = 0
    n: int = 0
    distinct: int = 0
    of: str = ""
    values: tuple[str, ...] = ()
    nearest: str = ""
    said: str = ""
    sampled: bool = False
    relabelled: bool = False

    @property
    def cure(self) -> Cure | None:
        """What one press does about it; None where there is nothing to do."""
        near = self.kind == "copy" and self.rows < self.n
        return None if near else CURES.get(self.kind)

    def words(self) -> str:
        """Return the finding as it is read."""
        sample = " of the sample" * self.sampled
        match self.kind:
            case "empty":
                return f"every cell{sample} is missing"
            case "constant":
                return f"constant: every row{sample} has the same value" if self.rows == self.n else (
                    f"one value{sample}, or missing")  # fmt: skip
            case "sparse":
                return f"mostly missing ({percent(1 - self.rows / self.n, 0)})"
            case "id":
                return f"looks like an ID: {count(self.distinct)} different values in {count(self.n)} rows{sample}"
            case "group":
                return (
                    f"looks like the ID of something with several rows: {counted(self.distinct, 'value')} in "
                    f"{counted(self.n, 'row')}{sample}. Rows of one belong together"
                )
            case "levels":
                return f"{count(self.distinct)} whole numbers{sample} that look like codes, without a meaningful order"
            case "yes or no":
                return f"only 0 and 1{sample}: yes or no, not an amount"
            case "days":
                return f"every number{sample} is a day, as in {self.values[0]}"
            case "missing code":
                return self._code_words(sample)
            case "open end":
                return (f"{self.values[0]} in {counted(self.rows, 'row')}{sample} stands for no day: the nearest other "
                        f"is {self.nearest}")  # fmt: skip
            case "copy":
                return self._copy_words(sample)
            case "cut":
                but = f", except {count(self.rows)} on a border between two classes" if self.rows else ""
                return f"{self.of} cut into {counted(self.distinct, 'class')}, as all rows{sample} with both say{but}"
            case "large":
                return "numbers above 9 quadrillion lose their last digits"
            case "pooled":
                return f"{counted(self.distinct, 'level')}{sample}: all but the {MOST_LEVELS} most frequent are pooled"
        return self.said

    def _code_words(self, sample: str) -> str:
        codes, rows = levels_in_words(self.values), counted(self.rows, "row")
        stands = "stand" if self.values[1:] else "stands"
        if not self.nearest:
            return f"{codes} in {rows}{sample} may {stands.rstrip('s')} for a missing value"
        end = "lowest" if self._below else "highest"
        return f"{codes} in {rows}{sample} may stand for a missing value: the {end} other is {self.nearest}"

    @property
    def _below(self) -> bool:
        return bool(self.nearest) and float(self.values[0]) < float(self.nearest)

    def _copy_words(self, sample: str) -> str:
        if self.rows < self.n:
            return f"the same as {self.of} in all but {count(self.n - self.rows)} of {counted(self.n, 'row')}{sample}"
        values = ": each of its values goes with one of the other's" if self.relabelled else ""
        return f"copy of {self.of}{f', as the rows{sample} say' if sample else ''}{values}"
