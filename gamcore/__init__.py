"""Generalized additive models by fast subagged boosting: models that people can read.

>>> from gamcore import GAMClassifier
>>> model = GAMClassifier(random_state=0).fit(X, y)  # doctest: +SKIP
>>> model.explain_shape("age").frame()  # doctest: +SKIP
"""

from gamcore._version import __version__
from gamcore.boosting import Progress
from gamcore.estimators import GAMClassifier, GAMRegressor, load_model, rank_pairs, suggest_segments
from gamcore.kernels.warm import warmup
from gamcore.modelfile import ModelFileError
from gamcore.presets import PRESETS, TASK_PRESETS
from gamcore.table import TableError
from gamcore.taskestimators import MultiTaskTreesClassifier, MultiTaskTreesRegressor

__all__ = [
    "PRESETS",
    "TASK_PRESETS",
    "GAMClassifier",
    "GAMRegressor",
    "ModelFileError",
    "MultiTaskTreesClassifier",
    "MultiTaskTreesRegressor",
    "Progress",
    "TableError",
    "__version__",
    "load_model",
    "rank_pairs",
    "suggest_segments",
    "warmup",
]
