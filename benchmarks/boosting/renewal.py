"""Figures 6, 8 and 9 of Lou et al. 2020 on simulated customers: `python -m benchmarks.boosting.renewal [--doc FILE]`.

Figure 6 is the flow of `sample_data.dialogue`, read from its events: the share of those at each step who go on to each
other one, beside the probability that the truth gives them. An edge is a scenario; where it is one of Table 5, its
rows are held against those of the dialogue's own target. Figures 8 and 9 are the sample experiment `renewal`: what
each arm did at each entry, by day, and the lift over all days beside the true one.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from benchmarks.harness.page import markdown, publish
from gamcore import edge_outcomes, read_flow
from gamcore.decide.arms import ArmsTest, read_arms
from gamcore.decide.by_day import by_day
from gamcore.numbers import percent
from sample_data.dialogue import N_ROWS, SCENARIOS, dialogue, flow_chances, scores
from sample_data.generate import HERE, LIFTS, would_be

MARKS: Final = ("<!-- renewal -->", "<!-- /renewal -->")
EDGES: Final = {("overview", "renew"): SCENARIOS[0]}
"""Edges that are a scenario of Table 5; the others there leave some customers out."""

FIGURES: Final = {
    "entry_1_click": ("8(a)", "clicks at entry 1", "about 19%"),
    "entry_1_stayed": ("8(b)", "1 - bounce rate, entry 1", "about 9%"),
    "entry_2_click": ("9(a)", "clicks at entry 2", "not significant"),
    "entry_2_stayed": ("9(b)", "1 - bounce rate, entry 2", "about 25%"),
}
"""Outcomes of the sample experiment: the figure, what it shows, and the lift as printed."""

TEST: Final = ArmsTest("arm", "control", {name: "expected null" if name == "entry_2_click" else "primary"
                                          for name in FIGURES})  # fmt: skip


def flow(n: int) -> pd.DataFrame:
    """Return an edge per row: how many take it, of how many, their share with its interval, and the true one."""
    customers, events = dialogue(n)
    true = flow_chances(scores(customers))
    rows = []
    for edge in read_flow(events, "customer", "step", "time").edges:
        ends = (edge.source, edge.target)
        taken = edge_outcomes(events, "customer", "step", "time", edge=ends)
        place = taken["case"].astype(int).to_numpy()
        scenario = EDGES.get(ends)
        rows.append(
            {"edge": edge.name(), "take it": edge.n, "of": edge.reached, "share": percent(edge.share),
             "95%": " to ".join(percent(end) for end in edge.interval),
             "true": percent(true[ends]),
             "scenario": "" if scenario is None else scenario,
             "rows alike": "" if scenario is None else
             bool((customers[scenario].to_numpy()[place] == taken["outcome"]).all())}
        )  # fmt: skip
    return pd.DataFrame(rows).set_index("edge")


def lifts(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the lift of each outcome over all days, its first clear day, and the printed and the true lift."""
    strategy = would_be(rows)
    measured = read_arms(rows, TEST)
    table = []
    for effect in measured.effects:
        figure, words, printed = FIGURES[effect.metric]
        true = np.mean([LIFTS[name][effect.metric] if name else 0.0 for name in strategy])
        days = by_day(rows, TEST, effect.metric, "day")
        clear = days.cleared(effect.strategy)
        table.append(
            {"figure": figure, "outcome": words, "lift, printed": printed, "lift": percent(effect.lift),
             "95%": " to ".join(percent(end) for end in effect.lift_interval), "true": percent(float(true)),
             "p, adjusted": f"{effect.p_adjusted:.2g}", "first day that is clear": "none" if np.isnan(clear) else
             days.said(clear)}
        )  # fmt: skip
    return pd.DataFrame(table).set_index("figure")


def daily(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what each arm did on each day, by outcome."""
    columns = {}
    for metric, (figure, _, _) in FIGURES.items():
        by_arm = rows.pivot_table(index="day", columns="arm", values=metric)
        for arm in by_arm:
            columns[f"{figure} {arm}"] = by_arm[arm].map(percent)
    frame = pd.DataFrame(columns)
    return frame.set_axis(frame.index.strftime("%Y-%m-%d"), axis=0).rename_axis("day")


def main() -> None:
    """Measure, and print the tables."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--rows", type=int, default=N_ROWS, help="customers of the dialogue")
    options.add_argument("--doc", type=Path, help="a page between whose marks the tables go")
    asked = options.parse_args()
    rows = pd.read_parquet(HERE / "renewal_experiment.parquet")
    tables = {
        "Figure 6: the flow": flow(asked.rows),
        "Figures 8 and 9: over all days": lifts(rows),
        "Figures 8 and 9: by day and arm": daily(rows),
    }
    written = [line for title, table in tables.items() for line in ("", f"#### {title}", "", *markdown(table))]
    publish([*written, ""], asked.doc, MARKS)


if __name__ == "__main__":
    main()
