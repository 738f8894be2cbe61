"""Several means against the mean of one control, all at once: Dunnett's test (1955), for groups that may overlap.

A group is one arm, or several together; a group and its own arms are correlated beyond the control that all share.
Given the means of the arms, each comparison stays within its bound on an interval of the control's mean. So the chance
that all do is an integral over the arms alone, whose integrand is smooth (Genz and Bretz 2009, *Computation of
Multivariate Normal and t Probabilities*).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri, ndtr, ndtri, stdtrit
from scipy.stats import qmc

from gamcore.common.types import Floats
from gamcore.stats.intervals import ALPHA

POWER_OF_DRAWS: Final = 14
"""Sobol' points as a power of 2: a chance of 5% is then right to about 1e-4."""


@dataclass(frozen=True)
class ManyToOne:
    """Groups of arms compared with one control.

    groups : (k, arms) the share of each arm's rows in each group; a row adds up to 1. sizes : (arms,) rows of each arm.
    control : rows of the control. All are taken to spread alike.
    """

    groups: Floats
    sizes: Floats
    control: int

    @cached_property
    def _drawn(self) -> tuple[Floats, Floats]:
        """The means (draws, k) of groups that do not differ, and the spread (draws, 1) that is read off the rows."""
        draws = qmc.Sobol(self.sizes.size + 1, seed=0).random_base2(POWER_OF_DRAWS).clip(1e-15, 1 - 1e-15)
        means = ndtri(draws[:, 1:]) / np.sqrt(self.sizes) @ self.groups.T
        return means, np.sqrt(chdtri(self.freedom, draws[:, :1]) / self.freedom)

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the spread that all share."""
        return int(self.sizes.sum()) + self.control - self.sizes.size - 1

    @property
    def errors(self) -> Floats:
        """The standard error (k,) of each difference to the control, in standard deviations of one row."""
        return np.sqrt(np.square(self.groups) @ (1 / self.sizes) + 1 / self.control)

    def chance_of_any(self, critical: float) -> float:
        """Return the chance that any comparison is beyond a value of t, where no group differs from the control."""
        means, spread = self._drawn
        reach = critical * spread * self.errors
        low, high = (means - reach).max(axis=1), (means + reach).min(axis=1)
        root = math.sqrt(self.control)
        within = np.clip(ndtr(root * high) - ndtr(root * low), 0.0, None)
        return float(1 - within.mean())

    def critical(self) -> float:
        """Return the value of t that no comparison is beyond with 95%."""
        ends = (float(stdtrit(self.freedom, 1 - part / 2)) for part in (2 * ALPHA, ALPHA / self.groups.shape[0] / 2))
        return float(brentq(lambda value: self.chance_of_any(value) - ALPHA, *ends, xtol=1e-5))
