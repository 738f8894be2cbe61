"""Methods of estimators in 0.1, and the functions that they are now: these take the model first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gamcore.estimators.bands import add_bands
from gamcore.estimators.explained import rows_inside, smallest_changes
from gamcore.estimators.intervals import fit_intervals, predict_interval
from gamcore.estimators.ranking import pair_ranking, pair_worth
from gamcore.estimators.reading import report
from gamcore.estimators.updating import count_rows, merge_counts, price_by_counts, refit_by_counts, update

METHODS: Final[dict[str, Callable[..., Any]]] = {
    "add_bands": add_bands, "fit_intervals": fit_intervals, "predict_interval": predict_interval, "update": update,
    "count": count_rows, "merge": merge_counts, "price_by_counts": price_by_counts, "refit_by_counts": refit_by_counts,
    "rank_pairs": pair_ranking, "pair_worth": pair_worth, "rows_inside": rows_inside,
    "smallest_changes": smallest_changes, "report": report,
}  # fmt: skip
