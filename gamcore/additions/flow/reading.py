"""From a table of events to a flow, and from an edge of it to who takes it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gamcore.additions.flow.steps import Edge, Flow
from gamcore.data.columns import TableError, read_dates, read_numbers
from gamcore.data.table import Table

MOST_STEPS: Final = 60


def read_flow(events: Any, case: str, step: str, time: str | None = None) -> Flow:
    """Return the flow of cases through steps.

    Parameters
    ----------
    events :
        A table with a row per step that a case takes. Rows without a case or a step are left out.
    case, step :
        The columns that say whose step it is, and which.
    time :
        The column that says when, a number or a date; of a time, and without a column, rows are in order. Without it,
        rows have to be in the order of time.

    Raises
    ------
    TableError
        Where a column is not there, or there are more than 60 steps; the message says what to do.
    """
    taken = _taken(events, case, step, time)
    steps = taken["step"].unique().tolist()
    if len(steps) > MOST_STEPS:
        raise TableError(f"Column {step!r} has {len(steps)} steps: put them together into at most {MOST_STEPS}.")
    place = taken.groupby("case", sort=False).cumcount()
    order = place.groupby(taken["step"]).mean().sort_values(kind="stable").index.tolist()
    visits = taken[["case", "step"]].drop_duplicates()
    reached = visits["step"].value_counts()
    ways = taken[["case", "step", "next"]].drop_duplicates()
    sizes = ways.groupby(["step", "next"], dropna=False, sort=False).size()
    edges = [
        Edge(source, None if pd.isna(target) else str(target), int(n), int(reached[source]))
        for (source, target), n in sizes.items()
    ]
    edges.sort(key=lambda edge: (order.index(edge.source), -edge.n, edge.target is None, edge.target or ""))
    n_by_step = tuple(int(reached[name]) for name in order)
    return Flow(tuple(order), n_by_step, tuple(edges), taken["case"].nunique())


def edge_outcomes(events: Any, case: str, step: str, time: str | None = None, *, edge: tuple[str, str | None]) -> Any:
    """Return the cases that reach the source of an edge, as texts, and whether each takes it: a frame of `case` and
    `outcome`.

    edge : a source and a target; None for those who leave there. The rest is as in `read_flow`.
    """
    source, target = edge
    taken = _taken(events, case, step, time)
    there = taken[taken["step"] == source]
    if there.empty:
        raise TableError(f"No case reaches {source!r}: name a step that is there.")
    takes = there["next"].isna() if target is None else there["next"].eq(target)
    by_case = takes.groupby(there["case"], sort=False).any()
    return pd.DataFrame({"case": by_case.index, "outcome": by_case.to_numpy(bool)})


def _taken(events: Any, case: str, step: str, time: str | None) -> pd.DataFrame:
    """Return the steps of each case in order, and what comes next, None for the last; a step that is repeated at once
    counts once."""
    table = Table.of(events)
    lacking = [name for name in (case, step, time) if name is not None and name not in table]
    if lacking:
        raise TableError(f"There is no column {lacking[0]!r}: name one of {', '.join(map(repr, table.names[:9]))}.")
    taken = pd.DataFrame({"case": _texts(table, case), "step": _texts(table, step)})
    if time is not None:
        if table.kind(time) not in ("number", "date"):
            raise TableError(f"Column {time!r} has neither numbers nor dates: name the column that says when.")
        read = read_numbers if table.kind(time) == "number" else read_dates
        taken = taken.assign(time=read(table.frame[time])).sort_values("time", kind="stable")
    taken = taken[taken["case"].notna() & taken["step"].notna()]
    if taken.empty:
        raise TableError(f"No row has a value in both {case!r} and {step!r}: name other columns.")
    before = taken.groupby("case", sort=False)["step"].shift()
    taken = taken[(before != taken["step"]).to_numpy()]
    following = taken.groupby("case", sort=False)["step"].shift(-1).astype(object)
    return taken.assign(next=following.where(following.notna(), None))


def _texts(table: Table, name: str) -> NDArray[np.object_]:
    """Return the cells of a column as the names of levels, None where missing."""
    codes, names = table.texts(name)
    return np.array([*names, None], object)[codes]
