"""The search for settings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gamcore.data.columns import TableError
from shapewise.training.dataset import Data
from shapewise.training.spec import Spec
from shapewise.training.tuning import FOLDS, Budget, _folds, _steps, candidates, tune

SPEC = Spec("0" * 16, "y", "t", ["a", "b"], preset="fast", changes={"max_rounds": 8})


def rows(n=1500, binary=False, groups=False):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    y = np.sin(3 * X["a"]) + X["b"] + 0.3 * rng.normal(size=n)
    y = (y > 0).astype(float) if binary else y
    held = np.arange(n) % 5 == 0
    return Data(X, y, held, None, np.arange(n) // 10 if groups else None, binary, 0)


@pytest.mark.parametrize("binary", [False, True])
def test_the_best_come_first_and_are_compared_with_the_settings_at_hand(binary):
    found = tune(rows(binary=binary), SPEC, Budget(9, 60))
    assert len({str(trial.changes) for trial in found}) == len(found) == 9
    last = [trial for trial in found if trial.stage == found[0].stage]
    assert [trial.loss for trial in last] == sorted(trial.loss for trial in last)
    own = next(trial for trial in found if trial.changes == SPEC.changes)
    assert own in last
    assert own.gap == own.error == 0
    for trial in last:
        assert trial.gap == pytest.approx(trial.loss - own.loss)
    assert {trial.rows for trial in found} == {trial.rows for trial in found if trial.rows <= 800}
    assert all(trial.to_dict()["loss"] == trial.loss for trial in found)


def test_held_out_rows_are_never_seen():
    data = rows()
    X, y = data.X.copy(), data.y.copy()
    X[data.held_out], y[data.held_out] = 1e6, 1e6
    poisoned = replace(data, X=X, y=y)
    losses = [[trial.loss for trial in tune(each, SPEC, Budget(4, 60))] for each in (data, poisoned)]
    assert losses[0] == losses[1]


def test_clusters_stay_together():
    data = rows(groups=True)
    fitted = np.flatnonzero(~data.held_out)
    folds = list(_folds(data, fitted, 0))
    assert len(folds) == FOLDS
    for train, valid in folds:
        assert set(data.groups[train]).isdisjoint(data.groups[valid])
        assert not data.held_out[train].any()
        assert not data.held_out[valid].any()
    assert sorted(np.concatenate([valid for _, valid in folds])) == fitted.tolist()


def test_stages_halve_settings_and_grow_rows():
    steps = _steps(27, 30_000)
    assert [(n, last) for n, _, last in steps] == [(27, False), (9, False), (3, True)]
    assert [n for _, n, _ in steps] == [2222, 6666, 20_000]
    assert _steps(27, 500)[-1] == (27, 333, True)  # too few rows to begin with fewer


def test_a_budget_of_no_time_still_compares_two_and_a_stop_ends_at_once():
    found = tune(rows(), SPEC, Budget(9, 0.0))
    assert len(found) >= 2
    told = []
    data = rows(6000)  # enough to begin with one fold
    found = tune(data, SPEC, Budget(9, 60), callback=lambda progress: told.append(progress) or len(told) == 3)
    assert len(told) == len(found) == 3
    assert {progress.stage for progress in told} == {"tuning"}
    assert [progress.round for progress in told] == [1, 2, 3]


def test_settings_differ_and_pairs_fit_the_table():
    found = candidates(SPEC, Budget(30), 2)
    assert found[0].changes == SPEC.changes
    assert {trial.changes.get("interactions", 0) for trial in found} <= {0}
    assert all("max_rounds" in trial.changes for trial in found)


def test_too_few_rows_are_refused_in_words():
    with pytest.raises(TableError, match="at least 300 training rows"):
        tune(rows(300), SPEC, Budget(4, 10))
