"""Sums over the training rows, which do not depend on the parts that rows come in, or on the order of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gamcore.common.types import Codes, Floats
from gamcore.model.losses import Loss
from gamcore.stats.exact import Moments, exact_sum

Total = TypeVar("Total")


class Part(Protocol):
    """Some training rows. What is absent is None; elsewhere it is read when it is asked for."""

    @property
    def codes(self) -> Codes:
        """Codes (p, m)."""
        ...

    @property
    def y(self) -> Floats:
        """Targets (m,)."""
        ...

    @property
    def weight(self) -> Floats | None:
        """Weights (m,), None for 1 each."""
        ...

    @property
    def log_exposure(self) -> Floats | None:
        """Logs (m,) of exposures, a given part of the score."""
        ...

    @property
    def init_score(self) -> Floats | None:
        """Scores (m,), or (m, K) of K classes, that are given too."""
        ...

    @property
    def cluster(self) -> NDArray[np.uint64] | None:
        """Keys (m,) of clusters, whose rows stay together."""
        ...

    @property
    def bucket(self) -> NDArray[np.uint16] | None:
        """Buckets (m,) that rows were dealt into, see `data.sampling`."""
        ...

    @property
    def task(self) -> NDArray[np.int32] | None:
        """Indices (m,) of the tasks that rows belong to."""
        ...


class PartInMemory(NamedTuple):
    """Some training rows in memory: see `Part`."""

    codes: Codes
    y: Floats
    weight: Floats | None = None
    log_exposure: Floats | None = None
    init_score: Floats | None = None
    cluster: NDArray[np.uint64] | None = None
    bucket: NDArray[np.uint16] | None = None
    task: NDArray[np.int32] | None = None


def joined(parts: Sequence[PartInMemory]) -> PartInMemory:
    """Return neighbouring parts, which have the same columns, as one."""
    columns: dict[str, Any] = {
        name: None if column[0] is None else np.concatenate(column, axis=1 if name == "codes" else 0)
        for name, column in zip(PartInMemory._fields, zip(*parts, strict=True), strict=True)
    }
    return PartInMemory(**columns)


class Rows(Protocol):
    """Training rows in parts."""

    def sum(self, measure: Callable[[Part], Total]) -> Total:
        """Return what `measure` returns of each part, added up."""
        ...

    def score(self, measure: Callable[[Part], Floats]) -> Floats:
        """Return what `measure` returns per row, (n, ...), in the order of the rows."""
        ...


class RowsInMemory(NamedTuple):
    """Rows that are one part."""

    part: Part

    def sum(self, measure: Callable[[Part], Total]) -> Total:
        """Return what `measure` returns of the part."""
        return measure(self.part)

    def score(self, measure: Callable[[Part], Floats]) -> Floats:
        """Return what `measure` returns per row."""
        return measure(self.part)


def added(first: Floats | None, second: Floats | None) -> Floats | None:
    """Return the sum of two parts of an offset, either of which may be absent."""
    if first is None or second is None:
        return second if first is None else first
    return first + second


def offset_of(part: Part) -> Floats | None:
    """Return the given part of the score (m,), None for 0."""
    return added(part.log_exposure, part.init_score)


def weighed(values: Floats, weight: Floats | None) -> int:
    """Return the exact sum of values (m,) times their weights."""
    return exact_sum(values if weight is None else values * weight)


def left_of(part: Part) -> Floats:
    """Return targets (m,) less what is given of them, where the link is the identity."""
    offset = offset_of(part)
    return part.y if offset is None else part.y - offset


def targets_left(part: Part) -> Moments:
    """Return the moments of targets less what is given of them, each row counted once."""
    return Moments.of(left_of(part))


def weighted_targets(part: Part) -> Moments:
    """Return the moments of the targets, as rows weigh."""
    return Moments.of(part.y, part.weight)


def weight_moments(part: Part) -> Moments:
    """Return the moments of the weights, 1 each where there are none."""
    return Moments.of(np.ones(part.y.size) if part.weight is None else part.weight)


def squared_weights(part: Part) -> int:
    """Return the exact sum of squared weights."""
    return exact_sum(np.ones(part.y.size) if part.weight is None else np.square(part.weight))


def squares_about(centre: float, reach: float, part: Part) -> int:
    """Return the exact sum of the squared distances of targets from a centre, in units of `reach`."""
    return exact_sum(np.square((left_of(part) - centre) / reach))


def base_of(rows: Rows, loss: Loss) -> float:
    """Return the score of the mean target, or of its mean per unit of exposure; of quantiles, the best constant."""
    if not loss.is_of_mean:
        both = rows.score(_target_and_weight)
        return loss.base_score(both[:, 0], both[:, 1])
    above, below = rows.sum(partial(_ratio, loss))
    return loss.base_score(np.array([above / below]), np.ones(1))


def _target_and_weight(part: Part) -> Floats:
    """Return targets less the logs of exposures, and weights, (m, 2)."""
    y = part.y if part.log_exposure is None else part.y - part.log_exposure
    return np.stack([y, np.ones(y.size) if part.weight is None else part.weight], axis=1)


def _ratio(loss: Loss, part: Part) -> NDArray[Any]:
    """Return both sums whose ratio is the best constant prediction, exactly."""
    given = np.zeros(part.y.size) if part.log_exposure is None else part.log_exposure
    return np.array([weighed(values, part.weight) for values in loss.ratio_terms(part.y, given)], object)
