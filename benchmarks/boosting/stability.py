"""How far shapes vary by chance: `python -m benchmarks.boosting.stability --data DIR --json DIR`.

The same rows are fitted five times: by each preset with another seed; in the paper's setting with the columns in
another order, as far at three learning rates; and there with another seed, with 1, 10 and 100 bags. Each curve's
figure is the standard deviation of its bins over the five, averaged over rows; a table's figure is the mean over its
curves, in units of the standard deviation of the model's scores.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from benchmarks.boosting.takeaway import some_of
from benchmarks.harness.arguments import parser
from benchmarks.harness.cells import keep, load_all
from benchmarks.harness.machine import describe
from benchmarks.harness.page import markdown
from gamcore import PRESETS, GAMClassifier, GAMRegressor, warmup
from gamcore.model.additive import Term
from tests.support.real_tables import RealTable, read

TIMES: Final = range(5)
FASTER: Final = {"early_stopping_rounds": 20}
"""In the paper's setting at a rate of .1: twice as far as its 100 rounds of .01 go."""


@dataclass(frozen=True)
class Setting:
    """A setting, and whether its five fits differ in the order of the columns or in the seed."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    ordered: bool = False


PAPER: Final = PRESETS["paper"]


def as_far(rate: float) -> Setting:
    """Return the paper's setting at another rate, as far without validation rows as 1,000 rounds of .01 go."""
    rounds = {"learning_rate": rate, "max_rounds": round(10.0 / rate), "validation_fraction": 0}
    return Setting({**PAPER, **rounds}, ordered=True)


SETTINGS: Final = {name: Setting(PRESETS[name]) for name in ("fast", "balanced", "accurate")} | {
    **{f"columns, {round(10.0 / rate):,} rounds of {rate:g}": as_far(rate) for rate in (0.4, 0.1, 0.01)},
    "columns, stopped, rate 0.01": Setting(PAPER, ordered=True),
    "seeds, 1 bag": Setting({**PAPER, **FASTER, "learning_rate": 0.1, "n_bags": 1}),
    "seeds, 10 bags": Setting({**PAPER, **FASTER, "learning_rate": 0.1, "n_bags": 10}),
    "seeds, 100 bags": Setting({**PAPER, **FASTER, "learning_rate": 0.1}),
}


def unsteadiness(fits: Sequence[Mapping[str, Term]]) -> float:
    """Return the mean over curves of the row-weighted SD over fits, as a share of the SD of the scores.

    fits : the curves of each, by the names of their features.
    """
    spread, size = [], []
    for name, term in fits[0].items():
        scores = np.stack([fit[name].scores for fit in fits])
        spread.append(np.average(scores.std(axis=0, ddof=1), weights=term.counts))
        size.append(np.average(scores.mean(axis=0) ** 2, weights=term.counts))
    return float(np.mean(spread) / np.sqrt(np.sum(size)))


def curves(table: RealTable, setting: Setting, time_: int) -> dict[str, Term]:
    """Return the curves of a fit by the names of their features."""
    columns = table.X.columns.to_numpy()
    if setting.ordered:
        columns = np.random.default_rng(time_).permutation(columns)
    kind = GAMClassifier if table.binary else GAMRegressor
    model = kind(**setting.parameters, random_state=0 if setting.ordered else time_).fit(table.X[columns], table.y)
    return {str(columns[term.feature]): term for term in model.model_.terms}


def main() -> None:
    """Measure what is missing; print a row per setting and a column per table."""
    options = parser(__doc__, ["compact", "bike", "calhousing", "magic", "bank"])
    options.add_argument("--settings", nargs="*", default=list(SETTINGS), choices=SETTINGS)
    options.add_argument("--rows", type=int, help="of each table, drawn at random; all where not given")
    asked = options.parse_args()
    warmup()
    for name in asked.tables:
        table = some_of(read(asked.data, name), asked.rows)
        for setting in asked.settings:
            out = asked.json / f"{name}-{setting}.json".replace(" ", "-")
            if out.exists():
                continue
            started = time.process_time()
            value = unsteadiness([curves(table, SETTINGS[setting], time_) for time_ in TIMES])
            seconds = (time.process_time() - started) / len(TIMES)
            about = {"table": name, "setting": setting, "rows": len(table.y), "machine": describe()}
            keep(out, about | {"unsteadiness": value, "CPU seconds": seconds})
            print(f"{name:12} {setting:20} {value:.4f}  {seconds:.1f} CPU seconds a fit", flush=True)
    cells = load_all(asked.json)[lambda all_: all_["setting"].isin(asked.settings) & all_["table"].isin(asked.tables)]
    shares = cells.pivot_table(index="setting", columns="table", values="unsteadiness").map("{:.2%}".format)
    print("\n".join(["", *markdown(shares.loc[asked.settings, asked.tables]), ""]))


if __name__ == "__main__":
    main()
