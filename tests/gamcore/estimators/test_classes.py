"""Targets of several classes: an additive score per class, boosted in turns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from gamcore import GAMClassifier, add_bands, load_model, pair_worth, rank_pairs
from gamcore.boosting.fit.classes import model_of
from gamcore.boosting.fit.model import Seeds
from gamcore.boosting.refit.class_turns import ClassTask
from gamcore.boosting.refit.loop import RefitTask, run_all
from gamcore.boosting.rows.source import Dealing, Encoded
from gamcore.data.binning import bin_table
from gamcore.data.columns import TableError
from gamcore.data.table import Table, learn_features
from gamcore.estimators.additive import read_target
from gamcore.estimators.additive_parameters import boosting_parameters
from gamcore.estimators.base import to_saved
from gamcore.io.gamx import ModelFileError, from_bytes, to_bytes
from gamcore.model.additive import assemble
from gamcore.model.classes import against_rest, base_scores, class_losses
from gamcore.model.losses import LOSSES
from tests.support.model_files import put, rewrite

QUICK = {"outer_bags": 2, "max_rounds": 60, "random_state": 0}
NAMES = np.array(["air", "boat", "car", "rail"])


def chances(X):
    """Return the true probabilities (n, 4) by scores per class."""
    a, b, c = X["a"].to_numpy(), X["b"].to_numpy(), (X["c"] == "s").to_numpy()
    scores = np.stack([np.sin(2 * a), 1.2 * (b > 0.5), 0.8 * c - 0.4 * a, np.zeros(len(X))], axis=1)
    return softmax(scores, axis=1)


def table(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.uniform(-2, 2, n), "b": rng.uniform(0, 1, n).round(2), "c": rng.choice(["s", "t"], n)})
    P = chances(X)
    y = NAMES[(P.cumsum(axis=1) > rng.uniform(size=(n, 1))).argmax(axis=1)]
    X.loc[::17, "b"] = np.nan
    return X, y


@pytest.fixture(scope="module")
def fitted():
    X, y = table()
    return GAMClassifier(interactions=[("a", "b")], bands=10, **QUICK).fit(X, y), X, y


@pytest.mark.slow
def test_probabilities_follow_the_truth(fitted):
    model, _, _ = fitted
    X, y = table(4000, 9)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    truth, shares = chances(X), np.bincount(np.searchsorted(NAMES, y)) / y.size
    regret, worst = (np.mean(np.sum(truth * np.log(truth / of), axis=1)) for of in (P, np.tile(shares, (len(X), 1))))
    assert regret < 0.15 * worst
    straight = LogisticRegression().fit(X[["a", "b"]].fillna(0.5), y)
    assert log_loss(y, P) < log_loss(y, straight.predict_proba(X[["a", "b"]].fillna(0.5)))
    assert (model.predict(X) == NAMES[P.argmax(axis=1)]).all()
    np.testing.assert_allclose(softmax(model.decision_function(X), axis=1), P)


def test_curves_add_up_to_nothing_over_classes(fitted):
    model, X, _ = fitted
    for terms in zip(*[one.terms for one in model.model_.models], strict=True):
        assert np.abs(np.sum([term.refits for term in terms], axis=0)).max() < 1e-12
        assert np.abs(terms[0].scores @ terms[0].counts) < 1e-9 * terms[0].counts.sum()
    surfaces = [one.pairs[0].scores for one in model.model_.models]
    assert np.abs(np.sum(surfaces, axis=0)).max() < 1e-12
    assert np.abs(np.sum([one.halves.terms[0].refits for one in model.model_.models], axis=0)).max() < 1e-12
    codes = model._encode(X)
    np.testing.assert_allclose(model.model_.score(codes).sum(axis=1), 0.0, atol=1e-9)


@pytest.mark.slow
def test_two_classes_by_softmax_equal_logistic():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.integers(0, 4, 3000), "b": rng.integers(0, 3, 3000)})
    y = rng.uniform(size=3000) < 1 / (1 + np.exp(-(X["a"] - 1.5 + 0.8 * (X["b"] == 1)).to_numpy()))
    model = GAMClassifier(outer_bags=1, max_rounds=300, subsample=1.0, smoothing_rounds=0)
    parameters = replace(boosting_parameters(model, len(X)), dtype=np.float64)  # run to the optimum, without rounding
    read = Table.of(X)
    binned = bin_table(read, learn_features(read, "infer", False), None, 256)

    def fitted(loss, task):
        data = Encoded(binned, y.astype(float), None, LOSSES[loss], strata=y.astype(np.int64))
        seeds = Seeds.of(0)
        share = data.shares(Dealing(1, 32, 0.0, seeds.groups, seeds.splits))[0]
        return data, run_all([task(share)], len(X))

    # Estimators boost two classes as one score, so the parts of a fit are called here.
    data, refits = fitted("softmax", lambda share: ClassTask(share, parameters, 0, 2))
    by_softmax = model_of(data, data.counts(), refits, np.bincount(y.astype(int)) / y.size).predict(binned.codes)
    data, refits = fitted("logistic", lambda share: RefitTask(share, parameters, 0))
    plain = assemble(data.bins, refits[0].curves[None], np.array([refits[0].base_score]), data.counts(), data.loss)
    np.testing.assert_allclose(by_softmax[:, 1], plain.predict(binned.codes), rtol=0, atol=1e-6)


@pytest.mark.parametrize("ensemble", ["grouped", "subagging", "bagging"])
def test_every_ensemble_and_step(ensemble):
    X, y = table(1500)
    model = GAMClassifier(ensemble=ensemble, coarse_leaves=4, greedy_ratio=1.0, **QUICK).fit(X, y)
    shares = np.unique(y, return_counts=True)[1] / y.size
    assert log_loss(y, model.predict_proba(X)) < log_loss(y, np.tile(shares, (len(y), 1))) - 0.05


def test_threads_and_repetition_change_nothing():
    X, y = table(2000)
    one, two = (GAMClassifier(n_jobs=n, **QUICK).fit(X, y).decision_function(X) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_names_and_order_of_classes_do_not_matter():
    X, y = table(2000)
    renamed = np.array(["z", "y", "x", "w"])[np.searchsorted(NAMES, y)]
    one, other = (GAMClassifier(**QUICK).fit(X, of).predict_proba(X) for of in (y, renamed))
    assert np.abs(one - other[:, ::-1]).mean() < 0.02  # rows are dealt, and classes have their turns, in another order


def test_weights_equal_repeated_rows_on_average():
    X, y = table(1500)
    weight = np.where(y == "car", 3.0, 1.0)
    P = GAMClassifier(**QUICK).fit(X, y, sample_weight=weight).predict_proba(X)
    share = weight[y == "car"].sum() / weight.sum()
    assert np.average(P[:, 2], weights=weight) == pytest.approx(share, abs=0.02)


def test_given_scores_are_added_to():
    X, y = table(3000)
    first = GAMClassifier(**QUICK).fit(X, y)
    given = first.decision_function(X)
    again = GAMClassifier(**QUICK).fit(X, y, init_score=given)
    assert np.abs(again.decision_function(X)).mean() < 0.2 * np.abs(given).mean()
    np.testing.assert_allclose(again.decision_function(X, given), again.decision_function(X) + given)
    with pytest.raises(TableError, match="give 4 scores per row, one per class"):
        GAMClassifier(**QUICK).fit(X, y, init_score=given[:, 0])


def test_base_scores_beside_an_offset():
    rng = np.random.default_rng(0)
    codes, weight, offset = rng.integers(0, 3, 500), rng.uniform(0.5, 2, 500), rng.normal(size=(500, 3))
    found = base_scores(codes, weight, 3, offset)
    shares = np.bincount(codes, weight, 3) / weight.sum()
    np.testing.assert_allclose(np.average(softmax(found + offset, axis=1), axis=0, weights=weight), shares)
    np.testing.assert_allclose(softmax(base_scores(codes, weight, 3)), shares)


def test_losses_and_log_odds_against_the_rest():
    rng = np.random.default_rng(0)
    scores, codes = rng.normal(size=(50, 4)) * 3, rng.integers(0, 4, 50)
    P = softmax(scores, axis=1)
    np.testing.assert_allclose(class_losses(codes, scores), -np.log(P[np.arange(50), codes]))
    np.testing.assert_allclose(against_rest(scores), np.log(P / (1 - P)))
    step = 1e-6
    for k in range(4):  # the gradient of a class's score is that of logistic loss against the rest
        moved = scores + step * (np.arange(4) == k)
        slope = (class_losses(codes, moved) - class_losses(codes, scores)) / step
        np.testing.assert_allclose(slope, P[:, k] - (codes == k), atol=1e-5)


def test_pairs_are_ranked_over_all_classes():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.uniform(-1, 1, (5000, 4)), columns=list("pqrs"))
    scores = np.zeros((5000, 3))
    scores[:, 1] = 2.5 * np.sign(X["q"] * X["s"])
    y = (softmax(scores, axis=1).cumsum(axis=1) > rng.uniform(size=(5000, 1))).argmax(axis=1)
    ranking = rank_pairs(X, y.astype(str), random_state=0)
    assert ranking.loc[0, ["feature_1", "feature_2"]].tolist() == ["q", "s"]
    assert ranking["strength"][0] > 5 * max(ranking["strength"][1], ranking.attrs["chance"])
    model = GAMClassifier(interactions="auto", **QUICK).fit(X, y)
    assert ("q", "s") in [tuple("pqrs"[j] for j in pair.features) for pair in model.model_.pairs]
    assert pair_worth(model, X, y)["worth"][0] > 0.02
    mains = GAMClassifier(**QUICK).fit(X, y)
    assert log_loss(y, model.predict_proba(X)) < log_loss(y, mains.predict_proba(X)) - 0.02


def test_explanations_name_a_class(fitted):
    model, X, y = fitted
    with pytest.raises(TableError, match="choose one with of_class"):
        model.explain_shape("a")
    air = model.of_class("air")
    curve = air.explain_shape("a")
    assert curve.has_whole
    assert curve.unit == "log-odds beside the average class"
    assert curve.scores[np.searchsorted(curve.edges, 0.8)] > curve.scores[np.searchsorted(curve.edges, -0.8)] + 0.5
    assert air.explain_pair("a", "b").scores.shape
    assert set(air.importance().features) >= {"a", "b", "c"}
    parts = air.explain_rows(X[:5])
    np.testing.assert_allclose(parts.scores, model.decision_function(X[:5])[:, 0])
    np.testing.assert_allclose(air.predict_proba(X)[:, 1], model.predict_proba(X)[:, 0])
    with pytest.raises(TableError, match="the model knows"):
        model.of_class("train")
    assert (read_target(air, y) == (y == "air")).all()


def test_chances_along_a_feature(fitted):
    model, X, _ = fitted
    curves = model.explain_classes("a")
    np.testing.assert_allclose(curves.chances.sum(axis=0), 1.0)
    base = np.log(model.model_.base_chances)
    scores = np.stack([one.terms[0].scores[1:-1] for one in model.model_.models])
    np.testing.assert_allclose(curves.chances, np.exp(base[:, None] + scores - logsumexp(base[:, None] + scores, 0)))
    assert (curves.lower <= curves.chances).all()
    assert (curves.chances <= curves.upper).all()
    assert curves.has_band
    frame = curves.frame()
    assert frame["rows"].sum() == len(X)
    assert set(NAMES) <= set(frame.columns)
    assert curves.words().startswith("a moves car most")
    assert "svg" in model.explain_classes("c")._repr_html_()


def test_a_file_brings_the_model_back(fitted, tmp_path):
    model, X, _ = fitted
    model.save(tmp_path / "model.gamx")
    again = load_model(tmp_path / "model.gamx")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    one, other = (of.of_class("rail").explain_shape("a") for of in (model, again))
    np.testing.assert_array_equal(one.whole, other.whole)


def test_damaged_files_are_refused(fitted):
    model, _, _ = fitted
    whole = to_bytes(to_saved(model))
    for name, value in (("bases", [0.0]), ("bases", [0.0, 0.0, 0.0, "x"]), ("classes", ["a", "b"]), ("bases", None)):
        with pytest.raises(ModelFileError):
            from_bytes(rewrite(whole, put([name], value)))
    with pytest.raises(ModelFileError):
        from_bytes(rewrite(whole, put(["loss"], "logistic")))


def test_bands_later_equal_bands_at_once(fitted):
    model, X, y = fitted
    later = add_bands(GAMClassifier(interactions=[("a", "b")], **QUICK).fit(X, y), X, y, n_refits=10)
    one, other = (of.model_.models[2].halves.terms[0].refits for of in (model, later))
    np.testing.assert_allclose(one, other, atol=1e-12)


def test_bad_targets_are_named():
    X, y = table(300)
    with pytest.raises(TableError, match="at most 20 are possible"):
        GAMClassifier().fit(X, np.arange(300) % 21)
    with pytest.raises(TableError, match="has one class"):
        GAMClassifier().fit(X, np.zeros(300))
    with pytest.raises(TableError, match="class boat has no row of positive weight"):
        GAMClassifier().fit(X, y, sample_weight=(y != "boat").astype(float))
