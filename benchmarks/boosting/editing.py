"""Prices of edits by hand: `python -m benchmarks.boosting.editing --data DIR [--edits N]`.

Random edits of each public table's curves are priced as the app does, all others learnt anew by one refit beside one
refit without the edit, and compared with the true loss after a full refit around the edit, on test rows. Then curves
are redrawn along the edge of the region that is told to be equally good.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.boosting.peers import split
from benchmarks.harness.machine import describe
from benchmarks.harness.page import markdown
from gamcore import GAMClassifier, GAMRegressor
from gamcore.additions.editing import edit, edit_price, refit_others, with_edits
from gamcore.additions.editing.edits import IN_ORDER, OPERATIONS, WITH_VALUE, Edit, Where
from gamcore.data.binning import Bins
from gamcore.explain.room import room_of
from tests.support.real_tables import BINARY, REGRESSION, read

SHARE, REDRAWN = 0.01, 8
REGION_WORDS = (
    "Curves redrawn to the edge of the region in which the loss is told to rise by 1%, all others learnt anew:"
)
CLEAR = 0.01
"""Change of the loss, as a share of it, above which an edit counts as one that matters."""


def where(bins: Bins, rng: np.random.Generator) -> Where:
    """Return random neighbouring cells of a feature."""
    low, high = np.sort(rng.choice(bins.n_values + 1, 2, replace=False))
    if bins.feature.is_category:
        return Where(levels=tuple(level for k in range(low, high) for level in bins.members[k]))
    end = float(bins.display[high]) if high < bins.n_values else None
    return Where(float(bins.display[low]), end, date=bins.feature.kind == "date")


def edited(model: Any, rng: np.random.Generator) -> Any:
    """Return a model with one random edit, of a curve drawn by its importance."""
    sizes = np.array([term.importance for term in model.model_.terms])
    j = int(rng.choice(sizes.size, p=sizes / sizes.sum()))
    bins, term = model.model_.bins[j], model.model_.terms[j]
    possible = [name for name in OPERATIONS if name != "centre" and not (bins.feature.is_category and name in IN_ORDER)]
    operation = possible[rng.integers(len(possible))]
    value = float(rng.normal() * term.scores.std()) if operation in WITH_VALUE else None
    return edit(model, bins.feature.name, operation, where(bins, rng), value)


def prices(data: Path, name: str, n_edits: int) -> list[dict[str, Any]]:
    """Return a line per edit: loss before, told and true loss with all others learnt anew, and seconds."""
    table = read(data, name)
    X, X_test, y, y_test = split(table, 0)
    kind: Any = GAMClassifier if table.classifier else GAMRegressor
    model = kind(random_state=0, n_jobs=2).fit(X, y)
    quick = refit_others(model, X, y, quick=True)

    def loss(priced_model: Any) -> float:
        return float(edit_price(priced_model, X_test, y_test, before=model).loss_after)

    before, rng, lines = loss(model), np.random.default_rng(0), []
    for _ in range(n_edits):
        altered = edited(model, rng)
        began = time.perf_counter()
        priced = before + loss(refit_others(altered, X, y, quick=True)) - loss(quick)
        seconds = time.perf_counter() - began
        lines.append({"table": name, "before": before, "alone": loss(altered), "told": priced,
                      "true": loss(refit_others(altered, X, y)), "seconds": seconds})  # fmt: skip
    return lines


def region(data: Path, name: str) -> dict[str, Any]:
    """Return how the test loss rises where curves are redrawn to the edge of the region of `SHARE`, all others learnt
    anew; and the share of rows for which the curves of models with other seeds lie inside."""
    table = read(data, name)
    X, X_test, y, y_test = split(table, 0)
    kind: Any = GAMClassifier if table.classifier else GAMRegressor
    model = kind(random_state=0, n_jobs=2).fit(X, y)
    began = time.perf_counter()
    room = room_of(model.model_, model._read_known(X, y, {}, in_training=True))
    seconds, rng, rises = time.perf_counter() - began, np.random.default_rng(0), []
    before = edit_price(model, X_test, y_test).loss_before
    unit = np.sqrt(SHARE * before)
    while len(rises) < REDRAWN:
        j = int(rng.integers(len(model.model_.bins)))
        seen = np.flatnonzero(model.model_.terms[j].counts[1:-1] > 0) + 1
        move = unit * room.redrawing(j, int(rng.choice(seen))) if seen.size else np.zeros(1)
        if move.any():
            around = refit_others(redrawn(model, j, move), X, y)
            rises.append(edit_price(around, X_test, y_test, before=model).loss_after / before - 1)
    inside = []
    for seed in range(1, 4):
        other = kind(random_state=seed, n_jobs=2).fit(X, y)
        for j, (mine, theirs) in enumerate(zip(model.model_.terms, other.model_.terms, strict=True)):
            within = np.abs(theirs.scores - mine.scores) <= unit * room.width(j) + 1e-9
            inside.append(np.average(within, weights=mine.counts))
    return {
        "table": name, "true, %, median": 100 * np.median(rises),
        "lowest": 100 * min(rises), "highest": 100 * max(rises),
        "other seeds inside, % of rows": 100 * np.mean(inside), "seconds": seconds,
    }  # fmt: skip


def redrawn(model: Any, j: int, move: np.ndarray) -> Any:
    """Return a model with a curve moved by (size,), bin by bin."""
    bins, scores = model.model_.bins[j], model.model_.terms[j].scores
    ends = [*bins.display.tolist(), None] if not bins.feature.is_category else []
    edits = []
    for k in range(1, bins.n_values + 1):
        part = Where(levels=bins.members[k - 1]) if bins.feature.is_category else Where(ends[k - 1], ends[k])
        edits.append(Edit((bins.feature.name,), "set", (part,), float(scores[k] + move[k])))
    return with_edits(model, edits)


def summary(all_prices: pd.DataFrame) -> pd.DataFrame:
    """Return per table how far told losses and told changes lie from the true ones."""
    off = (all_prices["told"] - all_prices["true"]).abs()
    change = (all_prices["true"] - all_prices["before"]).abs()
    matters = change > CLEAR * all_prices["before"]
    frame = all_prices.assign(off=off / all_prices["true"], of_change=(off / change).where(matters), matters=matters)
    by = frame.groupby("table", sort=False)
    return pd.DataFrame({
        "loss, % off at most": 100 * by["off"].max(),
        "edits that matter": by["matters"].sum(),
        "their change, % off, median": 100 * by["of_change"].median(),
        "at most": 100 * by["of_change"].max(),
        "seconds": by["seconds"].median(),
    })  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the public tables (Parquet)")
    parser.add_argument("--edits", type=int, default=25, help="per table")
    asked = parser.parse_args()
    lines = [line for name in [*REGRESSION, *BINARY] for line in prices(asked.data, name, asked.edits)]
    frame, machine = pd.DataFrame(lines), describe()
    within = float(((frame["told"] - frame["true"]).abs() <= 0.1 * frame["true"]).mean())
    words = (
        f"Of {len(frame)} edits, the told loss is within 10% of the true one in {100 * within:.1f}%. Measured on "
        f"{machine['processor']}, {machine['cores']} cores."
    )
    regions = pd.DataFrame([region(asked.data, name) for name in [*REGRESSION, *BINARY]]).set_index("table")
    page = [words, "", *markdown(summary(frame)), "", REGION_WORDS, "", *markdown(regions)]
    print("\n".join(page))


if __name__ == "__main__":
    main()
