"""The tables of Lou et al. 2020 reproduced from the cells of `benchmarks.boosting.paper`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.boosting import standing
from benchmarks.harness.cells import load, load_all
from benchmarks.harness.page import markdown

ALPHAS_SHOWN = (0.5, 0.65, 0.8)
"""Of Figure 4: the ends and the middle of those measured."""


def over_first(seconds: pd.Series) -> pd.Series:
    """Return the seconds divided by those of the first variant."""
    return seconds / seconds.iloc[0]


def figure_3(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the rows read per bag, by alpha and strategy."""
    cells = load_all(folder, "figure3-*.json")
    if not len(cells):
        return {}
    frame = cells[["alpha", "rescan", "mst", "complement", "grouped"]].set_index("alpha")
    title = f"Figure 3: rows read for the histogram of a bag, as a share of all rows ({cells['bags'].max()} bags)"
    return {title: frame}


def one_step(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the milliseconds of a step, by variant."""
    cell = load(folder / "step.json")
    if not cell:
        return {}
    seconds = pd.Series(cell["seconds"])
    times = {
        "milliseconds": 1e3 * seconds,
        "over the first": over_first(seconds),
        "times as fast": 1 / over_first(seconds),
    }
    title = f"One step, logistic, {cell['rows']:,} synthetic rows, {cell['bags']} bags, alpha {cell['alpha']}"
    return {title: pd.DataFrame(times).rename_axis("variant")}


def figure_4(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the time relative to MART with bagging, by table, variant and alpha."""
    cells = load_all(folder, "figure4-*.json")
    made = {}
    for name in cells["table"].unique() if len(cells) else ():
        part = cells[(cells["table"] == name) & cells["alpha"].isin(ALPHAS_SHOWN)].sort_values("alpha")
        columns = {f"alpha {cell.alpha}": over_first(pd.Series(cell.seconds)) for cell in part.itertuples()}
        first = next(iter(part["seconds"].iloc[0]))
        title = f"Figure 4: {name}, time of {part['rounds'].iloc[0]} rounds over that of {first}"
        made[title] = pd.DataFrame(columns).rename_axis("variant")
    return made


PRINTED = {"MART": "up to 3.7", "Logit": "up to 7"}
KINDS = {
    "the paper's order": "mst", "complements": "complement", "membership": "mask", "grouped bags": "grouped",
}  # fmt: skip
"""Figure 4: the printed factors, and the ways of adding up that are held against MART with bagging."""
ORDER = "finding the order, in rounds"


def speedups(folder: Path) -> pd.DataFrame:
    """Return how many times as fast as MART with bagging each way is, least and most over alphas, by table; and how
    many rounds by the paper's order take as long as finding that order, where this was measured."""
    rows = [{"table": "printed, ten tables"} | {f"{kind}, the paper's order": text for kind, text in PRINTED.items()}]
    cells = load_all(folder, "figure4-*.json")
    for name, part in cells.groupby("table", sort=False) if len(cells) else ():
        row = {"table": name, "alphas": ", ".join(f"{alpha:g}" for alpha in sorted(part["alpha"]))}
        times = pd.DataFrame([1 / over_first(pd.Series(seconds)) for seconds in part["seconds"]])
        for way, end in KINDS.items():
            for variant in (column for column in times if column.endswith(end)):
                kind = "Logit" if variant.startswith("Logit") else "MART"
                row[f"{kind}, {way}"] = _from_to(times[variant])
        if order := load(folder / f"order-{name}.json"):
            rounds = part[part["alpha"] == order["alpha"]].iloc[0]
            by_order = next(seconds for way, seconds in rounds["seconds"].items() if way.endswith("mst"))
            row[ORDER] = f"{order['CPU seconds'] * rounds['rounds'] / by_order:.1f}"
        rows.append(row)
    frame = pd.DataFrame(rows).set_index("table")
    order = [f"{kind}, {way}" for kind in PRINTED for way in KINDS if f"{kind}, {way}" in frame]
    return frame[[name for name in ("alphas", *order, ORDER) if name in frame]].fillna("")


def _from_to(times: pd.Series) -> str:
    ends = [f"{value:.1f}" if value < 10 else f"{value:.0f}" for value in (times.min(), times.max())]
    return " to ".join(dict.fromkeys(ends))


def table_5(peers: Path | None) -> dict[str, pd.DataFrame]:
    """Return the test metrics of our model and of XGBoost with its defaults."""
    cells = standing.measured(load_all(peers)) if peers else pd.DataFrame()
    if not len(cells) or not {standing.BASE, "xgboost"} <= set(cells["model"]):
        return {}
    table = standing.overview(cells)
    pairs = zip(table["metric"], table["sd"].fillna(0.0), strict=True)
    table["shown"] = [f"{mean:.4g} ± {sd:.2g}" for mean, sd in pairs]
    frame = table.reset_index().pivot_table(index="table", columns="model", values="shown", aggfunc="first")
    frame = frame.reindex(index=standing.in_order(frame.index), columns=[standing.BASE, "xgboost"])
    return {"Table 5: test RMSE or AUC, ours and XGBoost, each with its defaults": frame}


def everything(folder: Path, peers: Path | None) -> dict[str, pd.DataFrame]:
    """Return all tables by title."""
    return figure_3(folder) | one_step(folder) | figure_4(folder) | table_5(peers)


def lines(folder: Path, peers: Path | None) -> list[str]:
    """Return all tables as Markdown."""
    made = []
    for title, frame in everything(folder, peers).items():
        made += [f"### {title}", "", *markdown(frame), ""]
    return made
