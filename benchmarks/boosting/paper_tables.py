"""The tables of Lou et al. 2020 reproduced from the cells of `benchmarks.boosting.paper`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.harness.cells import load, load_all
from benchmarks.harness.page import markdown


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


PRINTED = {"MART": "up to 3.7", "Logit": "up to 7"}
KINDS = {"the paper's order": "mst", "grouped bags": "grouped"}
"""Figure 4: the printed factors, and the ways of adding up that are held against MART with bagging."""
ORDER = "finding the order, in rounds"


def speedups(folder: Path) -> pd.DataFrame:
    """Return how many times as fast as MART with bagging each way is, least and most over alphas, by table; and how
    many rounds by the paper's order take as long as finding that order, where this was measured."""
    rows = [{"table": "printed, ten tables"} | {f"{kind}, the paper's order": text for kind, text in PRINTED.items()}]
    cells = load_all(folder, "figure4-*.json")
    for name, part in cells.groupby("table", sort=False) if len(cells) else ():
        row = {"table": name}
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
    return frame[[name for name in (*order, ORDER) if name in frame]].fillna("")


def _from_to(times: pd.Series) -> str:
    ends = [f"{value:.1f}" if value < 10 else f"{value:.0f}" for value in (times.min(), times.max())]
    return " to ".join(dict.fromkeys(ends))


def lines(folder: Path) -> list[str]:
    """Return Figure 3 and the times of one step as Markdown."""
    text = []
    for title, frame in (figure_3(folder) | one_step(folder)).items():
        text += [f"### {title}", "", *markdown(frame), ""]
    return text
