"""Figures 6 to 9 of Lou et al. 2020 on simulated customers: `python -m benchmarks.boosting.renewal`.

Figure 6 is the flow of `sample_data.dialogue`, read from its events: the share of those at each step who go on to each
other one, beside the probability that the truth gives them. An edge is a scenario; where it is one of Table 5, its
rows are held against those of the dialogue's own target. Figure 7 is four curves of the sample funnel `renewal`, each
of a step against dropping out: how the score differs between two sides, beside the truth. Figures 8 and 9 are the
sample experiment `renewal`: the lift of each outcome over all days beside the true one, and its first clear day.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.harness.page import markdown
from gamcore import GAMClassifier, edge_outcomes, read_flow
from gamcore.common.numbers import percent
from gamcore.decide.arms import ArmsTest, read_arms
from gamcore.decide.by_day import by_day
from sample_data.dialogue import N_ROWS, SCENARIOS, dialogue, flow_chances, scores
from sample_data.generate import HERE, LIFTS, renewal, would_be

EDGES: Final = {("overview", "renew"): SCENARIOS[0]}
"""Edges that are a scenario of Table 5; the others there leave some customers out."""

FIGURES: Final = {
    "entry_1_click": ("8(a)", "clicks at entry 1", "about 19%"),
    "entry_1_stayed": ("8(b)", "1 - bounce rate, entry 1", "about 9%"),
    "entry_2_click": ("9(a)", "clicks at entry 2", "not significant"),
    "entry_2_stayed": ("9(b)", "1 - bounce rate, entry 2", "about 25%"),
}
"""Outcomes of the sample experiment: the figure, what it shows, and the lift as printed."""


@dataclass(frozen=True)
class Shape:
    """A curve of Figure 7: the step whose score it moves, its feature, the sides that are compared, the first of them
    where the paper's curve is higher, and what the truth adds to the score."""

    step: str
    feature: str
    high: str | tuple[int, int]
    low: str | tuple[int, int]
    truth: Callable[[pd.Series], Any]

    def at(self, values: pd.Series, side: str | tuple[int, int]) -> NDArray[np.bool_]:
        """Return which of some values are on a side."""
        return (values.eq(side) if isinstance(side, str) else values.between(*side)).to_numpy()


SHAPES: Final = (
    Shape("renew", "sex", "female", "male", lambda sex: 0.7 * (sex == "female")),
    Shape("renew", "position_clicks", (0, 3), (4, 60), lambda clicks: 0.9 * (clicks <= 3)),
    Shape("lower risk", "balance", (24_000, 120_000), (2_000, 6_000),
          lambda balance: 1.1 * np.tanh(2 * np.log(balance / 12_000))),
    Shape("other assets", "fund_visits", (4, 9), (0, 3), lambda visits: 1.3 * (visits >= 4)),
)  # fmt: skip

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
            {"edge": edge.name(), "of": edge.reached, "share": percent(edge.share),
             "95%": " to ".join(percent(end) for end in edge.interval),
             "true": percent(true[ends]),
             "rows alike": "" if scenario is None else
             bool((customers[scenario].to_numpy()[place] == taken["outcome"]).all())}
        )  # fmt: skip
    return pd.DataFrame(rows).set_index("edge")


def shapes() -> pd.DataFrame:
    """Return by how much each curve is higher on one side than on the other, a mean over rows, and the true number."""
    customers = renewal()
    rows, models = [], {}
    for shape in SHAPES:
        part = customers[customers["step"].isin([shape.step, "drop"])]
        X, y = (
            part.drop(columns=["step", "customer_id", "confirm_page_seconds"]),
            part["step"].eq(shape.step).astype(int),
        )
        if shape.step not in models:
            models[shape.step] = GAMClassifier(random_state=0, n_jobs=1).fit(X, y)
        parts = models[shape.step].explain_rows(X).contributions[:, X.columns.get_loc(shape.feature)]
        true = np.asarray(shape.truth(X[shape.feature]), np.float64)
        high, low = (shape.at(X[shape.feature], side) for side in (shape.high, shape.low))
        sides = [side if isinstance(side, str) else f"{side[0]:,} to {side[1]:,}" for side in (shape.high, shape.low)]
        by = {
            what: f"{values[high].mean() - values[low].mean():.2f}" for what, values in (("by", parts), ("true", true))
        }
        rows.append({"clicks": shape.step, "feature": shape.feature, "higher at": sides[0], "than at": sides[1], **by})
    return pd.DataFrame(rows).set_index("clicks")


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
             days.day_words(clear)}
        )  # fmt: skip
    return pd.DataFrame(table).set_index("figure")


def main() -> None:
    """Measure, and print the tables."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--rows", type=int, default=N_ROWS, help="customers of the dialogue")
    asked = options.parse_args()
    rows = pd.read_parquet(HERE / "renewal_experiment.parquet")
    for table in (flow(asked.rows), shapes(), lifts(rows)):
        print("\n".join(markdown(table)), end="\n\n")


if __name__ == "__main__":
    main()
