"""Properties of whole fits on small tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gamcore import GAMClassifier, GAMRegressor
from tests.support.fits import fit, friendly, problem
from tests.support.gears import mostly_slow


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("mart", [False, True])
def test_row_level_strategies_train_the_same_model(loss, mart):
    of = problem(loss)
    expected = fit(of, "subagging", "rescan", mart=mart)
    reference = fit(of, "subagging", "rescan", dtype=np.float32, mart=mart, max_rounds=3)
    for strategy in ("mst", "complement", "mask"):
        found = fit(of, "subagging", strategy, mart=mart)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one.curves, other.curves, atol=1e-9)
        single = fit(of, "subagging", strategy, dtype=np.float32, mart=mart, max_rounds=3)
        for one, other in zip(single, reference, strict=True):
            np.testing.assert_allclose(one.curves, other.curves, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("ensemble", ["grouped", "subagging"])
def test_all_rows_in_one_bag_is_plain_boosting(loss, ensemble):
    of = problem(loss)
    plain = fit(of, "grouped", subsample=1.0, n_bags=1)
    found = fit(of, ensemble, subsample=1.0, n_bags=7)
    for one, other in zip(found, plain, strict=True):
        np.testing.assert_allclose(one.curves, other.curves, atol=1e-9)


@pytest.mark.slow
def test_fine_rounds_go_on_from_the_best_coarse_one():
    of = problem("logistic", n=3000)
    seen = []
    fit(of, n_refits=1, max_rounds=400, max_leaves=2, coarse_leaves=5, early_stopping_rounds=20, callback=seen.append)
    losses = [told.valid_loss for told in seen]
    stall = next(k for k in range(1, len(losses)) if losses[k] >= min(losses[:k]))
    assert len(losses) > stall + 5
    assert losses[stall + 1] < losses[stall - 1] * 1.001  # from the best round, whatever the stalled one was like
    plain = []
    fit(of, n_refits=1, max_rounds=400, max_leaves=2, early_stopping_rounds=20, callback=plain.append)
    assert min(losses) == pytest.approx(min(told.valid_loss for told in plain), rel=1e-2)


@pytest.mark.slow
def test_without_more_leaves_or_without_validation_no_round_is_coarse():
    of = problem("squared")
    for changes in ({"coarse_leaves": 3, "max_leaves": 3}, {"coarse_leaves": 2, "max_leaves": 3}):
        for one, other in zip(fit(of, **changes), fit(of, max_leaves=3), strict=True):
            np.testing.assert_array_equal(one.curves, other.curves)
    X, y = friendly()
    kept = [
        GAMClassifier(outer_bags=1, validation_fraction=0.0, max_rounds=9, coarse_leaves=c, random_state=0).fit(X, y)
        for c in (None, 5)
    ]
    np.testing.assert_array_equal(kept[0].model_.terms[0].scores, kept[1].model_.terms[0].scores)


def test_smoothing_rounds_bend_where_best_cuts_jump():
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"a": rng.uniform(-3, 3, 4000)})
    y = np.sin(X["a"]) + rng.normal(scale=0.5, size=4000)
    rough, smooth = (
        GAMRegressor(smoothing_rounds=k, learning_rate=0.1, outer_bags=2, random_state=0).fit(X, y).explain_shape("a")
        for k in (0, 200)
    )
    truth = np.sin(rough.display) - np.average(np.sin(rough.display), weights=rough.counts)
    assert np.abs(np.diff(smooth.scores, 2)).sum() < 0.6 * np.abs(np.diff(rough.scores, 2)).sum()
    assert np.sqrt(np.mean((smooth.scores - truth) ** 2)) < np.sqrt(np.mean((rough.scores - truth) ** 2))
    assert rough.scores.size == smooth.scores.size > 200


def test_small_first_steps_let_features_share_what_they_have_in_common():
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"a": rng.integers(0, 50, 3000)}).assign(b=lambda frame: frame["a"])
    y = 1.0 * (X["a"] > 30) + 0.1 * rng.normal(size=3000)
    settings = {"outer_bags": 2, "greedy_ratio": 0.0, "max_rounds": 20, "random_state": 0}
    shares = {}
    for rate in (0.8, 0.4, 0.05):
        model = GAMRegressor(learning_rate=rate, smoothing_rounds=0, **settings).fit(X, y).model_
        first, second = (np.average(np.abs(term.scores), weights=term.counts) for term in model.terms)
        shares[rate] = second / first
    assert shares[0.8] > 0.35  # with large steps from the first on, the second gets 1 - rate of what the first does
    assert shares[0.4] > 0.68
    assert shares[0.05] == pytest.approx(0.95, abs=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_threads_inside_a_refit_give_the_same_bits(loss, monkeypatch):
    monkeypatch.setattr("gamcore.boosting.refit.loop.THREADED_ROWS", 0)
    of = problem(loss)
    expected = fit(of, dtype=np.float32)
    for n_jobs in (6, 12, 120):  # the last has more threads than groups
        for one, other in zip(fit(of, dtype=np.float32, n_jobs=n_jobs), expected, strict=True):
            np.testing.assert_array_equal(one.curves, other.curves)


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("ensemble", mostly_slow(["grouped", "subagging", "bagging"], 1))
def test_every_number_of_jobs_gives_the_same_bits(binary, ensemble):
    X, y = friendly(binary=binary)
    kind = GAMClassifier if binary else GAMRegressor
    models = [
        kind(ensemble=ensemble, n_bags=8, outer_bags=4, max_rounds=20, n_jobs=j, random_state=3).fit(X, y)
        for j in (1, 2, 4)
    ]
    for model in models[1:]:
        for term, first in zip(model.model_.terms, models[0].model_.terms, strict=True):
            np.testing.assert_array_equal(term.refits, first.refits)


def test_watching_the_training_loss_does_not_change_the_model(monkeypatch):
    monkeypatch.setattr("gamcore.boosting.refit.loop.WATCH_SECONDS", 0.0)
    X, y = friendly()
    seen = []
    silent = GAMClassifier(outer_bags=2, max_rounds=60, random_state=0).fit(X, y)
    watched = GAMClassifier(outer_bags=2, max_rounds=60, random_state=0, callback=seen.append).fit(X, y)
    np.testing.assert_array_equal(silent.model_.terms[0].scores, watched.model_.terms[0].scores)
    first = [p for p in seen if p.refit == 0]
    assert [p.round for p in first] == list(range(1, len(first) + 1))
    looked = [p.train_loss for p in first if not np.isnan(p.train_loss)]
    assert len(looked) > 2
    assert looked[-1] < looked[0]
    assert {p.refit for p in seen} == {0, 1}


def test_a_callback_can_stop_the_fit_and_an_exception_ends_it():
    X, y = friendly()
    told = []

    def stop(progress):
        told.append(progress.round)
        return progress.round >= 3

    free = GAMClassifier(outer_bags=2, random_state=0, learning_rate=0.01).fit(X, y)
    model = GAMClassifier(outer_bags=2, random_state=0, learning_rate=0.01, callback=stop).fit(X, y)
    assert 1 <= model.n_rounds_ <= max(told) < free.n_rounds_
    assert max(told) == 3  # it is not asked again

    class CancelledError(Exception):
        pass

    def cancel(progress):
        raise CancelledError

    with pytest.raises(CancelledError):
        GAMClassifier(outer_bags=3, n_jobs=2, callback=cancel).fit(X, y)


@pytest.mark.parametrize("stop", [1, 2, 5, 23, 40])
@pytest.mark.parametrize("validation_fraction", [0.0, 0.15])
def test_a_stopped_refit_keeps_no_round_that_was_not_told(stop, validation_fraction):
    """Rounds are run in batches: a stop in the middle of one takes back those after it."""
    X, y = friendly()
    told = []

    def watch(progress):
        told.append(progress)
        return progress.round >= stop

    slow = {"outer_bags": 1, "random_state": 0, "learning_rate": 0.01, "validation_fraction": validation_fraction}
    model = GAMClassifier(**slow, callback=watch).fit(X, y)
    assert [progress.round for progress in told] == list(range(1, stop + 1))
    assert model.n_rounds_ <= stop
    if validation_fraction:
        losses = [progress.valid_loss for progress in told]
        assert model.validation_losses_[0] in losses
        assert model.n_rounds_ == losses.index(model.validation_losses_[0]) + 1


def test_every_refit_smooths_with_cuts_of_its_own():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(size=4000)})
    chosen = {"smoothing_rounds": 20, "max_rounds": 40, "outer_bags": 1, "subsample": 1.0, "validation_fraction": 0.0}
    stops = GAMRegressor(**chosen, max_leaves=2, early_stopping_rounds=1)
    places = []
    for seed in range(2):
        scores = stops.set_params(random_state=seed).fit(X, X["a"]).model_.terms[0].refits[0]
        places.append(set(np.flatnonzero(np.diff(scores[1:-1])).tolist()))
    assert len(places[0] ^ places[1]) > 10


@pytest.mark.slow
def test_more_rare_levels_than_are_remembered_by_name():
    rng = np.random.default_rng(0)
    names = np.concatenate([np.repeat(["big", "huge"], 3000), [f"rare{i:05d}" for i in range(12_000)]])
    X = pd.DataFrame({"c": names, "x": rng.normal(size=names.size)})
    score = 2.0 * (X["c"] == "big") - (X["c"] == "huge") + X["x"]
    for model, y in ((GAMRegressor(), score), (GAMClassifier(), (score > 0.5).astype(int))):
        model.set_params(outer_bags=2, random_state=0, histogram="rescan").fit(X, y)
        assert (model.best_rounds_ > 5).all()
        (levels, _) = model.model_.terms
        assert levels.counts.tolist() == [0, 3000, 3000, 12_000, 0]


def test_the_best_round_is_kept():
    X, y = friendly(400)
    seen = []
    model = GAMClassifier(outer_bags=1, learning_rate=0.5, random_state=0, callback=seen.append).fit(X, y)
    losses = [p.valid_loss for p in seen]
    assert model.best_rounds_[0] == 1 + int(np.argmin(losses))
    assert [p.best_round for p in seen] == [1 + int(np.argmin(losses[: k + 1])) for k in range(len(losses))]
    assert len(losses) >= model.best_rounds_[0] + 5
    assert model.validation_losses_[0] == min(losses)


def test_progress_reports_true_losses(monkeypatch):
    monkeypatch.setattr("gamcore.boosting.refit.loop.WATCH_SECONDS", 0.0)
    X, y = friendly()
    seen = []
    model = GAMRegressor(outer_bags=1, max_rounds=40, validation_fraction=0.0, random_state=0, callback=seen.append)
    model.fit(X, y)
    assert np.isnan(seen[-1].valid_loss)
    assert [p.best_round for p in seen] == list(range(1, 41))
    assert model.best_rounds_.tolist() == [40]
    told = {p.round: p.train_loss for p in seen if not np.isnan(p.train_loss)}
    for rounds, loss in told.items():
        shorter = GAMRegressor(outer_bags=1, max_rounds=rounds, validation_fraction=0.0, random_state=0)
        if rounds > 2 * shorter.smoothing_rounds:  # else the smoothing rounds would be fewer
            assert loss == pytest.approx(np.mean((shorter.fit(X, y).predict(X) - y) ** 2), rel=1e-4)
    assert max(told) == 40


def test_refreshed_scores_do_not_drift():
    of = problem("logistic")
    exact = fit(of, dtype=np.float64, max_rounds=160, greedy_ratio=0.0)
    single = fit(of, dtype=np.float32, max_rounds=160, greedy_ratio=0.0)
    for one, other in zip(single, exact, strict=True):
        assert one.valid_loss == pytest.approx(other.valid_loss, abs=2e-3)


def test_names_and_codes_of_levels_do_not_matter():
    X, y = friendly()
    renamed = X.assign(c=X["c"].map(dict(zip("pqrstu", ["z9", "a", "m", "0", "b", "zz"], strict=True))))
    one = GAMClassifier(outer_bags=2, random_state=0).fit(X, y)
    other = GAMClassifier(outer_bags=2, random_state=0).fit(renamed, y)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(renamed), atol=1e-9)


def test_truth_is_found():
    X, y = friendly(20_000, binary=False)
    model = GAMRegressor(random_state=0).fit(X, y)
    curve = model.explain_shape("a")
    truth = np.sin(2 * curve.display)
    heavy = np.abs(curve.display) < 2
    assert np.corrcoef(curve.scores[heavy], truth[heavy])[0, 1] > 0.97
    levels = dict(zip(model.explain_shape("c").labels, model.explain_shape("c").scores, strict=True))
    assert levels["p"] - levels["q"] == pytest.approx(4, abs=0.2)
    assert levels["r"] - levels["s"] == pytest.approx(2, abs=0.2)


def test_weight_two_is_a_doubled_row_without_dealing():
    X, y = friendly(800, binary=False)
    times = np.random.default_rng(1).integers(0, 3, 800)
    plain = {"subsample": 1.0, "outer_bags": 1, "validation_fraction": 0.0, "max_rounds": 30, "n_groups": 1}
    weighted = GAMRegressor(**plain, random_state=0).fit(X, y, sample_weight=times)
    repeated = GAMRegressor(**plain, random_state=0).fit(X.loc[np.repeat(X.index, times)], np.repeat(y, times))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-4)


@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_tiny_tables_train(n):
    X = pd.DataFrame({"a": np.arange(n, dtype=float), "b": [None] * n})
    model = GAMRegressor(random_state=0, max_rounds=5).fit(X, np.arange(n, dtype=float))
    assert np.isfinite(model.predict(X)).all()


def test_extreme_targets_do_not_overflow():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200)})
    for scale in (1e-140, 1e-12, 1e12, 1e140):
        y = (X["a"] > 0) * scale
        model = GAMRegressor(random_state=0, outer_bags=2).fit(X, y)
        assert np.corrcoef(model.predict(X) / scale, y / scale)[0, 1] > 0.9


def test_a_perfectly_separated_target_stays_finite():
    X = pd.DataFrame({"a": np.arange(400.0)})
    model = GAMClassifier(random_state=0, outer_bags=2).fit(X, (X["a"] > 200).astype(int))
    assert np.isfinite(model.decision_function(X)).all()
    assert (model.predict(X) == (X["a"] > 200)).mean() > 0.98


@pytest.mark.slow
def test_clusters_never_straddle_training_and_validation():
    """With cluster noise in the target, splitting clusters would let the model memorise validation rows."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(60), 30)
    X = pd.DataFrame({"who": who.astype(float), "x": rng.normal(size=1800)})
    y = rng.normal(size=60)[who] * 3 + rng.normal(size=1800)
    apart = GAMRegressor(random_state=0).fit(X, y, groups=who)
    mixed = GAMRegressor(random_state=0).fit(X, y)
    assert apart.validation_losses_.mean() > 2 * mixed.validation_losses_.mean()


def predicted(model, X):
    return model.predict_proba(X)[:, 1] if hasattr(model, "classes_") else model.predict(X)


@pytest.mark.parametrize("factor", [1e-9, 1e-4, 1e6, 1e12])
@pytest.mark.parametrize("binary", [True, False])
def test_the_unit_of_the_weights_does_not_matter(binary, factor):
    X, y = friendly(1500, binary=binary)
    weight = np.random.default_rng(0).uniform(0.5, 2, 1500)
    kind = GAMClassifier if binary else GAMRegressor
    one, other = (
        kind(outer_bags=2, max_rounds=20, random_state=0).fit(X, y, sample_weight=weight * c) for c in (1, factor)
    )
    np.testing.assert_allclose(predicted(one, X), predicted(other, X), atol=0.02)
    assert np.std(predicted(other, X)) > 0.1


def test_a_rare_class_is_learnt():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=3000)})
    y = np.zeros(3000, int)
    y[np.argsort(X["a"])[-8:]] = 1
    scores = GAMClassifier(random_state=0).fit(X, y).decision_function(X)
    assert scores[y == 1].min() > np.quantile(scores[y == 0], 0.9)


def test_refits_without_a_positive_row_do_not_swamp_the_mean():
    who = np.repeat(np.arange(10), 20)
    X = pd.DataFrame({"a": np.random.default_rng(0).normal(size=200)})
    y = (who == 3).astype(int)
    model = GAMClassifier(random_state=0).fit(X, y, groups=who)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(0.1, abs=0.06)
    assert np.abs(model.model_.refit_intercepts).max() < 10


def test_an_exception_in_the_callback_ends_all_refits():
    X, y = friendly(3000)
    calls = []

    def fail_once(progress):
        calls.append(progress)
        if len(calls) == 5:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        GAMClassifier(outer_bags=2, n_jobs=2, validation_fraction=0.0, max_rounds=2000, callback=fail_once).fit(X, y)
    assert len(calls) < 1000  # of 4000
