"""Generalized additive models by fast subagged boosting: models that people can read.

>>> from gamcore import GAMClassifier
>>> model = GAMClassifier(random_state=0).fit(X, y)  # doctest: +SKIP
>>> model.explain_shape("age").frame()  # doctest: +SKIP

Names are imported on first use, so importing one part of the library does not load the others. Those of the additions
that are there come with them, such as `from gamcore import edit`; `dir(gamcore)` has all.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gamcore.common.version import __version__

if TYPE_CHECKING:
    from gamcore.boosting.running.progress import Progress
    from gamcore.data.columns import TableError
    from gamcore.estimators.bands import add_bands
    from gamcore.estimators.effect import EffectGAM
    from gamcore.estimators.explained import explain_triple, rows_inside, smallest_changes
    from gamcore.estimators.fewer import fewer_curves
    from gamcore.estimators.gam import GAMClassifier, GAMRegressor, suggest_segments
    from gamcore.estimators.intervals import fit_intervals, predict_interval, uncertainty
    from gamcore.estimators.multitask import MultiTaskTreesClassifier, MultiTaskTreesRegressor
    from gamcore.estimators.presets import PRESETS, TASK_PRESETS
    from gamcore.estimators.ranking import pair_ranking, pair_worth, rank_pairs, triple_worth
    from gamcore.estimators.reading import report
    from gamcore.estimators.saved import load_model
    from gamcore.estimators.scorecard import scorecard
    from gamcore.estimators.seen_rows import Sample
    from gamcore.estimators.updating import count_rows, merge_counts, price_by_counts, refit_by_counts, update
    from gamcore.io.checks import ModelFileError
    from gamcore.io.tables_file import load_tables, save_tables
    from gamcore.kernels.warmup import warmup

__all__ = [
    "PRESETS",
    "TASK_PRESETS",
    "EffectGAM",
    "GAMClassifier",
    "GAMRegressor",
    "ModelFileError",
    "MultiTaskTreesClassifier",
    "MultiTaskTreesRegressor",
    "Progress",
    "Sample",
    "TableError",
    "__version__",
    "add_bands",
    "count_rows",
    "explain_triple",
    "fewer_curves",
    "fit_intervals",
    "load_model",
    "load_tables",
    "merge_counts",
    "pair_ranking",
    "pair_worth",
    "predict_interval",
    "price_by_counts",
    "rank_pairs",
    "refit_by_counts",
    "report",
    "rows_inside",
    "save_tables",
    "scorecard",
    "smallest_changes",
    "suggest_segments",
    "triple_worth",
    "uncertainty",
    "update",
    "warmup",
]

_HOME = {
    "EffectGAM": "estimators.effect",
    "PRESETS": "estimators.presets",
    "TASK_PRESETS": "estimators.presets",
    "GAMClassifier": "estimators.gam",
    "GAMRegressor": "estimators.gam",
    "ModelFileError": "io.manifest",
    "MultiTaskTreesClassifier": "estimators.multitask",
    "MultiTaskTreesRegressor": "estimators.multitask",
    "Progress": "boosting.running.progress",
    "Sample": "estimators.seen_rows",
    "TableError": "data.columns",
    "add_bands": "estimators.bands",
    "pair_ranking": "estimators.ranking",
    "pair_worth": "estimators.ranking",
    "triple_worth": "estimators.ranking",
    "report": "estimators.reading",
    "rows_inside": "estimators.explained",
    "explain_triple": "estimators.explained",
    "smallest_changes": "estimators.explained",
    "count_rows": "estimators.updating",
    "fewer_curves": "estimators.fewer",
    "fit_intervals": "estimators.intervals",
    "load_model": "estimators.saved",
    "load_tables": "io.tables_file",
    "merge_counts": "estimators.updating",
    "predict_interval": "estimators.intervals",
    "price_by_counts": "estimators.updating",
    "rank_pairs": "estimators.ranking",
    "refit_by_counts": "estimators.updating",
    "save_tables": "io.tables_file",
    "scorecard": "estimators.scorecard",
    "suggest_segments": "estimators.gam",
    "uncertainty": "estimators.intervals",
    "update": "estimators.updating",
    "warmup": "kernels.warmup",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    elif not name.startswith("_") and name in _additions().public_names:
        value = _additions().public(name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_additions().public_names})


def _additions() -> Any:
    """Return what stands beside the core."""
    return import_module(f"{__name__}.common.seam").ADDITIONS
