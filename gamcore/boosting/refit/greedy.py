"""Rounds in greedy order: each step is on the curve whose step lowers the loss most (Buehlmann and Hothorn 2007)."""

from __future__ import annotations

import numpy as np

from gamcore.boosting.refit.freedom import Freedom
from gamcore.boosting.refit.rounds import SmoothRounds
from gamcore.kernels import curve_step
from gamcore.kernels.layout import CodedTable, Fit, Rows, Sets, Settings
from gamcore.kernels.losses import Form, no_change, total_loss
from gamcore.kernels.smoothers import Smoothers


class GreedyRounds(SmoothRounds):
    """Rounds of as many steps as there are curves.

    freedom : of fits that are stopped by their AIC instead of validation rows.
    """

    def __init__(
        self,
        table: CodedTable,
        rows: Rows,
        sets: Sets,
        fit: Fit,
        settings: Settings,
        smoothers: Smoothers,
        freedom: Freedom | None,
    ) -> None:
        super().__init__(table, rows, sets=sets, fit=fit, settings=settings, smoothers=smoothers)
        self._freedom = freedom
        self._tried = fit._replace(
            curves=fit.curves.copy(), gains=np.zeros(table.last.size), steps=fit.steps.copy(),
            moved=np.zeros_like(fit.moved), pending=fit.pending.copy(), factor=fit.factor.copy(),
        )  # fmt: skip

    def round(self, settings: Settings, n_greedy: int) -> None:
        """Make steps, each on the feature that gains most; `n_greedy` is of rounds that go around."""
        for _ in range(self._table.active.size):
            best = self.best(settings)
            self.step(best, settings)
            if self._freedom:
                self._freedom.step(best, settings)

    def best(self, settings: Settings) -> int:
        """Return the feature whose step would lower the loss most."""
        tried, fit = self._tried, self._fit
        tried.gains[:] = -np.inf
        for j in self._table.active:
            hist = self.histogram(int(j), settings)
            fit.factor[:] = no_change(settings.loss)  # it has been applied
            tried.curves[j], tried.steps[j] = fit.curves[j], fit.steps[j]
            self.update(int(j), hist, tried, settings)
        return int(np.argmax(tried.gains))

    def criterion(self, valid_loss: float, settings: Settings) -> float:
        """Return the validation loss, or the corrected AIC of the training rows."""
        if self._freedom is None:
            return valid_loss
        return self._freedom.corrected_aic(self._squares(settings.loss))

    def _squares(self, loss: Form) -> float:
        """Return the sum of the training rows' losses."""
        groups, starts = self._sets.train, self._table.starts
        curve_step.settle(self._table, self._rows, groups, self._fit, loss)
        self._fit.factor[:] = no_change(loss)
        return sum(float(total_loss(self._rows, starts[g], starts[g + 1], loss)) for g in groups)
