"""How the models compare: tables made from the cells of `benchmarks.boosting.peers`.

Ratios of seconds are taken within a seed, where the models ran in succession, and their median over seeds is reported;
metrics are means over seeds, and differences of metrics are paired by seed.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.harness.cells import NOISE, noisy
from benchmarks.harness.contenders import MOST_JOBS, contenders
from tests.support.real_tables import BINARY, REGRESSION

BASE = f"ours-balanced-{MOST_JOBS}"
EBM = "ebm"
EBM_EIGHT = "ebm-8"
EBM_FEW_BINS = "ebm-256"
ADDITIVE = "lightgbm-additive"
SAME_AUC, SAME_RMSE = 0.0002, 0.001
"""Differences of mean metrics (of RMSE: relative) that count as none: a tenth of what seeds make, and less."""

MEAN_ROW = "geometric mean"
MODELS = tuple(contenders("compact"))  # the table that all models are fitted to


def in_order(tables: pd.Index) -> list[str]:
    """Return the tables in the order of the project's other pages."""
    return [name for name in (*REGRESSION, *BINARY) if name in tables]


def measured(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that hold a metric."""
    return cells[cells["metric"].notna()] if "metric" in cells else cells.iloc[:0].assign(metric=[])


def overview(cells: pd.DataFrame) -> pd.DataFrame:
    """Return a row per table and model: medians of seconds and memory, mean and standard deviation of the metric."""
    fine = measured(cells)
    fine = fine.assign(most_rounds=[max(rounds, default=np.nan) for rounds in fine["rounds"]])
    table = fine.groupby(["table", "model"]).agg(
        seconds=("seconds", "median"),
        predict_ms=("predict_seconds", lambda seconds: 1e3 * seconds.median()),
        metric=("metric", "mean"),
        sd=("metric", "std"),
        memory_mib=("memory_mib", "median"),
        rounds=("most_rounds", "median"),
        seeds=("seed", "count"),
    )
    there = table.index
    ordered = [(t, m) for t in in_order(there.unique("table")) for m in MODELS if (t, m) in there]
    return table.loc[ordered]


def wide(cells: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return one column of the overview, tables across, models down."""
    table = overview(cells).reset_index().pivot_table(index="model", columns="table", values=value)
    return table.reindex(index=[name for name in MODELS if name in table.index], columns=in_order(table.columns))


def ratios(cells: pd.DataFrame, value: str = "seconds", base: str = BASE) -> pd.DataFrame:
    """Return other libraries' seconds over ours, the median over seeds; the last row is the geometric mean."""
    by_seed = measured(cells).pivot_table(index=["table", "seed"], columns="model", values=value, sort=False)
    others = [name for name in MODELS if name in by_seed and not name.startswith("ours-")]
    ratios_of = (
        by_seed[others].div(by_seed.get(base, pd.Series(np.nan, by_seed.index)), axis=0).groupby("table").median()
    )
    ratios_of = ratios_of.reindex(in_order(ratios_of.index))
    with_all = [name for name in ratios_of if len(ratios_of) and ratios_of[name].notna().all()]
    ratios_of.loc[MEAN_ROW] = pd.Series({name: np.exp(np.log(ratios_of[name]).mean()) for name in with_all})
    return ratios_of.rename_axis(index="table", columns=None)


def spans(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the ratios of seconds over tables: a row per model, with the geometric mean where it has all tables."""
    table = ratios(cells).dropna(how="all")
    alone = table.drop(index=MEAN_ROW, errors="ignore")
    mean = table.T.get(MEAN_ROW, pd.Series(np.nan, table.columns))
    spread = pd.DataFrame({MEAN_ROW: mean, "least": alone.min(), "most": alone.max(), "tables": alone.count()})
    return spread.rename_axis("model")


def minutes_apart(cells: pd.DataFrame) -> float:
    """Return the longest time between our fit and another's of the same table and split; NaN where it is not known."""
    if "at" not in cells:
        return np.nan
    fine = measured(cells)
    at = fine.assign(at=pd.to_datetime(fine["at"])).pivot_table("at", ["table", "seed"], "model", aggfunc="max")
    if BASE not in at:
        return np.nan
    others = [name for name in at if not name.startswith("ours-")]
    return float(at[others].sub(at[BASE], axis=0).abs().max().max().total_seconds() / 60)


def short_of_seeds(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the tables and models that were measured on fewer splits than others."""
    count = measured(cells).groupby(["table", "model"])["seed"].nunique().rename("splits").reset_index("model")
    return count[count["splits"] < cells["seed"].nunique()]


def verdict(difference: float, peer: float, binary: bool) -> str:
    """Return the verdict on a mean difference of metrics: "better", "worse" or "same"."""
    same = SAME_AUC if binary else SAME_RMSE * peer
    return "same" if abs(difference) <= same else "better" if (difference > 0) == binary else "worse"


def paired(cells: pd.DataFrame, peers: tuple[str, ...], base: str = BASE) -> pd.DataFrame:
    """Return our metrics next to peers', on the splits measured for both, and the ratio of seconds."""
    by_seed = measured(cells).pivot_table(
        index=["table", "seed"], columns="model", values=["metric", "seconds"], sort=False
    )
    rows = []
    for peer in peers:
        if not {("metric", base), ("metric", peer)} <= set(by_seed):
            continue
        for table, both in by_seed.loc[:, (slice(None), [base, peer])].dropna().groupby("table"):
            ours, theirs = both["metric", base], both["metric", peer]
            seconds = both["seconds", peer] / both["seconds", base]
            row = {"table": table, "peer": peer, "splits": len(both), "ours": ours.mean(), "peer's": theirs.mean()}
            row |= {"ours - peer's": (ours - theirs).mean(), "standard error": (ours - theirs).sem()}
            row |= {"ours is": verdict(row["ours - peer's"], row["peer's"], table in BINARY)}
            rows.append(row | {"peer's seconds / ours": seconds.median()})
    gaps_by_model = pd.DataFrame(rows)
    return gaps_by_model.set_index("table").loc[lambda f: in_order(f.index.unique())] if rows else gaps_by_model


def parity(cells: pd.DataFrame) -> pd.DataFrame:
    """Return our model next to EBM and to LightGBM's single-split trees."""
    return paired(cells, (EBM, EBM_FEW_BINS, ADDITIVE))


def faults(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that hold an error instead of a metric."""
    if "error" not in cells:
        return pd.DataFrame()
    failed = cells[cells["error"].notna()].assign(error=lambda f: f["error"].str.split("\n").str[0].str.slice(0, 120))
    return (
        failed.groupby(["table", "model", "error"], sort=False).size().rename("seeds").reset_index().set_index("table")
    )


def disturbed(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that were timed while other processes were busy."""
    fine = measured(cells)
    loud = fine[[noisy(cell) for cell in fine.to_dict("records")]]
    return loud.reindex(columns=["table", "model", "seed", "seconds", "others_cores"]).set_index("table")


def everything(cells: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return all tables by title."""
    tables_by_title = {"Errors": faults(cells)}
    if len(measured(cells)):
        tables_by_title |= {
            "Seconds, memory and test metric (RMSE or AUC)": overview(cells),
            f"Seconds of others over seconds of {BASE}": ratios(cells),
            f"{BASE} against other additive models": parity(cells),
            f"Timed while others took more than {NOISE} cores": disturbed(cells),
        }
    return {title: frame for title, frame in tables_by_title.items() if len(frame)}
