"""Where the models stand: tables made from the cells of `benchmarks.peers`.

A ratio of seconds is taken within one seed, where the models ran one after the other, and the median over seeds is
told; metrics are means over seeds, differences of metrics are paired by seed.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.cells import NOISE, noisy
from benchmarks.contenders import MOST_JOBS, OURS, contenders
from benchmarks.tables import BINARY, REGRESSION

BASE = f"ours-balanced-{MOST_JOBS}"
EBM = "ebm"
EBM_FEW_BINS = "ebm-256"
ADDITIVE = "lightgbm-additive"
PRESETS_AT_ONCE = tuple(f"{name}-{MOST_JOBS}" for name in OURS)
SAME_AUC, SAME_RMSE = 0.0002, 0.001
"""Differences of mean metrics (of RMSE: relative) that count as none: a tenth of what seeds make, and less."""

MEAN_ROW = "geometric mean"
MODELS = tuple(contenders("compact"))  # the table that all models are fitted to


def in_order(tables: pd.Index) -> list[str]:
    """Tables in the order of the project's other pages."""
    return [name for name in (*REGRESSION, *BINARY) if name in tables]


def measured(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells that hold a metric."""
    return cells[cells["metric"].notna()] if "metric" in cells else cells.iloc[:0].assign(metric=[])


def overview(cells: pd.DataFrame) -> pd.DataFrame:
    """A row a table and model: medians of seconds and memory, mean and standard deviation of the metric."""
    fine = measured(cells)
    fine = fine.assign(most_rounds=[max(told, default=np.nan) for told in fine["rounds"]])
    found = fine.groupby(["table", "model"]).agg(
        seconds=("seconds", "median"),
        predict_ms=("predict_seconds", lambda seconds: 1e3 * seconds.median()),
        metric=("metric", "mean"),
        sd=("metric", "std"),
        memory_mib=("memory_mib", "median"),
        rounds=("most_rounds", "median"),
        seeds=("seed", "count"),
    )
    there = found.index
    ordered = [(t, m) for t in in_order(there.unique("table")) for m in MODELS if (t, m) in there]
    return found.loc[ordered]


def wide(cells: pd.DataFrame, value: str) -> pd.DataFrame:
    """One column of the overview, tables across, models down."""
    found = overview(cells).reset_index().pivot_table(index="model", columns="table", values=value)
    return found.reindex(index=[name for name in MODELS if name in found.index], columns=in_order(found.columns))


def ratios(cells: pd.DataFrame, value: str = "seconds", base: str = BASE) -> pd.DataFrame:
    """Median over seeds of each other library's seconds over ours; the last row is the geometric mean over tables."""
    by_seed = measured(cells).pivot_table(index=["table", "seed"], columns="model", values=value, sort=False)
    others = [name for name in MODELS if name in by_seed and not name.startswith("ours-")]
    found = by_seed[others].div(by_seed.get(base, pd.Series(np.nan, by_seed.index)), axis=0).groupby("table").median()
    found = found.reindex(in_order(found.index))
    with_all = [name for name in found if len(found) and found[name].notna().all()]
    found.loc[MEAN_ROW] = pd.Series({name: np.exp(np.log(found[name]).mean()) for name in with_all})
    return found.rename_axis(index="table", columns=None)


def parity(cells: pd.DataFrame, base: str = BASE) -> pd.DataFrame:
    """Test metrics of ours and of EBM, and their difference paired by seed, with its standard error."""
    by_seed = measured(cells).pivot_table(index=["table", "seed"], columns="model", values="metric", sort=False)
    rows = []
    for peer in (EBM, EBM_FEW_BINS):
        if base not in by_seed or peer not in by_seed:
            continue
        for table, both in by_seed[[base, peer]].dropna().groupby("table"):
            difference = both[base] - both[peer]
            means = {"ours": both[base].mean(), "peer's": both[peer].mean(), "ours - peer's": difference.mean()}
            error = difference.std() / np.sqrt(len(difference))
            better = (difference.mean() > 0) == (table in BINARY)
            rows.append({"table": table, "peer": peer, **means, "standard error": error, "ours is better": better})
    found = pd.DataFrame(rows)
    return found.set_index("table").loc[lambda f: in_order(f.index.unique())] if rows else found


def additive(cells: pd.DataFrame) -> pd.DataFrame:
    """LightGBM's trees of one cut next to the quickest of our presets whose mean metric is as good or better."""
    found = overview(cells)
    rows = []
    for table in in_order(found.index.unique("table")):
        mine = found.loc[table]
        if ADDITIVE not in mine.index:
            continue
        peer = mine.loc[ADDITIVE]
        sign = 1 if table in BINARY else -1
        ours = mine.loc[[name for name in PRESETS_AT_ONCE if name in mine.index]]
        slack = SAME_AUC if table in BINARY else SAME_RMSE * peer["metric"]
        good = ours[sign * (ours["metric"] - peer["metric"]) >= -slack].sort_values("seconds")
        best = good.iloc[0] if len(good) else pd.Series({"seconds": np.nan, "metric": np.nan}, name="none")
        rows.append(
            {
                "table": table,
                "LightGBM seconds": peer["seconds"],
                "LightGBM metric": peer["metric"],
                "ours": best.name,
                "our seconds": best["seconds"],
                "our metric": best["metric"],
                "LightGBM / ours": peer["seconds"] / best["seconds"],
            }
        )
    return pd.DataFrame(rows).set_index("table") if rows else pd.DataFrame()


def faults(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells that hold an error instead of a metric."""
    if "error" not in cells:
        return pd.DataFrame()
    told = cells[cells["error"].notna()].assign(error=lambda f: f["error"].str.split("\n").str[0].str.slice(0, 120))
    return told.groupby(["table", "model", "error"], sort=False).size().rename("seeds").reset_index().set_index("table")


def disturbed(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells that were timed while others were busy."""
    fine = measured(cells)
    loud = fine[[noisy(cell) for cell in fine.to_dict("records")]]
    return loud.reindex(columns=["table", "model", "seed", "seconds", "others_cores"]).set_index("table")


def everything(cells: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """All tables by title."""
    made = {"Errors": faults(cells)}
    if len(measured(cells)):
        made |= {
            "Seconds, memory and test metric (RMSE or AUC)": overview(cells),
            f"Seconds of others over seconds of {BASE}": ratios(cells),
            f"Test metric of {BASE} against EBM": parity(cells),
            "LightGBM's additive model and the quickest of our presets that is as good": additive(cells),
            f"Timed while others took more than {NOISE} cores": disturbed(cells),
        }
    return {title: frame for title, frame in made.items() if len(frame)}
