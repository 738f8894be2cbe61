"""What outcomes with a mass at 0 are drawn from, given their means: mixed Poisson counts, and sums of Gamma amounts.

A share of rows has 0 whatever its mean; the others have a count whose rate varies between rows of the same mean (a
negative binomial of variance mu + phi mu^2), or a Tweedie amount of variance phi mu^p, 1 < p < 2, which is a sum of a
Poisson number of Gamma amounts (Jorgensen 1987). Both parameters are those for which given rows are likeliest. A mean
is that of a row's whole exposure: a rate that varies between rows stays with its row however long it is watched.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from scipy import stats
from scipy.optimize import minimize
from scipy.special import gammainc, gammaincinv, gammaln, xlogy

from gamcore.common.types import Floats
from gamcore.stats.tweedie import likeliest_power, log_density

LEAST_MEAN, MOST_MEAN = 1e-12, 1e12
"""Means of counts are taken to be within these: beyond, a count is as good as certain, or no longer a whole float."""

LEAST_DISPERSION: Final = 1e-6
"""Of counts: with less they are Poisson to six digits."""

MOST_ZEROS: Final = 0.95
"""Largest share of rows that may have 0 whatever their mean: with more, hardly a row would tell of the others."""

REACH: Final = 7.0
"""How far the log of a dispersion may be from that by moments."""

MOST_ROWS: Final = 20_000
"""Rows that two parameters are fitted to: enough for two digits."""

NODES: Final = 64.0
"""Points per unit of the log of a Poisson mean between which quantiles are interpolated: a relative error of 3e-5."""

LEAST_LOG, MOST_NUMBER = -35.0, 200.0
"""Log of the smallest Poisson mean, and the largest, for which Gamma amounts are summed. A sum of more than that is as
good as Gamma itself (mean and variance alike)."""

HALVINGS: Final = 42
"""Of a range of logarithms of 720, so that quantiles have nine digits."""

CHUNK: Final = 256
"""Rows, in the order of their Poisson means, of which as many terms are summed as the last needs."""


@dataclass(frozen=True)
class Law(ABC):
    """Distribution of an outcome of 0 or more, given its mean.

    zeros : share of rows that have 0 whatever their mean. dispersion : phi. power : p of the variance of a count or
    an amount; 1 for counts, whose variance has mu beside it.
    """

    zeros: float
    dispersion: float
    power: float = 1.0

    is_whole: ClassVar[bool]

    def up_to(self, y: Floats, mean: Floats) -> Floats:
        """Return the probability (n,) of at most y (n,)."""
        return np.where(y >= 0, self.zeros + (1.0 - self.zeros) * self._up_to(y, self._mean(mean)), 0.0)

    def below(self, y: Floats, mean: Floats) -> Floats:
        """Return the probability (n,) of less than y (n,)."""
        return self.up_to(self._before(y), mean)

    def quantile(self, level: Floats, mean: Floats) -> Floats:
        """Return the least outcomes (n,) that at least a share `level` (n,) in [0, 1] of outcomes does not exceed."""
        level = (level - self.zeros) / (1.0 - self.zeros)
        ends, mean = np.zeros(mean.size), self._mean(mean)
        some = level > self._up_to(np.zeros(mean.size), mean)
        ends[level >= 1.0] = np.inf
        some &= level < 1.0
        if some.any():
            ends[some] = self._quantile(level[some], mean[some])
        return ends

    def log_likelihood(self, y: Floats, mean: Floats) -> Floats:
        """Return the log likelihood (n,) of outcomes."""
        log_others = np.log1p(-self.zeros) + self._log_density(y, self._mean(mean))
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(y == 0, np.logaddexp(np.log(self.zeros), log_others), log_others))

    def _mean(self, mean: Floats) -> Floats:
        """Return the means (n,) of rows that may have more than 0."""
        return np.clip(mean / (1.0 - self.zeros), LEAST_MEAN, MOST_MEAN)

    @abstractmethod
    def _before(self, y: Floats) -> Floats:
        """Return the largest outcomes below y (n,); negative for 0."""

    @abstractmethod
    def _up_to(self, y: Floats, mean: Floats) -> Floats: ...

    @abstractmethod
    def _quantile(self, level: Floats, mean: Floats) -> Floats: ...

    @abstractmethod
    def _log_density(self, y: Floats, mean: Floats) -> Floats: ...


class Counts(Law):
    """Mixed Poisson counts: negative binomial beside the zeros."""

    is_whole = True

    def _before(self, y: Floats) -> Floats:
        return np.ceil(y) - 1.0

    def _up_to(self, y: Floats, mean: Floats) -> Floats:
        return np.asarray(stats.nbinom.cdf(y, *self._shape(mean)))

    def _quantile(self, level: Floats, mean: Floats) -> Floats:
        return np.asarray(np.maximum(stats.nbinom.ppf(level, *self._shape(mean)), 0.0))

    def _log_density(self, y: Floats, mean: Floats) -> Floats:
        return np.asarray(stats.nbinom.logpmf(y, *self._shape(mean)))

    def _shape(self, mean: Floats) -> tuple[float, Floats]:
        return 1.0 / self.dispersion, 1.0 / (1.0 + self.dispersion * mean)


class Amounts(Law):
    """Tweedie amounts: sums of a Poisson number of Gamma amounts, beside the zeros."""

    is_whole = False

    def _mean(self, mean: Floats) -> Floats:
        return np.clip(mean / (1.0 - self.zeros), 1e-150, 1e150)  # in any currency

    def _before(self, y: Floats) -> Floats:
        return np.where(y > 0, y, -1.0)  # nothing but 0 has a mass

    @property
    def _each(self) -> float:
        """Shape of a Gamma amount."""
        return (2.0 - self.power) / (self.power - 1.0)

    def _number(self, mean: Floats) -> Floats:
        """Return the Poisson means (n,) of the number of amounts."""
        return mean ** (2.0 - self.power) / (self.dispersion * (2.0 - self.power))

    def _unit(self, mean: Floats) -> Floats:
        """Return the scales (n,) of the Gamma amounts."""
        return self.dispersion * (self.power - 1.0) * mean ** (self.power - 1.0)

    def _up_to(self, y: Floats, mean: Floats) -> Floats:
        return self._sums_up_to(y / self._unit(mean), self._number(mean))

    def _sums_up_to(self, x: Floats, number: Floats) -> Floats:
        """Return the probability (n,) that a sum of amounts of scale 1 is at most x (n,)."""
        shares, many = np.exp(-number), number > MOST_NUMBER
        shares[many] = gammainc(*_alike(number[many], self._each, x[many]))
        some = np.flatnonzero(~many & (x > 0))
        some = some[np.argsort(number[some])]
        for rows in np.split(some, np.arange(CHUNK, some.size, CHUNK)) if some.size else ():
            most = float(number[rows].max())
            j = np.arange(1.0, most + 8.0 * np.sqrt(most) + 20.0)  # more have a chance below 1e-12
            chances = np.exp(xlogy(j, number[rows, None]) - number[rows, None] - gammaln(j + 1.0))
            shares[rows] += np.sum(chances * gammainc(j * self._each, x[rows, None]), axis=1)
        return np.minimum(shares, 1.0)

    def _quantile(self, level: Floats, mean: Floats) -> Floats:
        """Interpolate between nodes of the log of the number of amounts, which are the same for any rows."""
        at = np.maximum(np.log(self._number(mean)), LEAST_LOG) * NODES
        node = np.floor(at)
        asked, place = np.unique(np.stack([np.r_[node, node + 1.0], np.r_[level, level]]), axis=1, return_inverse=True)
        ends = self._sum_quantile(asked[1], np.exp(asked[0] / NODES))[place.ravel()]
        low, high = ends[: at.size], ends[at.size :]
        return np.asarray((low + (at - node) * (high - low)) * self._unit(mean))

    def _sum_quantile(self, level: Floats, number: Floats) -> Floats:
        """Return the quantiles (n,) of sums of amounts of scale 1, by halving; 0 where that has the level."""
        ends, many = np.zeros(level.size), number > MOST_NUMBER
        shape, scale = _of_moments(number[many], self._each)
        ends[many] = gammaincinv(shape, level[many]) * scale
        some = np.flatnonzero(~many & (level > np.exp(-number)))
        low = np.full(some.size, -700.0)
        high = np.full(some.size, np.log(1e4 * (1.0 + self._each)))
        for _ in range(HALVINGS if some.size else 0):
            middle = (low + high) / 2.0
            under = self._sums_up_to(np.exp(middle), number[some]) < level[some]
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        ends[some] = np.exp(high)
        return ends

    def _log_density(self, y: Floats, mean: Floats) -> Floats:
        return log_density(y, mean, self.dispersion, self.power)


def _of_moments(number: Floats, each: float) -> tuple[Floats, float]:
    """Return shape and scale of the Gamma distribution with mean and variance of the sum."""
    return number * each / (1.0 + each), 1.0 + each


def _alike(number: Floats, each: float, x: Floats) -> tuple[Floats, Floats]:
    """Return shape and argument of that distribution."""
    shape, scale = _of_moments(number, each)
    return shape, x / scale


LAWS: Final[dict[str, type[Law]]] = {"counts": Counts, "amounts": Amounts}


def likeliest_law(y: Floats, mean: Floats, weight: Floats, power: float) -> Law:
    """Return the law for which outcomes (n,) with given means are likeliest.

    weight : (n,) as if each row were there so often. power : of the variance; 1 for counts. Outcomes of it that are not
    whole are amounts whose power is chosen, too.
    """
    some = slice(None, None, -(-y.size // MOST_ROWS))
    y, mean, weight = y[some], mean[some], weight[some]
    mean = np.maximum(mean, LEAST_MEAN * (float(np.average(y, weights=weight)) or LEAST_MEAN))
    whole = power == 1.0 and bool(np.all(y == np.floor(y)))
    if power == 1.0 and not whole:
        power = likeliest_power(y, mean, weight)
    law = Counts if whole else Amounts
    unit = 1.0 if whole else float(np.average(y, weights=weight)) or 1.0  # no floor below knows a currency
    y, mean, beside = y / unit, mean / unit, mean if whole else 0.0
    moment = float(np.average(((y - mean) ** 2 - beside) / mean ** (2.0 if whole else power), weights=weight))
    first = np.array([0.05, np.log(max(moment, 1e-2 if whole else LEAST_DISPERSION))])

    def loss(at: Floats) -> float:
        fitted = law(float(at[0]), float(np.exp(at[1])), power)
        return -float(np.average(np.maximum(fitted.log_likelihood(y, mean), -1e6), weights=weight))

    least = max(first[1] - REACH, np.log(LEAST_DISPERSION)) if whole else first[1] - REACH
    bounds = [(0.0, MOST_ZEROS), (least, first[1] + REACH)]
    around = first + np.array([[0.0, 0.0], [0.2, 0.0], [0.0, 0.5]])
    options = {"initial_simplex": around, "xatol": 3e-3, "fatol": 1e-6}
    best = minimize(loss, first, method="Nelder-Mead", bounds=bounds, options=options)
    return law(float(best.x[0]), float(np.exp(best.x[1])) * unit ** (2.0 - power), power)
