"""What is to be borne in mind where groups are those of a column that may be protected, such as sex or age."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from gamcore.data.column_names import Names
from gamcore.decide.fairness import sensitive

READING: Final = (
    "Who came is what the groups' other columns account for, and such columns may stand for the group itself, so it "
    "justifies nothing by itself. What is not explained is no proof of unequal treatment, and where it is 0 there may "
    "still be some. Where is the model wrong?, on Overview, says whether predictions are right in each group."
)


def words(columns: Collection[str], features: Collection[str], names: Names) -> str:
    """Return how groups by some columns are read in a review of fairness; empty where no name of a column points to a
    protected characteristic. features : that the model reads."""
    hints = sensitive(list(columns))
    if not hints:
        return ""
    named = "; ".join(f"{names.column(column)} points to {what}" for column, what in hints.items())
    read = [names.column(column) for column in hints if column in features]
    own = f"The model reads {' and '.join(read)}, so a part of who came is its curve of that alone. " if read else ""
    return f"For a review of fairness ({named}): {own}{READING}"
