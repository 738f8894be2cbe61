"""Compile the kernels of an ordinary fit before somebody waits for them."""

from __future__ import annotations

import numpy as np

from gamcore.kernels import N_CODES, SUM, histogram, rows, step
from gamcore.kernels.layout import LOGISTIC, Rows, Sets, Settings, Table, make_fit, make_work


def warmup() -> None:
    """Compile, or load from the cache, every kernel that a default fit calls; well under a second where cached."""
    n = 8
    table = Table(
        np.ones((1, n), np.uint8),
        np.array([0, 4, n]),
        np.ones(1, np.int64),
        np.zeros(1, np.bool_),
        np.zeros(1, np.int64),
    )
    for loss in (LOGISTIC, 1 - LOGISTIC):
        logistic = loss == LOGISTIC
        state = Rows(np.ones(n, SUM), np.zeros(n if logistic else 0, np.uint8), np.empty(0, SUM))
        weight = np.zeros((1, 0 if logistic else 1, N_CODES), SUM)
        sets = Sets(np.array([0]), np.zeros((1, 1, 1), np.int64), weight)
        if not logistic:
            histogram.weigh_groups(table, state.weight, sets.train, weight)
        fit = make_fit(1, loss)
        settings = Settings(loss, False, 0.1, 2, 5.0, 10.0, 1)
        hist = np.zeros((1, 2 * N_CODES), SUM)
        step.grouped_round(table, state, sets, fit, settings, 0, make_work(1, False), hist)
        step.settle(table, state, sets.train, fit, loss)
        step.catch_up(table, state, np.array([1]), fit.moved, loss, fit.factor.copy())
        rows.rescore(table, state, np.zeros(n), fit.curves, loss)
        rows.total_loss(state, 0, n, loss)
