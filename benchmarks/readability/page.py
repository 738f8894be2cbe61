"""The page of the comparison, made of its cells."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from benchmarks.harness.page import markdown, show
from benchmarks.readability.models import EBM, LIBRARIES, OURS, SEARCHED, TRIPLES

MARKS: Final = ("<!-- measured -->", "<!-- /measured -->")
READABLE: Final = TRIPLES
"""Our model that others are compared with: pairs and triples as many as pay."""

MODELS: Final = (*OURS, EBM, *LIBRARIES, *(name + SEARCHED for name in LIBRARIES))
BLACK_BOXES: Final = tuple(name for name in MODELS if name.removesuffix(SEARCHED) in LIBRARIES)
EVEN_RMSE: Final = 0.005
EVEN_AUC: Final = 0.001
"""Gaps that count as none: of RMSE as a share, of AUC as they are."""

APART: Final = ("ours, pairs", EBM)
"""Models that are told of over all tables only: the one is mostly level with ours, the other is seldom measured."""

KINDS: Final = {False: "Numbers", True: "Two classes"}
BY_TABLE: Final = {
    False: "RMSE of ours with triples in bold, and how much larger (+) or smaller (-) that of the others is:",
    True: "AUC of ours with triples in bold, and how much higher (+) or lower (-) that of the others is:",
}

Gaps = pd.DataFrame
"""A row per table, model and split that ours was measured on, too."""


def gaps_of(cells: pd.DataFrame) -> Gaps:
    """Return how far each model is ahead of ours, on the splits that both were measured on.

    ahead : the share by which its RMSE is lower, or the difference of AUC. loss, seconds : over ours.
    """
    fine = cells[cells["metric"].notna()]
    ours = fine[fine["model"] == READABLE].set_index(["table", "seed"])[["metric", "loss", "seconds"]]
    both = fine.join(ours.add_suffix("_ours"), on=["table", "seed"], how="inner")
    by_error = 1.0 - both["metric"] / both["metric_ours"]
    by_auc = both["metric"] - both["metric_ours"]
    return both.assign(
        ahead=by_error.where(~both["binary"].astype(bool), by_auc),
        loss=both["loss"] / both["loss_ours"],
        seconds_over=both["seconds"] / both["seconds_ours"],
    )


def tables_of(gaps: Gaps) -> pd.DataFrame:
    """Return means over splits: a row per table and model."""
    by = gaps.groupby(["table", "model"], sort=False)
    return by.agg(
        binary=("binary", "first"), rows=("rows", "first"), fitted=("fitted_rows", "first"), ahead=("ahead", "mean"),
        sd=("ahead", "std"), loss=("loss", "mean"), metric=("metric", "mean"), metric_ours=("metric_ours", "mean"),
        seconds=("seconds", "mean"), seconds_over=("seconds_over", "median"), splits=("seed", "count"),
    ).reset_index()  # fmt: skip


def standings(ahead: pd.Series, even: float) -> str:
    """Return on how many tables ours is ahead, even and behind."""
    return f"{(ahead < -even).sum()} / {(ahead.abs() <= even).sum()} / {(ahead > even).sum()}"


def summary(tables: pd.DataFrame) -> pd.DataFrame:
    """Return a row per model: how it compares with ours over all tables it was measured on."""
    rows = []
    for model in MODELS:
        of_model = tables[tables["model"] == model]
        numbers, classes = of_model[~of_model["binary"]], of_model[of_model["binary"]]
        if model == READABLE or of_model.empty:
            continue
        rows.append(
            {
                "model": model, "tables": f"{len(numbers)} + {len(classes)}",
                "RMSE": typical(-numbers["ahead"]),
                "ours ahead / even / behind": standings(numbers["ahead"], EVEN_RMSE),
                "AUC": typical(classes["ahead"], percents=False),
                "ours ahead / even / behind ": standings(classes["ahead"], EVEN_AUC),
                "log loss": typical(classes["loss"] - 1.0),
                "CPU seconds / ours": np.exp(np.log(of_model["seconds_over"]).mean()),
            }
        )  # fmt: skip
    return pd.DataFrame(rows or {"model": []}).set_index("model")


def typical(gaps: pd.Series, percents: bool = True) -> str:
    """Return the median of gaps over tables, and the quarters around it."""
    low, middle, high = (percent(q) if percents else f"{q:+.4f}" for q in gaps.quantile([0.25, 0.5, 0.75]))
    return f"**{middle}** ({low} to {high})" if len(gaps) else ""


def percent(share: float) -> str:
    """Return a share as signed percents."""
    return f"{round(100 * share, 1) + 0.0:+.1f}%"


def lead(tables: pd.DataFrame, binary: bool) -> pd.Series:
    """Return how far the best black box on the test rows is ahead of ours: a table each, the widest lead first."""
    rivals = tables[tables["model"].isin(BLACK_BOXES) & (tables["binary"] == binary)]
    return rivals.groupby("table")["ahead"].max().sort_values(ascending=False, kind="stable")


def wide(tables: pd.DataFrame, binary: bool) -> pd.DataFrame:
    """Return ours, and how the others compare with it: a row per table, that first on which a black box is farthest
    ahead."""
    part = tables[tables["binary"] == binary]
    order = list(dict.fromkeys([*lead(tables, binary).index, *part["table"]]))
    text = part.assign(gap=[f"{gap:+.4f}" if binary else percent(-gap) for gap in part["ahead"]])
    grid = text.pivot_table(index="table", columns="model", values="gap", aggfunc="first").reindex(index=order)
    grid = grid.reindex(columns=[name for name in MODELS if name in grid and name not in APART])
    ours = part[part["model"] == READABLE].set_index("table")["metric"].reindex(order)
    grid[READABLE] = [f"**{show(value, 4)}**" for value in ours]
    return grid.fillna("")


def seconds_words(tables: pd.DataFrame) -> str:
    """Return how long fits of ours take."""
    seconds = tables[tables["model"] == READABLE]["seconds"]
    middle, most = (show(value) for value in (seconds.median(), seconds.max()))
    return f"A fit of `{READABLE}` took {middle} processor seconds in one thread (median over tables), at most {most}."


def searches(cells: pd.DataFrame) -> list[str]:
    """Return what the searches took, a line per library."""
    lines = []
    for name, part in cells[cells["library"].notna()].groupby("library") if "library" in cells else ():
        median, most, trials = (
            show(value) for value in (*part["seconds"].agg(["median", "max"]), part["trials"].max())
        )
        lines += [f"Once per table, {trials} trials of {name} took {median} seconds, at most {most}.", ""]
    return lines


def splits_of(models: pd.DataFrame) -> list[str]:
    """Return a line per number of splits and tables, the first ones, with the models that were measured on these."""
    n_tables = models["table"].nunique()
    counts = models[models["metric"].notna()].groupby(["model", "table"])["seed"].count()
    by_words: dict[str, list[str]] = {}
    for model in MODELS:
        of_model = counts.get(model, counts.iloc[:0])
        words = "not measured"
        if len(of_model):
            tables = "all tables" if len(of_model) == n_tables else ", ".join(of_model.index)
            words = f"{' or '.join(map(str, sorted(set(of_model))))} of {tables}"
        by_words.setdefault(words, []).append(model)
    return [f"- {words}: {'; '.join(names)}" for words, names in by_words.items()]


def provenance(cells: pd.DataFrame) -> str:
    """Return when and with what it was measured."""
    days = sorted({str(at)[:10] for at in cells["at"]})
    machine = {name: value for each in cells["machine"].dropna() for name, value in each.items()}
    versions = ", ".join(f"{k} {v}" for k, v in sorted(machine.items()) if k not in ("processor", "cores"))
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    limit = int(cells["fitted_rows"].max())
    return (
        f"Measured {when} on {machine.get('processor', '')}, one of {machine.get('cores', '')} cores: {versions}. "
        f"At most {limit:,} rows for fitting. Other programs kept the machine busy, which lengthens the processor's "
        "seconds, too."
    )


def lines(cells: pd.DataFrame) -> list[str]:
    """Return the lines that a page has of the cells."""
    if cells.empty or "metric" not in cells:
        return ["", "Nothing is measured yet.", ""]
    models = cells[cells["model"].notna()]
    models = models.assign(binary=models["binary"].astype(bool), rows=models["rows"].astype(int))
    tables = tables_of(gaps_of(models))
    page = ["", provenance(models), "", "## Where ours is behind", ""]
    page += [
        "Tables are listed by how far the best black box, chosen in hindsight, is ahead of ours with pairs and "
        "triples, as many as pay.", "",
    ]  # fmt: skip
    for binary, title in KINDS.items():
        leads, even = lead(tables, binary), EVEN_AUC if binary else EVEN_RMSE
        words = f"{even} AUC" if binary else f"{even:.1%} RMSE"
        n_behind = int((leads > even).sum())
        page += [
            f"**{title}**: a black box is ahead by more than {words} on {n_behind} of {len(leads)} tables. "
            f"{BY_TABLE[binary]}", "", *markdown(wide(tables, binary)), "",
        ]  # fmt: skip
    page += [
        "## Over all tables", "",
        f"Each model beside `{READABLE}`: medians over tables (of numbers + of two classes), and in brackets the half "
        "of the tables in the middle. RMSE and log loss above ours (+) are in our favour, and AUC below it (-). Even: "
        f"within {EVEN_RMSE:.1%} of RMSE, or {EVEN_AUC} of AUC. What was measured on fewer tables or splits is "
        "compared on those alone. Seconds: geometric means of ratios.", "",
        *markdown(summary(tables)), "",
    ]  # fmt: skip
    page += ["## Seconds", "", seconds_words(tables), "", *searches(cells)]
    return [*page, *measured(models)]


def measured(models: pd.DataFrame) -> list[str]:
    """Return what was measured and what was not, cell by cell."""
    n_cells = int(models["metric"].notna().sum())
    failed = models[models["error"].notna()] if "error" in models else models.iloc[:0]
    parts = [
        "## What was measured, and what was not", "",
        f"{n_cells:,} fits of {models['table'].nunique()} tables. The first so many of five splits:", "",
        *splits_of(models), "",
    ]  # fmt: skip
    if len(failed):
        parts += ["Fits that ended with an error:", ""]
        parts += [f"- {row.table}, {row.model}, split {row.seed + 1:.0f}: `{row.error}`" for row in failed.itertuples()]
    return parts
