"""Work on a table may end at each of its pauses, and leaves nothing behind that changes what is computed later."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier
from gamcore.common import pauses
from gamcore.data.table import as_table, learn_features, read_feature
from gamcore.decide.segments import HeldOutRows, suggest_by
from gamcore.estimators.ranking import rank_pairs
from gamcore.estimators.recourse import recourse

WIDTH = 12


class LeftError(Exception):
    """Nobody waits any longer."""


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"n{k}": rng.normal(size=600) for k in range(WIDTH - 2)})
    X["c"], X["d"] = rng.choice(list("abc"), 600), pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(600), "D")
    return X, pd.Series(X["n0"] + X["n1"] * X["n2"] + rng.normal(size=600) > 0)


@pytest.fixture(scope="module")
def model(rows):
    return GAMClassifier(max_rounds=20, outer_bags=2, random_state=0).fit(*rows)


def read(rows, model):
    table = as_table(rows[0].copy())
    return np.stack([read_feature(table, feature) for feature in learn_features(table)])


def predict(rows, model):
    return model.predict_proba(rows[0])


def rank(n_jobs):
    return lambda rows, model: rank_pairs(*rows, n_jobs=n_jobs, random_state=0).to_numpy()


def segments(rows, model):
    held = HeldOutRows(model.model_, rows[0], rows[1].to_numpy(float))
    return np.array([segment.evidence.mean for segment in suggest_by(held)])


def help_rows(rows, model):
    made = recourse(model, rows[0].head(20), 0.0)
    return np.array([np.nan if change is None else change.passed for change in made.changes])


WORK = {"read": read, "predict": predict, "rank": rank(1), "rank in threads": rank(2), "segments": segments,
        "recourse": help_rows}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("what", WORK)
def test_work_on_a_table_ends_at_any_of_its_pauses(what, rows, model, monkeypatch):
    work, paused = WORK[what], []
    monkeypatch.setattr(pauses, "_look", lambda: paused.append(None))
    whole, least = work(rows, model), WIDTH if what != "rank in threads" else 1
    assert len(paused) >= least  # once per column at least
    for last in {1, 2, len(paused) // 2, len(paused)}:
        left = iter(range(last - 1))

        def look(left=left):
            if next(left, None) is None:
                raise LeftError

        pauses.call(look)
        with pytest.raises(LeftError):
            work(rows, model)
    pauses.call()
    np.testing.assert_array_equal(work(rows, model), whole)
