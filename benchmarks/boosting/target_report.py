"""How models compare on all kinds of targets: tables made from the cells of `benchmarks.boosting.targets`."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from benchmarks.boosting.standing import disturbed
from benchmarks.boosting.target_models import EBM, OURS

TRUTH: Final = "truth"
MEAN_ROW: Final = "geometric mean"
NOT_THERE: Final = "not available"


def measured(cells: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return a value by table and split (down) and model (across), in the order of the cells."""
    if value not in cells or cells[value].isna().all():
        return pd.DataFrame()
    wide = cells.pivot_table(index=["table", "seed"], columns="model", values=value, sort=False)
    return wide[[name for name in cells["model"].unique() if name in wide]]


def explained(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the percentage of the deviance explained, a table per row and a model per column; means over splits."""
    mean = measured(cells, "metric").groupby("table", sort=False).mean()
    shown = mean.map(lambda value: "" if np.isnan(value) else f"{value:.2f}")
    for cell in cells.to_dict("records"):
        for what, text in (("missing", NOT_THERE), ("error", "failed")):
            if isinstance(cell.get(what), str):
                shown.loc[cell["table"], cell["model"]] = text
    models = sorted(cells["model"].unique(), key=TRUTH.__eq__)  # the truth last
    shown = shown.reindex(index=cells["table"].unique(), columns=models).fillna("")
    shown.insert(0, "splits", cells.groupby("table", sort=False)["seed"].nunique())
    return shown.rename_axis(index="table", columns=None)


def behind(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the points by which ours explains more than each EBM, on the splits of both; one row per table and EBM."""
    wide, rows = measured(cells, "metric"), []
    for peer in EBM:
        if not {OURS, peer} <= set(wide):
            continue
        gaps = (wide[OURS] - wide[peer]).dropna()
        for table, gap in gaps.groupby("table", sort=False):
            row = {"table": table, "peer": peer, "splits": len(gap), "ours - peer's": gap.mean()}
            rows.append(row | {"standard error": gap.sem()})
    return pd.DataFrame(rows).set_index("table") if rows else pd.DataFrame()


def faster(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the seconds of others over ours: medians of ratios within splits, and their geometric mean over tables.

    A mean is over the tables that the model was fitted to.
    """
    wide = measured(cells, "seconds")
    if OURS not in wide:
        return pd.DataFrame()
    ratios = wide.drop(columns=OURS).div(wide[OURS], axis=0).groupby("table", sort=False).median().dropna(how="all")
    ratios.loc[MEAN_ROW] = np.exp(np.log(ratios).mean())
    return ratios.rename_axis(index="table", columns=None)


def seconds(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the median seconds of a fit over splits, a table per row and a model per column."""
    return measured(cells, "seconds").groupby("table", sort=False).median().rename_axis(index="table", columns=None)


def reasons(cells: pd.DataFrame) -> pd.DataFrame:
    """Return why models have no result, each reason once."""
    kept = [name for name in ("missing", "error") if name in cells]
    texts = cells[kept].bfill(axis=1).iloc[:, 0] if kept else pd.Series(dtype=object)
    why = cells.assign(reason=texts)[["table", "model", "reason"]].dropna().drop_duplicates()
    return why.set_index("table")


def everything(cells: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return all tables by title."""
    tables_by_title = {
        "Held-out deviance explained, in percent": explained(cells),
        "Points by which ours explains more than EBM": behind(cells),
        "Seconds of a fit": seconds(cells),
        "Seconds of others over ours": faster(cells),
        "No result": reasons(cells),
        "Timed while others were busy": disturbed(cells),
    }
    return {title: frame for title, frame in tables_by_title.items() if len(frame)}
