"""The models that are compared on every kind of target, each with the loss of that kind.

All are additive: EBM without pairs, LightGBM with one cut per tree, and scikit-learn's generalized linear models on
scaled numbers or on twenty bins per number. Exposures are given in each library's own way: as an argument (ours), as
scores to add to (EBM, LightGBM), or as weights of rates (linear models, for which that is the same).
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler

from benchmarks.boosting.target_trials import EXPOSURE, Kind, Trial
from benchmarks.harness.contenders import (
    MOST_JOBS,
    PATIENCE,
    Contender,
    Frames,
    held_out,
    make_ebm,
    make_lightgbm,
    make_ours,
)

OURS: Final = "ours"
EBM: Final = ("ebm-8", "ebm")
"""With as many outer bags as ours, and with its own number."""

BINS: Final = 20
NEEDED: Final = 600.0
"""Seconds that a linear quantile gets, which is a linear program of as many constraints as rows."""

Values = NDArray[np.float64]


def apart(X: pd.DataFrame) -> tuple[pd.DataFrame, Values | None]:
    """Return the features without the exposure, and the exposure (n,) if there is one."""
    return (X.drop(columns=EXPOSURE), X[EXPOSURE].to_numpy(float)) if EXPOSURE in X else (X, None)


def predict(model: Any, X: Any, **given: Any) -> Values:
    """Return predictions (n,), or probabilities (n, K)."""
    return np.asarray(getattr(model, "predict_proba", model.predict)(X, **given))


def _fit_ours(model: Any, X: pd.DataFrame, y: NDArray[Any], seed: int) -> None:
    X, exposure = apart(X)
    model.fit(X, y, **({} if exposure is None else {"exposure": exposure}))


def _ask_ours(model: Any, X: pd.DataFrame) -> Values:
    X, exposure = apart(X)
    return predict(model, X, **({} if exposure is None else {"exposure": exposure}))


def _fit_ebm(model: Any, X: pd.DataFrame, y: NDArray[Any], seed: int) -> None:
    X, exposure = apart(X)
    with warnings.catch_warnings(action="ignore"):
        model.fit(X, y, init_score=None if exposure is None else np.log(exposure))


def _ask_ebm(model: Any, X: pd.DataFrame) -> Values:
    X, exposure = apart(X)
    return predict(model, X, init_score=None if exposure is None else np.log(exposure))


def _fit_lightgbm(model: Any, X: pd.DataFrame, y: NDArray[Any], seed: int) -> None:
    """Fit with held-out rows; beside given scores LightGBM starts at 0, so the overall rate is part of them."""
    from lightgbm import early_stopping

    X, y, X_held, y_held = held_out(X, y, seed)
    (X, exposure), (X_held, exposure_held) = apart(X), apart(X_held)
    given = {}
    if exposure is not None and exposure_held is not None:
        model.rate_ = y.sum() / exposure.sum()
        given = {
            "init_score": np.log(exposure * model.rate_),
            "eval_init_score": [np.log(exposure_held * model.rate_)],
        }
    with warnings.catch_warnings(action="ignore"):  # newer versions want eval_X and eval_y, which older ones lack
        model.fit(X, y, eval_set=[(X_held, y_held)], callbacks=[early_stopping(PATIENCE, verbose=False)], **given)


def _ask_lightgbm(model: Any, X: pd.DataFrame) -> Values:
    X, exposure = apart(X)
    if exposure is None:
        return predict(model, X)
    return np.asarray(exposure * model.rate_ * np.exp(model.predict(X, raw_score=True)))


def _as_design(X: pd.DataFrame, X_test: pd.DataFrame, binned: bool) -> Frames:
    """Return frames of columns for a linear model: one per level, and one per number or per bin of a number."""
    number, level = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
    numbers = KBinsDiscretizer(BINS, encode="onehot-dense") if binned else StandardScaler()
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    design = make_column_transformer((numbers, number), (levels, level), verbose_feature_names_out=False)
    design.set_output(transform="pandas")
    (X, exposure), (X_test, exposure_test) = apart(X), apart(X_test)
    with warnings.catch_warnings(action="ignore"):  # few values make few bins
        frames = design.fit_transform(X), design.transform(X_test)
    if exposure is None:
        return frames
    return frames[0].assign(**{EXPOSURE: exposure}), frames[1].assign(**{EXPOSURE: exposure_test})


def _fit_linear(model: Any, X: pd.DataFrame, y: NDArray[Any], seed: int) -> None:
    X, exposure = apart(X)
    if exposure is None:
        model.fit(X, y)
    else:
        model.fit(X, y / exposure, sample_weight=exposure)


def _ask_linear(model: Any, X: pd.DataFrame) -> Values:
    X, exposure = apart(X)
    return predict(model, X) * (1.0 if exposure is None else exposure)


def _linear(kind: Kind, binned: bool) -> Contender:
    name, parameters = kind.linear
    return Contender(
        (),
        "sklearn.linear_model",
        (name, name),
        dict(parameters),
        {},
        prepare=partial(_as_design, binned=binned),
        fit=_fit_linear,
        ask=_ask_linear,
        seeded=False,
        most_seconds=NEEDED,
    )


def contenders(kind: Kind) -> dict[str, Contender]:
    """Return the models of a kind of target, by name."""
    ours = make_ours("balanced", MOST_JOBS)
    ours = replace(ours, parameters=ours.parameters | kind.ours, fit=_fit_ours, ask=_ask_ours)
    ebm = [make_ebm(objective=kind.ebm, **more) for more in ({"outer_bags": 8}, {})]
    lightgbm = make_lightgbm(num_leaves=2, learning_rate=0.1, n_estimators=20_000, **kind.lightgbm)
    return {
        OURS: ours,
        **{
            name: replace(ebm_contender, fit=_fit_ebm, ask=_ask_ebm)
            for name, ebm_contender in zip(EBM, ebm, strict=True)
        },
        "lightgbm-additive": replace(lightgbm, fit=_fit_lightgbm, ask=_ask_lightgbm),
        "linear": _linear(kind, binned=False),
        "linear-binned": _linear(kind, binned=True),
    }


def missing(trial: Trial) -> dict[str, str]:
    """Return why models cannot be fitted to a table, by name, without trying."""
    return {} if trial.kind.ebm else dict.fromkeys(EBM, "EBM has no such objective")
