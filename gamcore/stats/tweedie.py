"""The Tweedie density with variance phi mu^p, 1 < p < 2, and the power for which some rows are likeliest.

Such a target is a sum of a Poisson number of Gamma amounts (Jorgensen 1987). Given that there are j of them, y > 0 has
a Gamma density; summed over j it is (Dunn and Smyth 2005, section 3)

    log f(y) = W(c) - log y - lambda - y / theta,    c = a log(y / theta) + log lambda
    W(c) = log sum over j >= 1 of exp(j c) / (j! Gamma(j a))

with lambda = mu^(2-p) / (phi (2-p)), theta = phi (p-1) mu^(p-1), a = (2-p) / (p-1); and log f(0) = -lambda. c does not
depend on mu, so W is summed on a grid of c and interpolated.

Deviances of different powers cannot be compared, likelihoods can: with the phi that suits each power best.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize
from scipy.special import gammaln, logsumexp

from gamcore.common.types import Floats

LEAST_POWER, MOST_POWER = 1.05, 1.95
"""Bounds of a chosen power. Nearer to 1 amounts are multiples of a unit, nearer to 2 there are no zeros."""

TRIED: Final = 10
"""Powers tried at first, with phi by moments: where amounts come in steps, the likelihood may have several tops."""

FINE: Final = 1e-3
"""Precision of a power and of log phi."""

REACH: Final = 7.0
"""How far log phi may be from that by moments."""

LEAST_MEAN: Final = 1e-12
"""Smallest mean, in units of that of all rows."""

MOST_ROWS: Final = 100_000
"""Rows that a power is chosen from: enough for two decimals."""

TERMS: Final = 96
WIDE: Final = 6.5
"""Terms of the sum around the largest, and how many standard deviations they reach: what is beyond is below 1e-9."""

SPACING: Final = 0.25
MOST_POINTS: Final = 4_000
"""Distance and number of the points in c at which W is summed."""


def log_sums(c: Floats, a: float) -> Floats:
    """Return W (m,) at each c (m,).

    Terms have about the shape of a normal density around the largest. Where that is wide, a coarse sum over real j
    equals the sum over all whole j: their difference falls as exp(-2 pi^2 sd^2).
    """
    top = _top(c, a)
    spread = np.sqrt(top / (1.0 + a))
    wide = (spread >= 3.0) & (top >= WIDE * spread + 1.0)
    first = np.maximum(np.floor(top - WIDE * np.maximum(spread, 1.0)), 1.0)
    whole = first[:, None] + np.arange(TERMS)
    steps = np.linspace(-WIDE, WIDE, TERMS)
    real = top[:, None] + spread[:, None] * steps
    j = np.where(wide[:, None], real, whole)
    each = np.where(wide, np.log(np.where(wide, spread, 1.0) * (steps[1] - steps[0])), 0.0)
    return np.asarray(logsumexp(j * c[:, None] - gammaln(j + 1.0) - gammaln(j * a), axis=1) + each)


def log_density(y: Floats, mean: Floats, phi: float, power: float) -> Floats:
    """Return the log density of each target (n,) given its mean (n,) above 0."""
    a = (2.0 - power) / (power - 1.0)
    rate, unit = mean ** (2.0 - power) / (phi * (2.0 - power)), phi * (power - 1.0) * mean ** (power - 1.0)
    density, some = -rate, y > 0
    if not some.any():
        return density
    log_y = np.log(y[some])
    c = a * (log_y - np.log(phi * (power - 1.0))) - np.log(phi * (2.0 - power))  # the powers of the mean cancel
    density[some] += _interpolated(c, a) - log_y - y[some] / unit[some]
    return density


def _interpolated(c: Floats, a: float) -> Floats:
    """Return W at each c, from a grid if that has fewer points: of what is left beside its steep part."""
    low, high = float(c.min()), float(c.max())
    points = min(max(int((high - low) / SPACING), 8) + 2, MOST_POINTS)
    if points >= c.size:
        return log_sums(c, a)
    grid = np.linspace(low, high, points)
    rest = CubicSpline(grid, log_sums(grid, a) - (1.0 + a) * _top(grid, a))
    return np.asarray(rest(c) + (1.0 + a) * _top(c, a))


def _top(c: Floats, a: float) -> Floats:
    """Return the place j of the largest term of W, for many terms."""
    return np.asarray(np.exp((c - a * np.log(a)) / (1.0 + a)))


def likeliest_power(y: Floats, mean: Floats, weight: Floats) -> float:
    """Return the power for which targets (n,) with given means are likeliest, to two decimals.

    weight : (n,) as if each row were there so often.
    """
    some = slice(None, None, -(-y.size // MOST_ROWS))
    y, mean, weight = y[some], mean[some], weight[some]
    unit = float(np.average(y, weights=weight))
    y, mean = y / unit, np.maximum(mean / unit, LEAST_MEAN)

    def loss(at: Floats) -> float:
        """Return minus the mean log likelihood at a power and a log phi."""
        return -float(np.average(log_density(y, mean, float(np.exp(at[1])), float(at[0])), weights=weight))

    tried = [np.array([p, _by_moments(y, mean, weight, p)]) for p in np.linspace(LEAST_POWER, MOST_POWER, TRIED)]
    first = min(tried, key=loss)
    bounds = [(LEAST_POWER, MOST_POWER), (first[1] - REACH, first[1] + REACH)]
    around = first + np.array([[0.0, 0.0], [0.05 if first[0] < 1.5 else -0.05, 0.0], [0.0, 0.3]])
    options = {"initial_simplex": around, "xatol": FINE, "fatol": FINE**2}
    best = minimize(loss, first, method="Nelder-Mead", bounds=bounds, options=options)
    return round(float(best.x[0]), 2)


def _by_moments(y: Floats, mean: Floats, weight: Floats, power: float) -> float:
    """Return the log of phi for which squared errors are as large as they are."""
    return float(np.log(max(float(np.average((y - mean) ** 2 / mean**power, weights=weight)), 1e-12)))
