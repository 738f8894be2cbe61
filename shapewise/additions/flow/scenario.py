"""An edge of a flow as a scenario: the customers who reach its source, with what is known of them and what they did."""

from __future__ import annotations

from typing import Final

import pandas as pd

from gamcore import Edge, edge_outcomes
from gamcore.common.numbers import counted
from gamcore.data.columns import TableError
from gamcore.data.table import Table

MATCHED: Final = 30


def scenario_of(
    customers: Table, key: str, events: Table, columns: tuple[str, str, str | None], edge: Edge
) -> pd.DataFrame:
    """Return the rows of customers who reach the source of an edge, with whether they take it as the last column.

    key : the column of customers that says who each is. columns : of the events, whose step, which, and when. Raises
    TableError where too few customers are known to learn from.
    """
    case, step, time = columns
    taken = edge_outcomes(events, case, step, time, edge=(edge.source, edge.target))
    codes, names = customers.texts(key)
    who = pd.Series(codes).map(dict(enumerate(names)))
    outcome = who.map(dict(zip(taken["case"], taken["outcome"], strict=True)))
    there = outcome.notna().to_numpy()
    if there.sum() < MATCHED:
        raise TableError(
            f"Only {counted(there.sum(), 'row', 'has', 'have')} a {key!r} that reaches {edge.source!r}: choose the "
            "column that says who."
        )
    name = _free(f"after {edge.source}: {edge.target or 'leaves'}", customers.names)
    rows = customers.frame.loc[there].reset_index(drop=True)
    return rows.assign(**{name: outcome[there].map({True: "yes", False: "no"}).to_numpy()})


def _free(name: str, taken: list[str]) -> str:
    """Return a name that no column has."""
    while name in taken:
        name += "'"
    return name
