"""A budgeted search for better settings: successive halving on validation rows, never on held-out ones.

The current settings and others drawn at random are fitted to some of the training rows. The best third goes on to
three times as many rows (Jamieson and Talwalkar, AISTATS 2016), and the last few are validated on every fold. All
trials see the same rows, so their losses are compared row by row.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, ParameterSampler, StratifiedKFold

from gamcore.boosting.running.progress import Progress
from gamcore.common.types import Floats, Ints
from gamcore.data.columns import TableError
from gamcore.estimators.additive_parameters import AdditiveParameters
from gamcore.estimators.parameters import searched
from shapewise.training.dataset import Data
from shapewise.training.evaluation import row_losses
from shapewise.training.spec import Spec
from shapewise.training.train import fit

FACTOR: Final = 3
FOLDS: Final = 3
REFITS: Final = 2
"""Outer refits per trial: a few are enough to compare settings."""

FEWEST_ROWS: Final = 300
Tell = Callable[[Progress], bool | None]


@dataclass(frozen=True)
class Budget:
    """The number of settings to try, and the seconds after which no new trial starts."""

    candidates: int = 27
    seconds: float = 120.0


@dataclass
class Trial:
    """Settings and their results so far.

    loss : mean over the validation rows of its last stage; gap, error : mean difference of these losses from those of
    the current settings (below 0 is better), and its standard error; rows : training rows of each fit.
    """

    changes: dict[str, Any]
    loss: float = math.nan
    gap: float = math.nan
    error: float = math.nan
    rows: int = 0
    stage: int = 0
    losses: Floats = field(default_factory=lambda: np.empty(0), repr=False)

    def take(self, losses: Floats, own: Trial, rows: int, stage: int, clusters: Ints | None) -> None:
        """Record the losses of the validation rows in a stage.

        own : the trial of the current settings, which comes first in each stage. clusters : rows of a cluster count as
        one for the standard error.
        """
        self.losses, self.loss, self.rows, self.stage = losses, float(losses.mean()), rows, stage
        gaps = losses - own.losses
        self.gap = float(gaps.mean())
        sums = gaps - self.gap if clusters is None else np.bincount(clusters, gaps - self.gap)
        n = sums.size
        self.error = float(np.sqrt(np.square(sums).sum() * n / max(n - 1, 1)) / gaps.size)

    def to_dict(self) -> dict[str, Any]:
        """Return the trial as plain JSON."""
        plain = {name: value for name, value in asdict(self).items() if name != "losses"}
        return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in plain.items()}


def tune(data: Data, spec: Spec, budget: Budget, n_jobs: int = 1, callback: Tell | None = None) -> list[Trial]:
    """Search for better settings and return the trials, best first; those that reached later stages come first."""
    fitted = np.flatnonzero(~data.held_out)
    if fitted.size < FEWEST_ROWS:
        raise TableError(f"Tuning needs at least {FEWEST_ROWS} training rows, and there are {fitted.size}.")
    trials, started = candidates(spec, budget, data.X.shape[1]), time.monotonic()
    own, alive, folds = trials[0], trials, list(_folds(data, fitted, spec.seed))
    steps, done = _steps(len(trials), fitted.size), 0
    total = sum(n * (FOLDS if last else 1) for n, _, last in steps)
    for stage, (n_alive, n_rows, last) in enumerate(steps):
        best = [trial for trial in alive if trial is not own][: n_alive - 1]
        alive = []
        for trial in [own, *best]:  # the current settings stay, for comparison
            if time.monotonic() - started > budget.seconds and len(alive) > 1:
                break
            # rows are shuffled, so those of a smaller stage are a subset of those of a larger one
            shown = [(np.sort(train[:n_rows]), valid) for train, valid in folds[: FOLDS if last else 1]]
            losses = [_loss(data, spec, trial, split, n_jobs) for split in shown]
            trial.take(np.concatenate(losses), own, n_rows, stage, _clusters(data, [valid for _, valid in shown]))
            alive.append(trial)
            done += len(losses)
            if callback is not None and callback(Progress.of_step("tuning", done, total, time.monotonic() - started)):
                return _ranked(trials)
        alive.sort(key=lambda trial: trial.loss)
    return _ranked(trials)


def candidates(spec: Spec, budget: Budget, n_features: int) -> list[Trial]:
    """Return the current settings first, then distinct random ones."""
    space = searched(AdditiveParameters)
    most = n_features * (n_features - 1) // 2
    space["interactions"] = [n for n in space["interactions"] if n <= most]
    drawn = list(ParameterSampler(space, budget.candidates, random_state=spec.seed))
    tried: list[dict[str, Any]] = [dict(spec.changes)]
    for own in drawn:
        wanted = {**spec.changes, **own}
        if wanted not in tried:
            tried.append(wanted)
    return [Trial(changes) for changes in tried[: max(budget.candidates, 2)]]


def _steps(n_trials: int, n_rows: int) -> list[tuple[int, int, bool]]:
    """Return for each stage the trials, the training rows, and whether it is the last, which uses all folds."""
    train = n_rows * (FOLDS - 1) // FOLDS
    by_trials, by_rows = math.log(max(n_trials, 2), FACTOR), math.log(max(train / FEWEST_ROWS, 1), FACTOR)
    n_stages = max(1, min(round(by_trials), 1 + int(by_rows)))
    stages = []
    for k in range(n_stages):
        last = k == n_stages - 1
        alive = max(2, math.ceil(n_trials / FACTOR**k))
        stages.append((min(alive, n_trials), max(train // FACTOR ** (n_stages - 1 - k), min(train, FEWEST_ROWS)), last))
    return stages


def _folds(data: Data, fitted: Ints, seed: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield the training rows, in random order, and the validation rows of each fold; clusters stay whole."""
    y = data.y.to_numpy()[fitted]
    rng = np.random.default_rng(seed)
    if data.groups is not None:
        splitter: Any = GroupKFold(FOLDS, shuffle=True, random_state=seed)
        groups = data.groups[fitted]
        if np.unique(groups).size < FOLDS:
            raise TableError(f"Tuning needs at least {FOLDS} groups: choose another group column, or none.")
    else:
        kind = StratifiedKFold if data.binary or data.classes else KFold
        splitter, groups = kind(FOLDS, shuffle=True, random_state=seed), None
    for train, valid in splitter.split(fitted, y, groups):
        yield fitted[_mixed(y[train] if data.binary or data.classes else None, train, rng)], fitted[valid]


def _mixed(y: NDArray[Any] | None, rows: Ints, rng: np.random.Generator) -> Ints:
    """Return the rows in random order; with classes, every prefix has about the same share of each class."""
    order = rng.permutation(rows.size)
    if y is None:
        return rows[order]
    place = np.empty(rows.size)
    for label in np.unique(y):
        mine = order[y[order] == label]
        place[mine] = (np.arange(mine.size) + rng.uniform()) / mine.size
    return rows[np.argsort(place, kind="stable")]


def _clusters(data: Data, parts: list[Ints]) -> Ints | None:
    """Return the cluster codes of the validation rows; None without groups."""
    if data.groups is None:
        return None
    return np.unique(data.groups[np.concatenate(parts)], return_inverse=True)[1]


def _loss(data: Data, spec: Spec, trial: Trial, split: tuple[Ints, Ints], n_jobs: int) -> Floats:
    """Return the loss of each validation row, times its weight over the mean weight."""
    rows = np.concatenate(split)
    held = np.arange(rows.size) >= split[0].size
    weight, groups, exposure = (
        None if values is None else values[rows] for values in (data.weight, data.groups, data.exposure)
    )
    part = Data(
        X=data.X.iloc[rows],
        y=data.y.iloc[rows],
        held_out=held,
        weight=weight,
        groups=groups,
        binary=data.binary,
        dropped=0,
        exposure=exposure,
        classes=data.classes,
    )
    model = fit(part, replace(spec, changes=trial.changes), n_jobs, outer_bags=REFITS)
    losses = row_losses(model, part.X[held], part.y[held], None if exposure is None else exposure[held])
    return losses if part.weight is None else losses * part.weight[held] / part.weight[held].mean()


def _ranked(trials: list[Trial]) -> list[Trial]:
    tried = [trial for trial in trials if math.isfinite(trial.loss)]
    return sorted(tried, key=lambda trial: (-trial.stage, trial.loss))
